"""One network in PyTorch, exported to ONNX and run in ONNX Runtime: same numbers, which is faster."""

import os
import time
import warnings

ID = "export-parity"
TITLE = ("Train in PyTorch, run in ONNX Runtime: same answers?", "PyTorch 训练、ONNX Runtime 运行：结果是否一致")
SCENARIO = "unified-train-serve"
FRAMEWORKS = ("pytorch", "onnx", "onnxruntime")
PACKAGES = ("torch", "numpy", "onnx", "onnxscript", "onnxruntime")
LIMIT_S = 300.0
ORDER = 1
PROVES = (
    "A model trained here can be exported to ONNX and gives the same numbers in ONNX Runtime, also for other batch sizes.",
    "在本机训练的模型可以导出为 ONNX，并在 ONNX Runtime 中得到相同的数值，批大小改变时也一样。",
)
LIMITS = (
    "A small convolutional network on the CPU; unusual operators have to be tried with the real model.",
    "只是 CPU 上的小型卷积网络；特殊算子需要用真实模型验证。",
)
NEAREST = "onnxruntime-embedded"
TOLERANCE = 1e-4


def run(report):
    began = time.perf_counter()
    report.step("Loading PyTorch and ONNX Runtime", "正在加载 PyTorch 与 ONNX Runtime", 0.05)
    import numpy as np
    import onnxruntime as ort
    import torch
    from torch import nn

    report.measure("import", time.perf_counter() - began, "s", "Time to import", "导入用时", "lower")
    for module in (torch, ort):
        report.fact(module.__name__ + " " + module.__version__, module.__name__ + ".__version__")
    torch.manual_seed(0)
    x, y, test_x, _ = (torch.from_numpy(part) for part in report.digits())
    x, test_x = x.view(-1, 1, 8, 8), test_x.view(-1, 1, 8, 8)
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1024, 128), nn.ReLU(), nn.Linear(128, 10),
    )  # fmt: skip
    report.step("Training for a moment", "正在短暂训练", 0.2)
    optimiser = torch.optim.Adam(model.parameters(), lr=2e-3)
    for place in range(0, len(x) * 2, 64):
        batch = slice(place % len(x), place % len(x) + 64)
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
        optimiser.step()
    model.eval()

    report.step("Exporting to ONNX", "正在导出为 ONNX", 0.45)
    path = os.path.join(report.scratch, "model.onnx")
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model, (x[:2],), path, dynamo=True, input_names=["pixels"], output_names=["scores"],
            dynamic_shapes=({0: torch.export.Dim("batch", min=1, max=4096)},),
        )  # fmt: skip
    report.measure("export", time.perf_counter() - start, "s", "Time to export", "导出用时", "lower")
    size = sum(os.path.getsize(path + end) for end in ("", ".data") if os.path.exists(path + end))
    report.measure("model_size", size, "bytes", "Size of the exported model", "导出模型大小", "lower")

    options = ort.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    report.step("Comparing the numbers", "正在比较数值", 0.7)
    worst, agree = 0.0, 1.0
    for count in (1, 3, 64, 359):
        with torch.no_grad():
            expected = model(test_x[:count]).numpy()
        got = session.run(None, {"pixels": test_x[:count].numpy()})[0]
        worst = max(worst, float(np.abs(got - expected).max()))
        agree = min(agree, float((got.argmax(1) == expected.argmax(1)).mean()))
    report.measure("max_difference", worst, "", "Largest difference in a score", "得分的最大差异", "lower")
    report.measure("same_answer", agree, "share", "Same answer", "答案相同的比例", "higher")

    report.step("Measuring both", "正在测量两者速度", 0.8)
    table = []
    for count in (1, 8, 64):
        batch = test_x[:count].contiguous()
        array = batch.numpy()

        def eager(batch=batch):
            with torch.no_grad():
                model(batch)

        def runtime(array=array):
            session.run(None, {"pixels": array})

        table.append((count, median_ms(eager), median_ms(runtime)))
    report.series(
        "torch",
        [(c, t) for c, t, _ in table],
        "PyTorch",
        "PyTorch",
        ("batch size", "批大小"),
        ("time", "时间"),
        "",
        "ms",
    )
    report.series(
        "onnxruntime",
        [(c, o) for c, _, o in table],
        "ONNX Runtime",
        "ONNX Runtime",
        ("batch size", "批大小"),
        ("time", "时间"),
        "",
        "ms",
    )
    _, torch_ms, ort_ms = table[0]
    report.measure(
        "torch_latency", torch_ms, "ms", "One answer in PyTorch, median", "PyTorch 单次响应（中位数）", "lower"
    )
    report.measure(
        "ort_latency", ort_ms, "ms", "One answer in ONNX Runtime, median", "ONNX Runtime 单次响应（中位数）", "lower"
    )
    report.measure(
        "speed_ratio",
        torch_ms / ort_ms,
        "ratio",
        "ONNX Runtime against PyTorch, one at a time",
        "ONNX Runtime 相对 PyTorch 的速度（单个）",
        "higher",
    )
    report.need(
        worst <= TOLERANCE,
        "The numbers differ by %g, more than %g." % (worst, TOLERANCE),
        "数值相差 %g，超过 %g。" % (worst, TOLERANCE),
    )
    report.need(
        agree == 1.0,
        "Only %.1f %% of the answers are the same." % (agree * 100),
        "只有 %.1f %% 的答案相同。" % (agree * 100),
    )
    report.outcome(
        "Same answers (largest difference %.1e); ONNX Runtime is %.1f times as fast for one picture."
        % (worst, torch_ms / ort_ms),
        "结果一致（最大差异 %.1e）；单张图片时 ONNX Runtime 的速度是 PyTorch 的 %.1f 倍。" % (worst, torch_ms / ort_ms),
    )


def median_ms(work, warm=20, count=100):
    for _ in range(warm):
        work()
    times = []
    for _ in range(count):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return sorted(times)[count // 2] * 1e3
