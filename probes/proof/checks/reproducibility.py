"""The same training twice, bit for bit; a custom operator with its gradient checked."""

import hashlib
import os
import time
from importlib import metadata

ID = "reproducibility"
TITLE = (
    "Reproducibility: two runs, the same bits; a custom operator",
    "可复现性：两次运行逐位相同；自定义算子",
)
SCENARIO = "research"
FRAMEWORKS = ("pytorch",)
PACKAGES = ("torch", "numpy")
LIMIT_S = 300.0
ORDER = 1
PROVES = (
    "Two runs with one seed give the same bits here (or the first tensor that differs is named), and a custom operator's gradient is right.",
    "同一随机种子的两次运行在本机逐位相同（否则指出首个不同的张量），自定义算子的梯度正确。",
)
LIMITS = (
    "The same machine, build and number of threads; other hardware may round differently.",
    "仅限同一机器、同一构建、同一线程数；其他硬件的舍入可能不同。",
)
NEAREST = "torch-quickstart"


def run(report):
    began = time.perf_counter()
    report.step("Loading PyTorch", "正在加载 PyTorch", 0.05)
    import torch
    from torch import nn

    report.imported(began)
    report.version(torch)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x, y, _, _ = (torch.from_numpy(part).to(device) for part in report.digits())

    class Cube(torch.autograd.Function):
        """x cubed, with a derivative written by hand."""

        @staticmethod
        def forward(context, value):
            context.save_for_backward(value)
            return value**3

        @staticmethod
        def backward(context, gradient):
            (value,) = context.saved_tensors
            return gradient * 3 * value**2

    report.step("Checking a custom operator's gradient", "正在检查自定义算子的梯度", 0.2)
    point = torch.randn(6, dtype=torch.float64, device=device, requires_grad=True)
    right = torch.autograd.gradcheck(Cube.apply, (point,), eps=1e-6, atol=1e-6)
    report.measure(
        "gradcheck",
        float(right),
        "",
        "Gradient of the custom operator is right (1: yes)",
        "自定义算子梯度正确（1 为是）",
        "higher",
    )

    def train(threads, strict):
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(strict)
        torch.manual_seed(0)
        model = nn.Sequential(
            nn.Conv2d(1, 16, 3),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Flatten(),
            nn.Linear(576, 64),
            nn.ReLU(),
            nn.Linear(64, 10),
        ).to(device)
        optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
        trail = []
        for step in range(40):
            batch = slice(step * 32, step * 32 + 32)
            optimiser.zero_grad()
            loss = nn.functional.cross_entropy(model(x[batch].view(-1, 1, 8, 8)), y[batch])
            loss.backward()
            optimiser.step()
            state = [("loss", loss.detach()), *model.named_parameters()]
            trail.append([(name, digest(tensor)) for name, tensor in state])
        return trail, float(loss.detach())

    report.step("Training twice with the same seed", "正在以相同种子训练两次", 0.4)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    first, loss = train(1, True)
    second, _ = train(1, True)
    step, name = first_difference(first, second)
    report.measure(
        "same_bits",
        float(step is None),
        "",
        "Two runs give the same bits (1: yes)",
        "两次运行逐位相同（1 为是）",
        "higher",
    )
    report.step("Training with two threads", "正在以两个线程训练", 0.7)
    threads, loss_2 = train(2, True)
    step_2, name_2 = first_difference(first, threads)
    report.measure(
        "loss_difference_threads",
        abs(loss - loss_2),
        "",
        "Loss with 1 and with 2 threads: difference",
        "1 与 2 个线程的损失差异",
        "lower",
    )
    if step_2 is not None:
        report.fact(
            "with 2 threads the first difference is in %s at step %d" % (name_2, step_2),
            "comparison of SHA-256 of every tensor",
        )
    lock = sorted("%s==%s" % (d.metadata["Name"], d.version) for d in metadata.distributions())
    with open(os.path.join(report.scratch, "requirements.txt"), "w") as stream:
        stream.write("\n".join(lock))
    report.measure("locked_packages", len(lock), "", "Packages in the exact lock", "精确锁定的软件包数")
    report.need(right, "The custom operator's gradient is wrong.", "自定义算子的梯度错误。")
    report.need(
        step is None, "The runs differ first in %s at step %s; set torch.use_deterministic_algorithms(True)." % (name, step),
        "两次运行首先在第 %s 步的 %s 处不同；请设置 torch.use_deterministic_algorithms(True)。" % (step, name),
    )  # fmt: skip
    other_en = (
        "the same bits with 2 threads too"
        if step_2 is None
        else "with 2 threads other bits from step %d on (%s)" % (step_2, name_2)
    )
    other_zh = "2 个线程时也逐位相同" if step_2 is None else "2 个线程时从第 %d 步起不同（%s）" % (step_2, name_2)
    report.outcome("Two runs are the same bit for bit; %s." % other_en, "两次运行逐位相同；%s。" % other_zh)


def digest(tensor):
    return hashlib.sha256(tensor.detach().cpu().numpy().tobytes()).hexdigest()


def first_difference(first, second):
    for step, (a, b) in enumerate(zip(first, second), 1):
        for (name, left), (_, right) in zip(a, b):
            if left != right:
                return step, name
    return None, None
