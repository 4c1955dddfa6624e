"""A small convolutional network learns to read digits in PyTorch, timed from nothing to trained."""

import time

ID = "torch-quickstart"
TITLE = ("PyTorch quickstart: train a digit reader", "PyTorch 快速上手：训练手写数字识别")
SCENARIO = "rapid-prototyping"
FRAMEWORKS = ("pytorch",)
PACKAGES = ("torch", "numpy")
LIMIT_S = 240.0
ORDER = 1
PROVES = (
    "This build of PyTorch imports, computes and learns on this machine's device, from an empty folder to a trained model.",
    "该 PyTorch 构建能在本机设备上导入、计算并学习，从空文件夹到训练完成。",
)
LIMITS = (
    "1,797 small pictures; the speed of large models is another question.",
    "只有 1797 张小图；大模型的速度是另一回事。",
)
EPOCHS = 12


def run(report):
    began = time.perf_counter()
    report.step("Loading PyTorch", "正在加载 PyTorch", 0.05)
    import torch
    from torch import nn

    report.imported(began)
    report.version(torch)
    device = best_device(torch)
    report.fact(device_name(torch, device), "torch device " + device)

    torch.manual_seed(0)
    x, y, test_x, test_y = (torch.from_numpy(part).to(device) for part in report.digits())
    x, test_x = x.view(-1, 1, 8, 8), test_x.view(-1, 1, 8, 8)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10),
    ).to(device)  # fmt: skip
    optimiser = torch.optim.Adam(model.parameters(), lr=2e-3)
    loss_of = nn.CrossEntropyLoss()
    clock = report.training(EPOCHS)
    for _ in range(EPOCHS):
        order = torch.randperm(len(x))
        total = 0.0
        for place in range(0, len(x), 32):
            batch = order[place : place + 32].to(device)
            optimiser.zero_grad()
            loss = loss_of(model(x[batch]), y[batch])
            loss.backward()
            optimiser.step()
            total += float(loss.detach()) * len(batch)
        with torch.no_grad():
            right = float((model(test_x).argmax(1) == test_y).float().mean())
        clock.epoch(total / len(x), right, len(x))
    clock.finish()


def best_device(torch):
    if torch.cuda.is_available():
        return "cuda"
    if getattr(torch, "xpu", None) is not None and torch.xpu.is_available():
        return "xpu"
    mps = getattr(torch.backends, "mps", None)
    return "mps" if mps is not None and mps.is_available() else "cpu"


def device_name(torch, device):
    if device == "cuda":
        return torch.cuda.get_device_name(0)
    if device == "xpu":
        return torch.xpu.get_device_name(0)
    return "Apple GPU" if device == "mps" else "CPU, %d threads" % torch.get_num_threads()
