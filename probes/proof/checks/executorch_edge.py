"""A PyTorch network exported for ExecuTorch with XNNPACK, run by its runtime."""

import os
import time

ID = "executorch-edge"
TITLE = (
    "ExecuTorch: export for phones, run here",
    "ExecuTorch：为手机导出并在本机运行",
)
SCENARIO = "edge-inference"
FRAMEWORKS = ("executorch", "pytorch", "torch-export")
PACKAGES = ("torch", "numpy", "executorch")
LIMIT_S = 400.0
PLATFORMS = ("linux", "darwin")
PROVES = (
    "ExecuTorch exports a PyTorch model to a .pte file here and its runtime gives the same numbers.",
    "ExecuTorch 能在本机把 PyTorch 模型导出为 .pte 文件，运行结果一致。",
)
LIMITS = (
    "Measured on this machine's processor; the target device has to be measured itself.",
    "在本机处理器上测得；目标设备需在其上另行测量。",
)
NEAREST = "edge-int8"


def run(report):
    began = time.perf_counter()
    report.step("Loading ExecuTorch", "正在加载 ExecuTorch", 0.05)
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower
    from executorch.runtime import Runtime
    from torch import nn

    report.imported(began)
    report.version(torch)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)).eval()
    example = (torch.randn(1, 64),)
    report.step("Exporting", "正在导出", 0.4)
    start = time.perf_counter()
    program = to_edge_transform_and_lower(
        torch.export.export(model, example), partitioner=[XnnpackPartitioner()]
    ).to_executorch()
    path = os.path.join(report.scratch, "model.pte")
    with open(path, "wb") as stream:
        stream.write(program.buffer)
    report.measure("export", time.perf_counter() - start, "s", "Time to export", "导出用时", "lower")
    report.measure("model_size", os.path.getsize(path), "bytes", "Size of the exported model", "导出模型大小", "lower")
    method = Runtime.get().load_program(path).load_method("forward")
    got = method.execute(list(example))[0]
    with torch.no_grad():
        difference = float((got - model(*example)).abs().max())
    times = report.latency(lambda: method.execute(list(example)), 50, 300)
    report.measure("max_difference", difference, "", "Largest difference", "最大差异", "lower")
    report.measure("latency_p50", times[150], "ms", "One answer, median", "单次响应（中位数）", "lower")
    report.measure(
        "latency_p95", times[285], "ms", "One answer, 95 of 100 are faster", "单次响应（95 百分位）", "lower"
    )
    report.need(difference < 1e-4, "The numbers differ by %g." % difference, "数值相差 %g。" % difference)
    report.outcome(
        "Same numbers (difference %.1e), %.3f ms for one answer." % (difference, times[150]),
        "数值一致（差异 %.1e），单次响应 %.3f 毫秒。" % (difference, times[150]),
    )
