"""The digit reader in PaddlePaddle, saved for deployment and loaded again."""

import os
import time

EPOCHS = 10

ID = "paddle-quickstart"
TITLE = (
    "PaddlePaddle quickstart: train, save, load",
    "飞桨快速上手：训练、保存、加载",
)
SCENARIO = "classic-teaching"
FRAMEWORKS = ("paddlepaddle",)
PACKAGES = ("paddlepaddle", "setuptools", "numpy")
LIMIT_S = 300.0
PROVES = (
    "PaddlePaddle trains here, and a model saved for deployment answers exactly as before.",
    "飞桨能在本机训练，导出部署的模型结果完全一致。",
)
LIMITS = (
    "1,797 small pictures; the speed of large models is another question.",
    "只有 1797 张小图；大模型的速度是另一回事。",
)
NEAREST = "torch-quickstart"


def run(report):
    began = time.perf_counter()
    report.step("Loading PaddlePaddle", "正在加载飞桨", 0.05)
    import numpy as np
    import paddle
    from paddle import nn

    report.imported(began)
    report.version(paddle)
    paddle.seed(0)
    x, y, test_x, test_y = report.digits()
    shape = (-1, 1, 8, 8)
    x, test_x = paddle.to_tensor(x.reshape(shape)), paddle.to_tensor(test_x.reshape(shape))
    y = paddle.to_tensor(y)
    model = nn.Sequential(
        nn.Conv2D(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2D(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2D(2),
        nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10),
    )  # fmt: skip
    optimiser = paddle.optimizer.Adam(2e-3, parameters=model.parameters())
    order = np.random.RandomState(0)
    clock = report.training(EPOCHS)
    for _ in range(EPOCHS):
        rows = order.permutation(len(x))
        total = 0.0
        for place in range(0, len(x), 32):
            batch = paddle.to_tensor(rows[place : place + 32])
            loss = nn.functional.cross_entropy(model(paddle.gather(x, batch)), paddle.gather(y, batch))
            loss.backward()
            optimiser.step()
            optimiser.clear_grad()
            total += float(loss) * len(rows[place : place + 32])
        with paddle.no_grad():
            right = (model(test_x).numpy().argmax(1) == test_y).mean()
        clock.epoch(total / len(x), right, len(x))
    report.step("Saving for deployment", "正在导出用于部署", None)
    model.eval()
    path = os.path.join(report.scratch, "digits")
    paddle.jit.save(model, path, input_spec=[paddle.static.InputSpec([None, 1, 8, 8], "float32")])
    again = paddle.jit.load(path)
    difference = float(np.abs(model(test_x).numpy() - again(test_x).numpy()).max())
    report.measure(
        "reload_difference",
        difference,
        "",
        "Largest difference after saving and loading",
        "保存并重新加载后的最大差异",
        "lower",
    )
    report.need(
        difference < 1e-5,
        "The saved model answers differently: %g." % difference,
        "保存后的模型结果不同：%g。" % difference,
    )
    clock.finish()
