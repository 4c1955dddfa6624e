"""The digit reader in MLX: on the GPU of an Apple computer, on the processor elsewhere."""

import time

EPOCHS = 12

ID = "mlx-quickstart"
TITLE = (
    "MLX quickstart: train a digit reader",
    "MLX 快速上手：训练手写数字识别",
)
SCENARIO = "rapid-prototyping"
FRAMEWORKS = ("mlx",)
PACKAGES = ("mlx[cpu]", "numpy")
LIMIT_S = 240.0
PLATFORMS = ("linux", "darwin")
PROVES = (
    "MLX trains here.",
    "MLX 能在本机训练。",
)
LIMITS = (
    "1,797 small pictures; the speed of large models is another question.",
    "只有 1797 张小图；大模型的速度是另一回事。",
)
NEAREST = "torch-quickstart"


def run(report):
    began = time.perf_counter()
    report.step("Loading MLX", "正在加载 MLX", 0.05)
    import mlx.core as mx
    import mlx.nn as nn
    import mlx.optimizers as optim
    import numpy as np

    report.imported(began)
    report.fact("mlx " + mx.__version__, "mlx.core.__version__")
    report.fact(str(mx.default_device()), "mlx.core.default_device()")
    mx.random.seed(0)
    learn_x, learn_y, test_x, test_y = report.digits()
    x, y = mx.array(learn_x), mx.array(learn_y.astype(np.int32))
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    mx.eval(model.parameters())
    optimiser = optim.Adam(learning_rate=3e-3)

    def loss_of(model, pixels, labels):
        return nn.losses.cross_entropy(model(pixels), labels, reduction="mean")

    step = nn.value_and_grad(model, loss_of)
    order = np.random.RandomState(0)
    clock = report.training(EPOCHS)
    for _ in range(EPOCHS):
        rows = order.permutation(len(learn_x))
        total = 0.0
        for place in range(0, len(rows), 32):
            batch = mx.array(rows[place : place + 32])
            loss, gradients = step(model, x[batch], y[batch])
            optimiser.update(model, gradients)
            mx.eval(model.parameters(), optimiser.state)
            total += float(loss) * len(rows[place : place + 32])
        right = float((np.array(model(mx.array(test_x))).argmax(1) == test_y).mean())
        clock.epoch(total / len(x), right, len(x))
    clock.finish()
