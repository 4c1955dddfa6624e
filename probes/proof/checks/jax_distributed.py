"""Several JAX processes train one model; one of them is killed and the training goes on from its checkpoint."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import time

ID = "jax-distributed"
TITLE = (
    "JAX on several processes: bandwidth, scaling, a killed worker",
    "JAX 多进程：带宽、扩展效率与进程被杀后的恢复",
)
SCENARIO = "distributed-training"
FRAMEWORKS = ("jax",)
PACKAGES = ("jax", "numpy")
LIMIT_S = 400.0
PLATFORMS = ("linux", "darwin")
PROVES = (
    "Several JAX processes on this machine form one mesh, train on a split batch with the same loss, and after one is killed the training continues from the checkpoint.",
    "本机多个 JAX 进程能组成一个设备网格，切分批次训练且损失一致；其中一个被杀后，训练能从检查点继续。",
)
LIMITS = (
    "CPU processes on one machine over gloo; GPUs, TPUs and the network have to be measured on the cluster.",
    "仅为单机上的 CPU 进程（gloo）；GPU、TPU 与网络需要在集群上测量。",
)
NEAREST = "torch-ddp"

STEPS, SAVED_AT, DIE_AT = 24, 10, 15


def run(report):
    report.step("Measuring all-reduce between 2 processes", "正在测量 2 个进程间的 all-reduce", 0.05)
    told = together(report, "bandwidth", 2)
    report.fact("jax " + told[0]["jax"], "jax.__version__")
    report.fact(told[0]["devices"], "jax.devices()")
    points = told[0]["bandwidth"]
    report.series(
        "bandwidth", points, "All-reduce bandwidth by message size", "不同消息大小的 all-reduce 带宽",
        ("message size", "消息大小"), ("bandwidth", "带宽"), "bytes", "bytes/s",
    )  # fmt: skip
    report.measure(
        "bandwidth", max(b for _, b in points), "bytes/s", "Best all-reduce bandwidth", "最高 all-reduce 带宽", "higher"
    )
    report.need(all(t["sum_right"] for t in told), "The sum over the processes is wrong.", "各进程求和结果错误。")

    rates, whole = [], {}
    for world in (1, 2):
        report.step("Training with %d process(es)" % world, "正在用 %d 个进程训练" % world, 0.2 + 0.15 * world)
        told = together(report, "train", world, steps=STEPS)
        rates.append((world, told[0]["rows_per_s"]))
        whole[world] = told[0]["losses"]
        report.need(
            all(t["losses"] == told[0]["losses"] for t in told),
            "The processes saw different losses.",
            "各进程得到的损失不同。",
        )
        if world == 2:
            share = told[0]["all_reduce_s"] / told[0]["step_s"]
            report.measure(
                "communication_share", min(share, 1.0), "share",
                "Time of the gradients' all-reduce alone, of one step", "仅梯度 all-reduce 的用时占每步的比例", "lower",
            )  # fmt: skip
    report.series(
        "scaling", rates, "Rows per second by number of processes", "不同进程数的每秒样本数",
        ("processes", "进程数"), ("rows per second", "每秒样本"), "", "samples/s", kind="bar",
    )  # fmt: skip
    efficiency = rates[1][1] / (rates[0][1] * 2)
    report.measure(
        "scaling_efficiency", efficiency, "share", "Scaling efficiency with 2 processes", "2 个进程的扩展效率", "higher"
    )
    split = max(abs(a - b) for a, b in zip(whole[1], whole[2]))
    report.measure(
        "split_difference", split, "", "Loss of 2 processes against 1: largest difference",
        "2 个进程与 1 个进程的损失最大差异", "lower",
    )  # fmt: skip
    report.need(split < 1e-3, "The loss of 2 processes differs by %g." % split, "2 个进程的损失相差 %g。" % split)

    report.step("Killing one worker", "正在杀死一个进程", 0.7)
    path = os.path.join(report.scratch, "checkpoint.npz")
    died = together(report, "train", 2, steps=STEPS, checkpoint=path, die_at=DIE_AT, may_fail=True)
    report.need(died is None, "The killed worker was not noticed.", "没有发现被杀死的进程。")
    report.step("Recovering from the checkpoint", "正在从检查点恢复", 0.85)
    again = together(report, "train", 2, steps=STEPS, checkpoint=path)[0]
    start = again["first_step"]
    report.measure("resumed_at", start, "", "Step at which training went on", "恢复训练的步数")
    axis = (("step", "步"), ("loss", "损失"))
    report.series("loss_unbroken", list(enumerate(whole[2], 1)), "Loss without a break", "未中断的损失", *axis)
    report.series(
        "loss_recovered", [(start + i + 1, v) for i, v in enumerate(again["losses"])], "Loss after recovery",
        "恢复后的损失", *axis,
    )  # fmt: skip
    report.need(start == SAVED_AT, "Training did not go on from the checkpoint.", "训练没有从检查点继续。")
    difference = max(abs(a - b) for a, b in zip(whole[2][start:], again["losses"]))
    report.measure(
        "recovery_difference", difference, "", "Largest difference of the loss after recovery",
        "恢复后损失的最大差异", "lower",
    )  # fmt: skip
    report.need(
        difference < 1e-4, "The loss after recovery differs by %g." % difference, "恢复后的损失相差 %g。" % difference
    )
    report.outcome(
        "2 processes agree with 1 (difference %.1e), scale to %.0f %%, and recover from a killed worker at step %d."
        % (split, efficiency * 100, start),
        "2 个进程与 1 个进程一致（差异 %.1e），扩展效率 %.0f %%，并在进程被杀后从第 %d 步恢复。"
        % (split, efficiency * 100, start),
    )


def together(report, job, world, may_fail=False, **options):
    """Start WORLD copies of this file; what each of them told, or None where one failed and MAY_FAIL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = os.path.join(report.data, "digits.u8.gz")
    words = json.dumps({"job": job, "world": world, "port": port, "data": data, **options})
    workers = [
        subprocess.Popen([sys.executable, "-I", __file__, words, str(rank)], stdout=subprocess.PIPE, text=True)
        for rank in range(world)
    ]
    until = time.monotonic() + 120
    # Where one is gone the others wait for it, so all are watched at once and ended at the first failure.
    while any(w.poll() is None for w in workers):
        if any(w.poll() not in (None, 0) for w in workers) or time.monotonic() > until:
            for worker in workers:
                worker.kill()
        time.sleep(0.05)
    outs = [w.communicate()[0] for w in workers]
    if any(w.returncode != 0 for w in workers):
        if not may_fail:
            raise report.CheckFailed("A worker process failed.", "一个工作进程失败。")
        return None
    return [json.loads(out.strip().splitlines()[-1]) for out in outs]


def work(options, rank):
    import gzip

    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    world = options["world"]
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize("127.0.0.1:%d" % options["port"], num_processes=world, process_id=rank)
    mesh = Mesh(np.array(jax.devices()), ("batch",))
    split, everywhere = NamedSharding(mesh, PartitionSpec("batch")), NamedSharding(mesh, PartitionSpec())
    added = jax.jit(lambda block: block.sum(0), out_shardings=everywhere)

    def all_reduce(size, count):
        """Seconds of one all-reduce of SIZE bytes, and whether the sum is right."""
        block = jax.make_array_from_process_local_data(split, np.full((1, size // 4), rank + 1, np.float32))
        total = np.asarray(added(block).addressable_data(0))
        start = time.perf_counter()
        for _ in range(count):
            added(block).block_until_ready()
        return (time.perf_counter() - start) / count, bool((total == sum(range(1, world + 1))).all())

    if options["job"] == "bandwidth":
        points, right = [], True
        for size in (4096, 65536, 1048576, 10485760, 41943040):
            seconds, fine = all_reduce(size, 20 if size < 2e6 else 5)
            points.append((size, size / seconds))
            right = right and fine
        devices = ", ".join(str(d) for d in jax.devices())
        return {"bandwidth": points, "sum_right": right, "jax": jax.__version__, "devices": devices}

    rows = np.frombuffer(gzip.decompress(pathlib.Path(options["data"]).read_bytes()), np.uint8).reshape(-1, 65)
    x, y = rows[:, 1:].astype(np.float32) / 16, rows[:, 0].astype(np.int32)
    seed = np.random.RandomState(0)
    weights = {
        "a": seed.normal(0, 0.1, (64, 256)).astype(np.float32), "b": np.zeros(256, np.float32),
        "c": seed.normal(0, 0.1, (256, 256)).astype(np.float32), "d": np.zeros(256, np.float32),
        "e": seed.normal(0, 0.1, (256, 10)).astype(np.float32), "f": np.zeros(10, np.float32),
    }  # fmt: skip
    first, path = 0, options.get("checkpoint")
    if path and os.path.exists(path):
        with np.load(path) as saved:
            first = int(saved["step"])
            weights = {name: saved[name] for name in weights}
    weights = {name: jax.make_array_from_process_local_data(everywhere, value) for name, value in weights.items()}

    def loss_of(w, pixels, labels):
        hidden = jax.nn.relu(pixels @ w["a"] + w["b"])
        scores = jax.nn.log_softmax(jax.nn.relu(hidden @ w["c"] + w["d"]) @ w["e"] + w["f"])
        return -jnp.take_along_axis(scores, labels[:, None], 1).mean()

    def learn(w, pixels, labels):
        loss, gradients = jax.value_and_grad(loss_of)(w, pixels, labels)
        return jax.tree.map(lambda value, slope: value - 0.1 * slope, w, gradients), loss

    step_of = jax.jit(learn, out_shardings=(everywhere, everywhere))
    losses, batch, spent = [], 256, []
    for step in range(first, options["steps"]):
        if step == options.get("die_at") and rank == world - 1:
            os.kill(os.getpid(), 9)
        # The global batch is one and the same however many processes share it.
        place = (step * batch) % (len(x) - batch)
        mine = slice(place + rank * batch // world, place + (rank + 1) * batch // world)
        start = time.perf_counter()
        pixels = jax.make_array_from_process_local_data(split, x[mine])
        labels = jax.make_array_from_process_local_data(split, y[mine])
        weights, loss = step_of(weights, pixels, labels)
        losses.append(float(loss))
        spent.append(time.perf_counter() - start)
        if path and rank == 0 and step + 1 == SAVED_AT:
            part = path + ".part.npz"
            np.savez(part, step=step + 1, **{name: np.asarray(value) for name, value in weights.items()})
            os.replace(part, path)
    typical = sorted(spent)[len(spent) // 2]  # the first step compiles
    seconds, _ = all_reduce(sum(value.nbytes for value in weights.values()), 10)
    return {
        "losses": losses, "first_step": first, "rows_per_s": batch / typical, "step_s": typical, "all_reduce_s": seconds,
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(work(json.loads(sys.argv[1]), int(sys.argv[2]))), flush=True)
    os._exit(0)
