"""The digit network in 8-bit integers with ONNX Runtime: size, speed, accuracy lost."""

import os
import time

ID = "edge-int8"
TITLE = (
    "INT8 quantisation with ONNX Runtime",
    "用 ONNX Runtime 进行 INT8 量化",
)
SCENARIO = "edge-inference"
FRAMEWORKS = ("onnxruntime", "onnx")
PACKAGES = ("onnxruntime", "onnx", "numpy", "sympy")
LIMIT_S = 240.0
PROVES = (
    "A model can be quantised to INT8 with calibration data here; how much smaller and faster it gets and how much accuracy it loses.",
    "模型能在本机用校准数据量化为 INT8；以及体积、速度的收益与精度损失。",
)
LIMITS = (
    "Measured on this machine's processor; the target device has to be measured itself.",
    "在本机处理器上测得；目标设备需在其上另行测量。",
)
NEAREST = "onnxruntime-embedded"


def run(report):
    began = time.perf_counter()
    report.step("Loading ONNX Runtime", "正在加载 ONNX Runtime", 0.05)
    import onnx
    import onnxruntime as ort
    from onnxruntime.quantization import (
        CalibrationDataReader,
        QuantFormat,
        QuantType,
        quantize_dynamic,
        quantize_static,
    )

    report.imported(began)
    report.version(ort, onnx)
    learn_x, _, x, y = report.digits()
    source = os.path.join(report.data, "digits.onnx")

    class Samples(CalibrationDataReader):
        def __init__(self):
            self.rows = iter([{"pixels": learn_x[i : i + 32]} for i in range(0, 320, 32)])

        def get_next(self):
            return next(self.rows, None)

    static, dynamic = (os.path.join(report.scratch, name) for name in ("static.onnx", "dynamic.onnx"))
    report.step("Quantising with calibration", "正在校准并量化", 0.3)
    start = time.perf_counter()
    quantize_static(
        source,
        static,
        Samples(),
        quant_format=QuantFormat.QDQ,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        per_channel=True,
    )
    quantize_dynamic(source, dynamic, weight_type=QuantType.QInt8)
    report.measure("quantise", time.perf_counter() - start, "s", "Time to quantise", "量化用时", "lower")
    table = {}
    for place, (id, path) in enumerate((("fp32", source), ("int8_static", static), ("int8_dynamic", dynamic))):
        report.step("Measuring " + id, "正在测量 " + id, 0.5 + 0.15 * place)
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        right = float((session.run(None, {"pixels": x})[0].argmax(1) == y).mean())
        batch = {"pixels": x[:64]}
        times = report.latency(lambda s=session, b=batch: s.run(None, b), 30, 300)
        table[id] = (os.path.getsize(path), right, times[150], times[285])
        report.measure(id + "_size", table[id][0], "bytes", id + ": size", id + "：大小", "lower")
        report.measure(id + "_accuracy", right, "share", id + ": accuracy", id + "：准确率", "higher")
        report.measure(id + "_p50", times[150], "ms", id + ": 64 digits, median", id + "：64 个数字，中位数", "lower")
        report.measure(
            id + "_p95",
            times[285],
            "ms",
            id + ": 64 digits, 95 of 100 are faster",
            id + "：64 个数字，95 百分位",
            "lower",
        )
    lost = table["fp32"][1] - table["int8_static"][1]
    smaller = table["fp32"][0] / table["int8_static"][0]
    faster = table["fp32"][2] / table["int8_static"][2]
    report.measure("accuracy_lost", lost, "share", "Accuracy lost by INT8", "INT8 损失的准确率", "lower")
    report.measure("speed_ratio", faster, "ratio", "INT8 against FP32 speed", "INT8 相对 FP32 的速度", "higher")
    report.need(
        lost < 0.02,
        "INT8 loses %.1f points of accuracy." % (lost * 100),
        "INT8 损失 %.1f 个百分点的准确率。" % (lost * 100),
    )
    report.need(smaller > 2, "The INT8 model is hardly smaller.", "INT8 模型几乎没有变小。")
    report.outcome(
        "INT8 is %.1f times smaller and %.1f times as fast, and loses %.2f points of accuracy."
        % (smaller, faster, lost * 100),
        "INT8 体积缩小 %.1f 倍，速度为 %.1f 倍，准确率损失 %.2f 个百分点。" % (smaller, faster, lost * 100),
    )
