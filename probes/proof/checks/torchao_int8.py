"""A PyTorch network in INT8 through torchao: difference and size."""

import time

ID = "torchao-int8"
TITLE = (
    "torchao: INT8 weights in PyTorch",
    "torchao：PyTorch 中的 INT8 权重",
)
SCENARIO = "edge-inference"
FRAMEWORKS = ("torchao", "pytorch")
PACKAGES = ("torch", "numpy", "torchao")
LIMIT_S = 300.0
PROVES = (
    "torchao quantises weights and activations here, with the difference that it makes.",
    "torchao 能在本机量化权重与激活，并给出由此产生的差异。",
)
LIMITS = (
    "Measured on this machine's processor; the target device has to be measured itself.",
    "在本机处理器上测得；目标设备需在其上另行测量。",
)
NEAREST = "edge-int8"


def run(report):
    began = time.perf_counter()
    report.step("Loading torchao", "正在加载 torchao", 0.1)
    import torch
    import torchao
    from torch import nn
    from torchao.quantization import Int8DynamicActivationInt8WeightConfig, Int8WeightOnlyConfig, quantize_

    report.imported(began)
    report.version(torch, torchao)
    x = torch.randn(64, 256)
    worst = {}
    for place, (id, config) in enumerate(
        (("int8_weight", Int8WeightOnlyConfig), ("int8_dynamic", Int8DynamicActivationInt8WeightConfig))
    ):
        report.step("Quantising: " + id, "正在量化：" + id, 0.3 + 0.3 * place)
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 64)).eval()
        with torch.no_grad():
            expected = model(x)
            quantize_(model, config())
            got = model(x)
        worst[id] = float((got - expected).abs().max())
        report.measure(id + "_difference", worst[id], "", id + ": largest difference", id + "：最大差异", "lower")
        size = sum(kept(p) for p in model.parameters())
        report.measure(id + "_size", size, "bytes", id + ": weights", id + "：权重大小", "lower")
        with torch.no_grad():
            times = report.latency(lambda m=model: m(x), 5, 40)
        report.measure(id + "_p50", times[20], "ms", id + ": 64 rows, median", id + "：64 行，中位数", "lower")
    report.need(
        max(worst.values()) < 0.1, "INT8 differs by %g." % max(worst.values()), "INT8 相差 %g。" % max(worst.values())
    )
    report.outcome(
        "INT8 weights differ by %.3f, INT8 weights and activations by %.3f." % tuple(worst.values()),
        "INT8 权重相差 %.3f，INT8 权重与激活相差 %.3f。" % tuple(worst.values()),
    )


def kept(parameter):
    """Bytes that a quantised parameter really holds: its inner tensors'."""
    names = getattr(parameter, "tensor_data_names", None)
    if names:
        return sum(getattr(parameter, n).numel() * getattr(parameter, n).element_size() for n in names)
    return parameter.numel() * parameter.element_size()
