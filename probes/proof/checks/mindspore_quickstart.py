"""The digit reader in MindSpore."""

import time

EPOCHS = 16

ID = "mindspore-quickstart"
TITLE = (
    "MindSpore quickstart: train a digit reader",
    "MindSpore 快速上手：训练手写数字识别",
)
SCENARIO = "classic-teaching"
FRAMEWORKS = ("mindspore",)
PACKAGES = ("mindspore", "numpy")
LIMIT_S = 400.0
PLATFORMS = ("linux", "win32", "darwin")
ON_REQUEST = True
PYTHONS = ("3.11", "3.12")
PROVES = (
    "MindSpore trains here.",
    "MindSpore 能在本机训练。",
)
LIMITS = (
    "1,797 small pictures; the speed of large models is another question.",
    "只有 1797 张小图；大模型的速度是另一回事。",
)
NEAREST = "paddle-quickstart"


def run(report):
    began = time.perf_counter()
    report.step("Loading MindSpore", "正在加载 MindSpore", 0.05)
    import mindspore as ms
    import numpy as np
    from mindspore import nn

    report.imported(began)
    report.version(ms)
    ms.set_seed(0)
    learn_x, learn_y, test_x, test_y = report.digits()
    model = nn.SequentialCell(nn.Dense(64, 128), nn.ReLU(), nn.Dense(128, 10))
    optimiser = nn.Adam(model.trainable_params(), learning_rate=3e-3)
    loss_of = nn.CrossEntropyLoss()
    step = ms.value_and_grad(lambda a, b: loss_of(model(a), b), None, optimiser.parameters)
    order = np.random.RandomState(0)
    clock = report.training(EPOCHS)
    for _ in range(EPOCHS):
        rows = order.permutation(len(learn_x))
        total = 0.0
        for place in range(0, len(rows) - 31, 32):
            batch = rows[place : place + 32]
            loss, gradients = step(ms.Tensor(learn_x[batch]), ms.Tensor(learn_y[batch].astype(np.int32)))
            optimiser(gradients)
            total += float(loss.asnumpy()) * 32
        right = float((model(ms.Tensor(test_x)).asnumpy().argmax(1) == test_y).mean())
        clock.epoch(total / len(rows), right, len(rows))
    clock.finish()
