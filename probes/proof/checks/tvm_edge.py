"""The digit network compiled by Apache TVM for this processor: the same numbers, latency, size."""

import os
import time

ID = "tvm-edge"
TITLE = (
    "Apache TVM: compile to LLVM, compare, measure",
    "Apache TVM：编译到 LLVM、比较、测量",
)
SCENARIO = "edge-inference"
FRAMEWORKS = ("tvm",)
PACKAGES = ("apache-tvm", "numpy")
LIMIT_S = 240.0
PROVES = (
    "TVM compiles a network into machine code here, and the code gives the same numbers for any batch size.",
    "TVM 能在本机把网络编译成机器码，任意批大小的数值都一致。",
)
LIMITS = (
    "A small network, compiled for this processor and not tuned; other chips need their own target and measurement.",
    "只是小型网络，针对本机处理器编译且未调优；其他芯片需要各自的目标与测量。",
)
NEAREST = "onnxruntime-embedded"


def run(report):
    began = time.perf_counter()
    report.step("Loading TVM", "正在加载 TVM", 0.05)
    import numpy as np
    import tvm
    from tvm import relax
    from tvm.relax.frontend import nn

    report.imported(began)
    report.version(tvm)
    _, _, x, y = report.digits()
    arrays = report.shared("digits_weights").weights(os.path.join(report.data, "digits.onnx"))
    pairs = layers(arrays)

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(64, pairs[0][0].shape[0])
            self.last = nn.Linear(pairs[0][0].shape[0], 10)

        def forward(self, pixels):
            return self.last(nn.relu(self.first(pixels)))

    report.step("Compiling", "正在编译", 0.3)
    start = time.perf_counter()
    module, names = Reader().export_tvm(spec={"forward": {"pixels": nn.spec.Tensor(["rows", 64], "float32")}})
    target = tvm.target.Target("llvm")
    compiled = tvm.compile(module, target=target)
    report.measure("compile", time.perf_counter() - start, "s", "Time to compile", "编译用时", "lower")
    report.fact(str(target), "tvm.target.Target")
    machine = relax.VirtualMachine(compiled, tvm.cpu())
    made = dict(zip(("first.weight", "first.bias", "last.weight", "last.bias"), (a for pair in pairs for a in pair)))
    constants = [tvm.runtime.tensor(np.ascontiguousarray(made[name])) for name, _ in names]

    def answer(rows):
        return machine["forward"](tvm.runtime.tensor(np.ascontiguousarray(rows)), *constants)

    report.step("Comparing", "正在比较", 0.6)
    expected = np.maximum(x @ pairs[0][0].T + pairs[0][1], 0) @ pairs[1][0].T + pairs[1][1]
    scores = answer(x).numpy()
    difference = float(np.abs(scores - expected).max())
    single = float(np.abs(answer(x[:1]).numpy() - expected[:1]).max())
    right = float((scores.argmax(1) == y).mean())
    report.measure(
        "difference", difference, "", "Largest difference from NumPy", "与 NumPy 的最大差异", "lower"
    )  # fmt: skip
    report.measure("accuracy", right, "share", "Accuracy on held-out digits", "留出数字上的准确率", "higher")
    one = tvm.runtime.tensor(np.ascontiguousarray(x[:1]))
    times = report.latency(lambda: machine["forward"](one, *constants), 50, 500)
    report.measure("p50", times[250], "ms", "Answer time, median", "单次推理（中位数）", "lower")
    report.measure("p95", times[474], "ms", "Answer time, 95 of 100 are faster", "单次推理（95 百分位）", "lower")
    report.need(
        max(difference, single) < 1e-3,
        "The compiled code differs by %g." % max(difference, single),
        "编译后的代码相差 %g。" % max(difference, single),
    )
    report.need(right > 0.95, "Only %.1f %% were right." % (right * 100), "正确率只有 %.1f %%。" % (right * 100))
    report.outcome(
        "Same numbers (difference %.1e), %.3f ms for one answer." % (difference, times[250]),
        "数值一致（差异 %.1e），单次推理 %.3f 毫秒。" % (difference, times[250]),
    )


def layers(arrays):
    """[(weight, bias), (weight, bias)], weights as (outputs, inputs), from the four arrays of the digit network."""
    matrices = sorted((a for a in arrays.values() if a.ndim == 2), key=lambda a: 64 not in a.shape)
    biases = sorted((a for a in arrays.values() if a.ndim == 1), key=lambda a: a.size == 10)
    found = []
    for matrix, bias in zip(matrices, biases):
        found.append((matrix if matrix.shape[0] == bias.size else matrix.T, bias))
    return found
