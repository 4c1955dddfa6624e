"""The digit reader in JAX with Flax NNX and Optax, twice with the same bits, and sharded over four devices."""

import time

EPOCHS = 15

ID = "jax-flax"
TITLE = (
    "JAX and Flax: train, repeat, shard",
    "JAX 与 Flax：训练、复现、分片",
)
SCENARIO = "research"
FRAMEWORKS = ("jax", "flax")
PACKAGES = ("jax", "flax", "optax", "numpy")
LIMIT_S = 300.0
ENVIRONMENT = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
PROVES = (
    "JAX compiles and trains here, a second run gives the same bits, and a computation split over four (simulated) devices agrees.",
    "JAX 能在本机编译和训练，第二次运行逐位相同，分片到四个（模拟）设备的计算结果一致。",
)
LIMITS = (
    "1,797 small pictures; the speed of large models is another question.",
    "只有 1797 张小图；大模型的速度是另一回事。",
)
NEAREST = "torch-quickstart"


def run(report):
    began = time.perf_counter()
    report.step("Loading JAX", "正在加载 JAX", 0.05)
    import flax
    import jax
    import jax.numpy as jnp
    import numpy as np
    import optax
    from flax import nnx

    report.imported(began)
    report.version(jax, flax, optax)
    report.fact(", ".join(str(d) for d in jax.devices()), "jax.devices()")
    x, y, test_x, test_y = report.digits()

    class Reader(nnx.Module):
        def __init__(self, rngs):
            self.first = nnx.Linear(64, 128, rngs=rngs)
            self.last = nnx.Linear(128, 10, rngs=rngs)

        def __call__(self, pixels):
            return self.last(nnx.relu(self.first(pixels)))

    def train(clock=None, epochs=EPOCHS):
        model = Reader(nnx.Rngs(0))
        optimiser = nnx.Optimizer(model, optax.adam(3e-3), wrt=nnx.Param)

        @nnx.jit
        def learn(model, optimiser, pixels, labels):
            def loss_of(model):
                return optax.softmax_cross_entropy_with_integer_labels(model(pixels), labels).mean()

            loss, gradients = nnx.value_and_grad(loss_of)(model)
            optimiser.update(model, gradients)
            return loss

        order = np.random.RandomState(0)
        for _ in range(epochs):
            rows = order.permutation(len(x))
            losses = []
            for place in range(0, len(x) - 31, 32):
                batch = rows[place : place + 32]
                losses.append(learn(model, optimiser, x[batch], y[batch]))
            right = float((model(test_x).argmax(1) == test_y).mean())
            if clock is not None:
                clock.epoch(float(jnp.stack(losses).mean()), right, len(losses) * 32)
        return b"".join(np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(nnx.state(model, nnx.Param)))

    clock = report.training(EPOCHS)
    train(clock)
    report.step("Running it twice", "正在重复运行", None)
    same = train(epochs=3) == train(epochs=3)
    report.measure(
        "same_bits", float(same), "", "Two runs give the same bits (1: yes)", "两次运行逐位相同（1 为是）", "higher"
    )
    report.need(same, "Two runs gave different weights.", "两次运行得到的权重不同。")
    devices = jax.devices()
    if len(devices) >= 4:
        from jax.sharding import Mesh, NamedSharding, PartitionSpec

        place = NamedSharding(Mesh(np.array(devices[:4]), ("batch",)), PartitionSpec("batch"))
        whole = np.resize(x, (1024, 64))
        split = jax.jit(lambda a: (a @ a[:64].T).sum(1))
        difference = float(np.abs(np.asarray(split(jax.device_put(whole, place))) - np.asarray(split(whole))).max())
        report.measure(
            "shard_difference",
            difference,
            "",
            "Split over four devices: largest difference",
            "分片到四个设备：最大差异",
            "lower",
        )
        report.need(
            difference < 1e-2, "The split computation differs by %g." % difference, "分片计算相差 %g。" % difference
        )
    clock.finish()
