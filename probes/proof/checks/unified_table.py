"""One model by every way from training to serving in PyTorch, each with its outcome."""

import os
import time
import warnings

ID = "unified-table"
TITLE = (
    "From training to serving: compile, export, ONNX, TorchScript",
    "从训练到部署：compile、export、ONNX、TorchScript",
)
SCENARIO = "unified-train-serve"
FRAMEWORKS = ("torch-compile", "torch-export", "torchscript", "onnx", "onnxruntime", "pytorch")
PACKAGES = ("torch", "numpy", "onnx", "onnxscript", "onnxruntime")
LIMIT_S = 500.0
ON_REQUEST = False
PROVES = (
    "Which ways from a trained model to a served one work here: difference, speed, changing batch size, and control flow that depends on data.",
    "从训练模型到部署的各条路径在本机是否可行：数值差异、速度、可变批大小，以及依赖数据的控制流。",
)
LIMITS = (
    "A small network on the CPU; each way's limits with large models differ.",
    "CPU 上的小型网络；各路径在大模型上的限制不同。",
)
NEAREST = "export-parity"


def run(report):
    began = time.perf_counter()
    report.step("Loading PyTorch", "正在加载 PyTorch", 0.05)
    import onnxruntime as ort
    import torch
    from torch import nn

    report.imported(began)
    report.version(torch, ort)
    warnings.simplefilter("ignore")
    torch.manual_seed(0)

    class Plain(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 10))

        def forward(self, x):
            return self.net(x)

    class Branch(Plain):
        """Control flow that depends on the numbers themselves."""

        def forward(self, x):
            if x.sum() > 0:
                return self.net(x)
            return -self.net(x)

    plain, branch = Plain().eval(), Branch().eval()
    one, many = torch.rand(8, 64), torch.rand(50, 64)
    negative = -torch.rand(8, 64)

    def eager(model):
        return model

    def compiled(model):
        return torch.compile(model, dynamic=True)

    def exported(model):
        batch = torch.export.Dim("batch", min=2, max=1024)
        return torch.export.export(model, (one,), dynamic_shapes={"x": {0: batch}}).module()

    def onnx(model):
        path = os.path.join(report.scratch, "%d.onnx" % time.monotonic_ns())
        batch = torch.export.Dim("batch", min=2, max=1024)
        torch.onnx.export(model, (one,), path, dynamo=True, dynamic_shapes={"x": {0: batch}}, verbose=False)
        session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
        name = session.get_inputs()[0].name
        return lambda x: torch.from_numpy(session.run(None, {name: x.numpy()})[0])

    def scripted(model):
        return torch.jit.script(model)

    def traced(model):
        return torch.jit.trace(model, one)

    ways = (("eager", eager, "PyTorch"), ("compile", compiled, "torch.compile"), ("export", exported, "torch.export"),
            ("onnx", onnx, "ONNX Runtime"), ("script", scripted, "TorchScript"), ("trace", traced, "torch.jit.trace"))  # fmt: skip
    base, bars, worked = None, [], []
    with torch.no_grad():
        expected, expected_many, expected_negative = plain(one), plain(many), branch(negative)
        for place, (id, make, name) in enumerate(ways):
            report.step("Trying " + name, "正在尝试 " + name, 0.1 + 0.14 * place)
            start = time.perf_counter()
            try:
                made = make(plain)
                difference = float((made(one) - expected).abs().max())
            except Exception as error:
                report.fact(
                    "%s: does not work here: %s: %s" % (name, type(error).__name__, str(error).splitlines()[0][:150]),
                    name,
                )
                report.measure(id + "_works", 0, "", name + ": works (1: yes)", name + "：可行（1 为是）", "higher")
                continue
            report.measure(
                id + "_first",
                time.perf_counter() - start,
                "s",
                name + ": until the first answer",
                name + "：首次得到结果用时",
                "lower",
            )
            report.measure(
                id + "_difference", difference, "", name + ": largest difference", name + "：最大差异", "lower"
            )
            shape = outcome(lambda m=made: float((m(many) - expected_many).abs().max()) < 1e-3)
            flow = outcome(lambda f=make: float((f(branch)(negative) - expected_negative).abs().max()) < 1e-3)
            report.measure(id + "_works", 1, "", name + ": works (1: yes)", name + "：可行（1 为是）", "higher")
            report.measure(
                id + "_dynamic_shape",
                shape,
                "",
                name + ": another batch size (1: right, 0: not, -1: wrong numbers)",
                name + "：改变批大小（1 正确，0 不支持，-1 数值错误）",
                "higher",
            )
            report.measure(
                id + "_control_flow",
                flow,
                "",
                name + ": branches on data (1: right, 0: refuses, -1: wrong numbers)",
                name + "：依赖数据的分支（1 正确，0 拒绝，-1 数值错误）",
                "higher",
            )
            times = report.latency(lambda m=made: m(one), 20, 200)
            base = base or times[100]
            bars.append((place, times[100]))
            report.measure(id + "_p50", times[100], "ms", name + ": 8 rows, median", name + "：8 行，中位数", "lower")
            report.measure(
                id + "_speed",
                base / times[100],
                "ratio",
                name + ": speed against PyTorch",
                name + "：相对 PyTorch 的速度",
                "higher",
            )
            report.need(
                difference < 1e-3, "%s differs by %g." % (name, difference), "%s 相差 %g。" % (name, difference)
            )
            worked.append(name)
    report.series(
        "latency",
        bars,
        "Time of one answer by way",
        "各路径的单次响应时间",
        ("way", "路径"),
        ("time", "时间"),
        "",
        "ms",
        kind="bar",
    )
    report.need(
        "torch.export" in worked and "ONNX Runtime" in worked,
        "Neither export nor ONNX work here.",
        "export 与 ONNX 在本机不可行。",
    )
    report.outcome(
        "These ways work and agree: %s." % ", ".join(worked), "以下路径可行且结果一致：%s。" % "、".join(worked)
    )


def outcome(work):
    """1 right, 0 refused, -1 wrong numbers without a word."""
    try:
        return 1 if work() else -1
    except Exception:
        return 0
