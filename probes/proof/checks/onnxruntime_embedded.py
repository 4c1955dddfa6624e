"""Digits read by ONNX Runtime in the program's own environment, without any download."""

import time

ID = "onnxruntime-embedded"
TITLE = ("ONNX Runtime, built in: read handwritten digits", "内置 ONNX Runtime：识别手写数字")
SCENARIO = "edge-inference"
FRAMEWORKS = ("onnxruntime", "onnx")
PACKAGES = ()
LIMIT_S = 60.0
ORDER = 1
MEMORY_BYTES = 2_000_000_000
PROVES = (
    "ONNX Runtime loads and computes right on this processor; how fast a very small model answers here.",
    "ONNX Runtime 能在本机处理器上加载并正确计算；以及一个很小的模型在本机的响应速度。",
)
LIMITS = (
    "A model of 9,600 weights says nothing about large models, GPUs or NPUs.",
    "只有 9600 个权重的模型不能说明大模型、GPU 或 NPU 的情况。",
)
GOAL = 0.95


def run(report):
    began = time.perf_counter()
    report.step("Loading ONNX Runtime", "正在加载 ONNX Runtime", 0.1)
    import os

    import numpy as np
    import onnxruntime as ort

    report.measure("import", time.perf_counter() - began, "s", "Time to import", "导入用时", "lower")
    report.fact("onnxruntime " + ort.__version__, "onnxruntime.__version__")
    report.fact(", ".join(ort.get_available_providers()), "onnxruntime.get_available_providers()")
    path = os.path.join(report.data, "digits.onnx")
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    began = time.perf_counter()
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    report.measure("load", time.perf_counter() - began, "s", "Time to load the model", "加载模型用时", "lower")
    report.measure("model_size", os.path.getsize(path), "bytes", "Model size", "模型大小", "lower")

    _, _, pixels, labels = report.digits()
    report.step("Reading digits it has never seen", "正在识别从未见过的数字", 0.4)
    scores = session.run(None, {"pixels": pixels})[0]
    accuracy = float((scores.argmax(1) == labels).mean())
    report.measure("accuracy", accuracy, "share", "Accuracy on held-out digits", "留出数字上的准确率", "higher")
    alone = np.concatenate([session.run(None, {"pixels": pixels[i : i + 1]})[0] for i in range(64)])
    difference = float(np.abs(alone - scores[:64]).max())
    report.measure(
        "batch_difference",
        difference,
        "",
        "Largest difference, one by one against together",
        "逐个与整批计算的最大差异",
        "lower",
    )

    report.step("Measuring the time of one answer", "正在测量单次响应时间", 0.6)
    one = {"pixels": pixels[:1]}
    for _ in range(50):
        session.run(None, one)
    times = []
    for _ in range(400):
        start = time.perf_counter()
        session.run(None, one)
        times.append((time.perf_counter() - start) * 1e3)
    p50, p95 = (float(np.percentile(times, q)) for q in (50, 95))
    report.measure("latency_p50", p50, "ms", "Answer time, median", "响应时间（中位数）", "lower")
    report.measure("latency_p95", p95, "ms", "Answer time, 95 of 100 are faster", "响应时间（95 百分位）", "lower")
    report.series(
        "latency", list(enumerate(times)), "Answer times", "响应时间", ("request", "请求"), ("time", "时间"), "", "ms"
    )
    points = []
    for size in (1, 4, 16, 64, 256):
        batch = {"pixels": np.ascontiguousarray(np.resize(pixels, (size, 64)))}
        until, count, start = time.perf_counter() + 0.05, 0, time.perf_counter()
        while time.perf_counter() < until:
            session.run(None, batch)
            count += size
        points.append((size, count / (time.perf_counter() - start)))
    report.series(
        "throughput", points, "Digits per second by batch size", "各批大小下每秒识别数", ("batch size", "批大小"),
        ("digits per second", "每秒数字"), "", "samples/s",
    )  # fmt: skip
    report.measure(
        "throughput", points[-1][1], "samples/s", "Digits per second, 256 at a time", "每秒识别数（每批 256）", "higher"
    )
    report.need(
        accuracy >= GOAL, "Only %.1f %% of the digits were read right." % (accuracy * 100),
        "只有 %.1f %% 的数字识别正确。" % (accuracy * 100),
    )  # fmt: skip
    report.need(
        difference < 1e-3, "Answers depend on the batch: %g." % difference, "结果随批大小变化：%g。" % difference
    )
    report.outcome(
        "%.1f %% of the held-out digits were read right, in %.2f ms each." % (accuracy * 100, p50),
        "留出数字识别正确率 %.1f %%，每个用时 %.2f 毫秒。" % (accuracy * 100, p50),
    )
