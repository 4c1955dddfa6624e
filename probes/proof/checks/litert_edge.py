"""The digit network as a LiteRT file, in float and in INT8, on the small runtime."""

import os
import time

ID = "litert-edge"
TITLE = (
    "LiteRT: the small runtime of phones and boards",
    "LiteRT：手机与开发板上的小型运行时",
)
SCENARIO = "edge-inference"
FRAMEWORKS = ("litert", "tensorflow-lite")
PACKAGES = ("ai-edge-litert", "numpy")
LIMIT_S = 180.0
PROVES = (
    "The LiteRT runtime runs here (115 MB installed), in float and in INT8, with their sizes, times and accuracy.",
    "LiteRT 运行时（安装后 115 MB）能在本机以浮点与 INT8 运行，给出大小、用时与准确率。",
)
LIMITS = (
    "Measured on this machine's processor; the target device has to be measured itself.",
    "在本机处理器上测得；目标设备需在其上另行测量。",
)
NEAREST = "onnxruntime-embedded"


def run(report):
    began = time.perf_counter()
    report.step("Loading LiteRT", "正在加载 LiteRT", 0.1)
    import numpy as np
    from ai_edge_litert.interpreter import Interpreter

    report.imported(began)
    _, _, x, y = report.digits()
    table = {}
    for name in ("float", "int8"):
        report.step("Measuring " + name, "正在测量 " + name, 0.5)
        path = os.path.join(report.data, "digits_%s.tflite" % name)
        reader = Interpreter(model_path=path, num_threads=1)
        reader.allocate_tensors()
        first, last = reader.get_input_details()[0], reader.get_output_details()[0]
        right = 0
        for row, label in zip(x, y):
            reader.set_tensor(first["index"], to(first, row[None], np))
            reader.invoke()
            right += int(reader.get_tensor(last["index"])[0].argmax() == label)
        times = report.latency(reader.invoke, 100, 500)
        table[name] = (os.path.getsize(path), right / len(x), times[250])
        report.measure(name + "_size", table[name][0], "bytes", name + ": size", name + "：大小", "lower")
        report.measure(name + "_accuracy", right / len(x), "share", name + ": accuracy", name + "：准确率", "higher")
        report.measure(
            name + "_p50", times[250], "ms", name + ": one answer, median", name + "：单次响应（中位数）", "lower"
        )
        report.measure(
            name + "_p95",
            times[475],
            "ms",
            name + ": one answer, 95 of 100 are faster",
            name + "：单次响应（95 百分位）",
            "lower",
        )
    lost = table["float"][1] - table["int8"][1]
    report.measure("accuracy_lost", lost, "share", "Accuracy lost by INT8", "INT8 损失的准确率", "lower")
    report.need(
        table["float"][1] > 0.95,
        "Only %.1f %% right." % (table["float"][1] * 100),
        "正确率只有 %.1f %%。" % (table["float"][1] * 100),
    )
    report.need(lost < 0.02, "INT8 loses %.1f points." % (lost * 100), "INT8 损失 %.1f 个百分点。" % (lost * 100))
    report.outcome(
        "Float %.0f kB, INT8 %.0f kB; INT8 loses %.2f points of accuracy."
        % (table["float"][0] / 1e3, table["int8"][0] / 1e3, lost * 100),
        "浮点 %.0f kB，INT8 %.0f kB；INT8 准确率损失 %.2f 个百分点。"
        % (table["float"][0] / 1e3, table["int8"][0] / 1e3, lost * 100),
    )


def to(detail, values, np):
    """VALUES in the type of the model's input."""
    if detail["dtype"] == np.float32:
        return values
    scale, zero = detail["quantization"]
    low, high = np.iinfo(detail["dtype"]).min, np.iinfo(detail["dtype"]).max
    return np.clip(np.round(values / scale + zero), low, high).astype(detail["dtype"])
