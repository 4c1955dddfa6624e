"""A small convolutional network learns to read digits in PyTorch, timed from nothing to trained."""

import time

ID = "torch-quickstart"
TITLE = ("PyTorch quickstart: train a digit reader", "PyTorch 快速上手：训练手写数字识别")
SCENARIO = "rapid-prototyping"
FRAMEWORKS = ("pytorch",)
PACKAGES = ("torch", "numpy")
LIMIT_S = 240.0
PROVES = (
    "This build of PyTorch imports, computes and learns on this machine's device, from an empty folder to a trained model.",
    "该 PyTorch 构建能在本机设备上导入、计算并学习，从空文件夹到训练完成。",
)
LIMITS = (
    "1,797 small pictures; the speed of large models is another question.",
    "只有 1797 张小图；大模型的速度是另一回事。",
)
GOAL = 0.95
EPOCHS = 12
HALF_HOUR_S = 1800


def run(report):
    began = time.perf_counter()
    report.step("Loading PyTorch", "正在加载 PyTorch", 0.05)
    import torch
    from torch import nn

    report.measure("import", time.perf_counter() - began, "s", "Time to import", "导入用时", "lower")
    report.fact("torch " + torch.__version__, "torch.__version__")
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
    losses, accuracies, seen, accuracy = [], [], 0, 0.0
    start = time.perf_counter()
    reached = None
    for epoch in range(1, EPOCHS + 1):
        order = torch.randperm(len(x))
        total = 0.0
        for place in range(0, len(x), 32):
            batch = order[place : place + 32].to(device)
            optimiser.zero_grad()
            loss = loss_of(model(x[batch]), y[batch])
            loss.backward()
            optimiser.step()
            total += float(loss.detach()) * len(batch)
            seen += len(batch)
        with torch.no_grad():
            accuracy = float((model(test_x).argmax(1) == test_y).float().mean())
        losses.append((epoch, total / len(x)))
        accuracies.append((epoch, accuracy))
        report.step(
            "Epoch %d of %d: %.1f %% right" % (epoch, EPOCHS, accuracy * 100),
            "第 %d/%d 轮：正确率 %.1f %%" % (epoch, EPOCHS, accuracy * 100), 0.1 + 0.9 * epoch / EPOCHS,
        )  # fmt: skip
        if reached is None and accuracy >= GOAL:
            reached = time.perf_counter() - start
    train_s = time.perf_counter() - start
    report.series("loss", losses, "Training loss", "训练损失", ("epoch", "轮"), ("loss", "损失"))
    report.series(
        "accuracy",
        accuracies,
        "Accuracy on held-out digits",
        "留出数字上的准确率",
        ("epoch", "轮"),
        ("accuracy", "准确率"),
    )
    report.measure("accuracy", accuracy, "ratio", "Accuracy on held-out digits", "留出数字上的准确率", "higher")
    report.measure("train", train_s, "s", "Training time", "训练用时", "lower")
    report.measure("throughput", seen / train_s, "samples/s", "Training speed", "训练速度", "higher")
    if reached is not None:
        report.measure(
            "to_goal",
            reached,
            "s",
            "Training time to %d %%" % (GOAL * 100),
            "训练到 %d %% 用时" % (GOAL * 100),
            "lower",
        )
    whole = time.perf_counter() - report.started
    report.measure("script", whole, "s", "From starting Python to trained", "从启动 Python 到训练完成", "lower")
    report.need(
        losses[-1][1] < losses[0][1] / 3, "The loss did not fall: %.3f to %.3f." % (losses[0][1], losses[-1][1]),
        "损失没有下降：%.3f 到 %.3f。" % (losses[0][1], losses[-1][1]),
    )  # fmt: skip
    report.need(
        accuracy >= GOAL, "Accuracy %.1f %%, below the goal of %d %%." % (accuracy * 100, GOAL * 100),
        "准确率 %.1f %%，低于目标 %d %%。" % (accuracy * 100, GOAL * 100),
    )  # fmt: skip
    report.outcome(
        "Trained in %.1f s to %.1f %% accuracy; %.0f s from starting Python, of the half hour that is allowed."
        % (train_s, accuracy * 100, whole),
        "训练 %.1f 秒，准确率 %.1f %%；从启动 Python 起共 %.0f 秒，远低于半小时的要求。"
        % (train_s, accuracy * 100, whole),
    )


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
