"""The digit network in OpenVINO: the same numbers, latency, INT8-ready."""

import os
import time

ID = "openvino-edge"
TITLE = (
    "OpenVINO: compile, compare, measure",
    "OpenVINO：编译、比较、测量",
)
SCENARIO = "edge-inference"
FRAMEWORKS = ("openvino", "onnx")
PACKAGES = ("openvino", "numpy")
LIMIT_S = 240.0
PROVES = (
    "OpenVINO reads an ONNX model here, compiles it for this processor and gives the same numbers.",
    "OpenVINO 能在本机读取 ONNX 模型、为该处理器编译，并得到相同的数值。",
)
LIMITS = (
    "Measured on this machine's processor; the target device has to be measured itself.",
    "在本机处理器上测得；目标设备需在其上另行测量。",
)
NEAREST = "onnxruntime-embedded"


def run(report):
    began = time.perf_counter()
    report.step("Loading OpenVINO", "正在加载 OpenVINO", 0.05)
    import numpy as np
    import openvino as ov

    report.imported(began)
    report.version(ov)
    core = ov.Core()
    report.fact(", ".join(core.available_devices), "openvino.Core().available_devices")
    _, _, x, y = report.digits()
    path = os.path.join(report.data, "digits.onnx")
    results = {}
    for precision in ("f32", "default"):
        # On processors with AMX it computes in bf16 by itself: fast, and other digits. Both are shown.
        settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": 1}
        if precision == "f32":
            settings["INFERENCE_PRECISION_HINT"] = "f32"
        start = time.perf_counter()
        compiled = core.compile_model(path, "CPU", settings)
        report.measure(
            "compile_" + precision,
            time.perf_counter() - start,
            "s",
            "Time to compile, " + precision,
            "编译用时，" + precision,
            "lower",
        )
        scores = compiled({"pixels": x})[0]
        results[precision] = scores
        request = compiled.create_infer_request()
        one = {"pixels": x[:1]}
        times = report.latency(lambda r=request, o=one: r.infer(o), 50, 300)
        report.measure(
            "p50_" + precision,
            times[150],
            "ms",
            "One answer, median, " + precision,
            "单次响应（中位数），" + precision,
            "lower",
        )
        report.measure(
            "p95_" + precision,
            times[285],
            "ms",
            "One answer, 95 of 100 are faster, " + precision,
            "单次响应（95 百分位），" + precision,
            "lower",
        )
        report.measure(
            "accuracy_" + precision,
            float((scores.argmax(1) == y).mean()),
            "share",
            "Accuracy, " + precision,
            "准确率，" + precision,
            "higher",
        )
    w = report.shared("digits_weights").weights(path)
    expected = np.maximum(x @ w["w1"] + w["b1"], 0) @ w["w2"] + w["b2"]
    exact = float(np.abs(results["f32"] - expected).max())
    loose = float(np.abs(results["default"] - expected).max())
    report.measure("difference_f32", exact, "", "Largest difference, f32", "最大差异，f32", "lower")
    report.measure(
        "difference_default", loose, "", "Largest difference, as it computes by itself", "最大差异，默认精度", "lower"
    )
    report.need(exact < 1e-3, "The numbers differ by %g." % exact, "数值相差 %g。" % exact)
    report.outcome(
        "Same numbers in f32 (difference %.1e); by itself it differs by %.1e." % (exact, loose),
        "f32 下数值一致（差异 %.1e）；默认精度下相差 %.1e。" % (exact, loose),
    )
