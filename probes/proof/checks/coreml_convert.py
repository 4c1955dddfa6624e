"""A PyTorch network converted for Core ML; run only where a Mac is."""

import os
import sys
import time

ID = "coreml-convert"
TITLE = (
    "Core ML: convert (and run on a Mac)",
    "Core ML：转换（在 Mac 上运行）",
)
SCENARIO = "edge-inference"
FRAMEWORKS = ("core-ml", "pytorch")
PACKAGES = ("torch", "numpy", "coremltools")
LIMIT_S = 300.0
PLATFORMS = ("linux", "darwin")
PYTHONS = ("3.11",)
PROVES = (
    "coremltools converts a PyTorch model here; on a Mac the prediction is compared as well.",
    "coremltools 能在本机转换 PyTorch 模型；在 Mac 上还会比较预测结果。",
)
LIMITS = (
    "Off macOS only the conversion is proven, not the result on Apple devices.",
    "在非 macOS 系统上只能证明转换可行，不能证明在 Apple 设备上的结果。",
)
NEAREST = "edge-int8"


def run(report):
    began = time.perf_counter()
    report.step("Loading coremltools", "正在加载 coremltools", 0.1)
    import coremltools as ct
    import torch
    from torch import nn

    report.imported(began)
    report.version(torch, ct)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)).eval()
    example = torch.randn(1, 64)
    report.step("Converting", "正在转换", 0.5)
    start = time.perf_counter()
    traced = torch.jit.trace(model, example)
    made = ct.convert(traced, inputs=[ct.TensorType(name="pixels", shape=(1, 64))], convert_to="mlprogram")
    path = os.path.join(report.scratch, "model.mlpackage")
    made.save(path)
    report.measure("convert", time.perf_counter() - start, "s", "Time to convert", "转换用时", "lower")
    size = sum(os.path.getsize(os.path.join(b, n)) for b, _, names in os.walk(path) for n in names)
    report.measure("model_size", size, "bytes", "Size of the package", "模型包大小", "lower")
    report.need(size > 15000, "The package is empty.", "模型包是空的。")
    if sys.platform == "darwin":
        got = next(iter(made.predict({"pixels": example.numpy()}).values()))
        difference = float(abs(got - model(example).detach().numpy()).max())
        report.measure("max_difference", difference, "", "Largest difference", "最大差异", "lower")
        report.need(difference < 2e-2, "The numbers differ by %g." % difference, "数值相差 %g。" % difference)
        report.outcome("Converted and run: difference %.1e." % difference, "已转换并运行：差异 %.1e。" % difference)
    else:
        report.outcome(
            "Converted (%.0f kB); it was not run, that needs a Mac." % (size / 1e3),
            "已转换（%.0f kB）；未运行，需要 Mac。" % (size / 1e3),
        )
