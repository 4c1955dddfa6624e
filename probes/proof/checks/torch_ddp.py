"""Several processes train one model in PyTorch; one of them is killed and the training goes on from its checkpoint."""

import json
import os
import pathlib
import subprocess
import sys
import time

ID = "torch-ddp"
TITLE = (
    "Data parallel (DDP): bandwidth, scaling, a killed worker",
    "数据并行（DDP）：带宽、扩展效率与进程被杀后的恢复",
)
SCENARIO = "distributed-training"
FRAMEWORKS = ("ddp", "pytorch")
PACKAGES = ("torch", "numpy")
LIMIT_S = 400.0
ORDER = 1
PLATFORMS = ("linux", "darwin")
PROVES = (
    "Several processes on this machine exchange gradients and stay equal; after one is killed, training continues from the checkpoint with the loss where it was.",
    "本机多个进程能交换梯度并保持一致；其中一个被杀后，训练能从检查点继续，损失与之前衔接。",
)
LIMITS = (
    "Processes on one machine over gloo; network, NCCL and many nodes have to be measured on the cluster.",
    "仅为单机上的 gloo 进程；网络、NCCL 与多节点需要在集群上测量。",
)
NEAREST = "torch-quickstart"


def run(report):
    report.step("Measuring all-reduce between 2 processes", "正在测量 2 个进程间的 all-reduce", 0.05)
    told = together(report, "bandwidth", 2)
    points = told[0]["bandwidth"]
    report.fact("torch " + told[0]["torch"], "torch.__version__")
    report.series(
        "bandwidth", points, "All-reduce bandwidth by message size", "不同消息大小的 all-reduce 带宽",
        ("message size", "消息大小"), ("bandwidth", "带宽"), "bytes", "bytes/s",
    )  # fmt: skip
    report.measure(
        "bandwidth", max(b for _, b in points), "bytes/s", "Best all-reduce bandwidth", "最高 all-reduce 带宽", "higher"
    )
    report.need(all(t["sum_right"] for t in told), "The sum over the processes is wrong.", "各进程求和结果错误。")

    rates = []
    for world in (1, 2):
        report.step("Training with %d process(es)" % world, "正在用 %d 个进程训练" % world, 0.3 + 0.1 * world)
        told = together(report, "train", world, steps=30)
        rates.append((world, sum(t["rows_per_s"] for t in told)))
        digests = {t["digest"] for t in told}
        report.need(len(digests) == 1, "The processes ended with different weights.", "各进程最终权重不同。")
        if world == 2:
            share = max(t["communication_share"] for t in told)
            report.measure(
                "communication_share", share, "share", "Share of time in communication", "通信时间占比", "lower"
            )
    report.series(
        "scaling",
        rates,
        "Rows per second by number of processes",
        "不同进程数的每秒样本数",
        ("processes", "进程数"),
        ("rows per second", "每秒样本"),
        "",
        "samples/s",
        kind="bar",
    )
    efficiency = rates[1][1] / (rates[0][1] * 2)
    report.measure(
        "scaling_efficiency", efficiency, "share", "Scaling efficiency with 2 processes", "2 个进程的扩展效率", "higher"
    )

    report.step("Killing one worker", "正在杀死一个进程", 0.7)
    path = os.path.join(report.scratch, "checkpoint.pt")
    whole = together(report, "train", 2, steps=24)
    died = together(report, "train", 2, steps=24, checkpoint=path, die_at=15, may_fail=True)
    report.need(died is None, "The killed worker was not noticed.", "没有发现被杀死的进程。")
    report.step("Recovering from the checkpoint", "正在从检查点恢复", 0.85)
    again = together(report, "train", 2, steps=24, checkpoint=path)
    start = again[0]["first_step"]
    report.measure("resumed_at", start, "", "Step at which training went on", "恢复训练的步数")
    a, b = whole[0]["losses"], again[0]["losses"]
    report.series(
        "loss_unbroken", list(enumerate(a, 1)), "Loss without a break", "未中断的损失", ("step", "步"), ("loss", "损失")
    )
    report.series(
        "loss_recovered",
        [(start + i + 1, v) for i, v in enumerate(b)],
        "Loss after recovery",
        "恢复后的损失",
        ("step", "步"),
        ("loss", "损失"),
    )
    report.need(start == 10, "Training did not go on from the checkpoint.", "训练没有从检查点继续。")
    difference = max(abs(u - v) for u, v in zip(a[start:], b))
    report.measure(
        "recovery_difference",
        difference,
        "",
        "Largest difference of the loss after recovery",
        "恢复后损失的最大差异",
        "lower",
    )
    report.need(
        difference < 1e-4, "The loss after recovery differs by %g." % difference, "恢复后的损失相差 %g。" % difference
    )
    report.outcome(
        "2 processes stay equal, scale to %.0f %%, and recover from a killed worker at step %d."
        % (efficiency * 100, start),
        "2 个进程保持一致，扩展效率 %.0f %%，并在进程被杀后从第 %d 步恢复。" % (efficiency * 100, start),
    )


def together(report, job, world, may_fail=False, **options):
    """Start WORLD copies of this file; what each of them told, or None where one failed and MAY_FAIL."""
    meeting = os.path.join(report.scratch, "meet-%d" % time.monotonic_ns())
    data = os.path.join(report.data, "digits.u8.gz")
    words = json.dumps({"job": job, "world": world, "meeting": meeting, "data": data, **options})
    workers = [
        subprocess.Popen([sys.executable, "-I", __file__, words, str(rank)], stdout=subprocess.PIPE, text=True)
        for rank in range(world)
    ]
    told, failed = [], False
    for worker in workers:
        out, _ = worker.communicate(timeout=120)
        if worker.returncode != 0:
            failed = True
            for other in workers:
                other.kill()
        else:
            told.append(json.loads(out.strip().splitlines()[-1]))
    if failed:
        if not may_fail:
            raise report.CheckFailed("A worker process failed.", "一个工作进程失败。")
        return None
    return told


def work(options, rank):
    import datetime
    import gzip
    import hashlib

    import numpy as np
    import torch
    import torch.distributed as dist
    from torch import nn

    world = options["world"]
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method="file://" + options["meeting"], rank=rank, world_size=world,
        timeout=datetime.timedelta(seconds=20),
    )  # fmt: skip
    if options["job"] == "bandwidth":
        points, right = [], True
        for size in (4096, 65536, 1048576, 10485760, 41943040):
            block = torch.full((size // 4,), float(rank + 1))
            dist.all_reduce(block)
            right = right and bool(torch.all(block == sum(range(1, world + 1))))
            count = 20 if size < 2e6 else 5
            dist.barrier()
            start = time.perf_counter()
            for _ in range(count):
                dist.all_reduce(block)
            points.append((size, size * count / (time.perf_counter() - start)))
        return {"bandwidth": points, "sum_right": right, "torch": torch.__version__}

    torch.manual_seed(0)
    rows = np.frombuffer(gzip.decompress(pathlib.Path(options["data"]).read_bytes()), np.uint8).reshape(-1, 65).copy()
    x, y = torch.from_numpy(rows[:, 1:]).float() / 16, torch.from_numpy(rows[:, 0]).long()
    inner = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    optimiser = torch.optim.SGD(inner.parameters(), lr=0.05, momentum=0.9)
    first, path = 0, options.get("checkpoint")
    if path and os.path.exists(path):
        saved = torch.load(path, weights_only=True)
        inner.load_state_dict(saved["model"])
        optimiser.load_state_dict(saved["optimiser"])
        first = saved["step"]
    model = nn.parallel.DistributedDataParallel(inner)
    spent = [0.0]

    def hook(state, bucket):
        began = time.perf_counter()
        dist.all_reduce(bucket.buffer())
        spent[0] += time.perf_counter() - began
        future = torch.futures.Future()
        future.set_result(bucket.buffer() / world)
        return future

    model.register_comm_hook(None, hook)
    losses, batch = [], 128
    start = time.perf_counter()
    for step in range(first, options["steps"]):
        if step == options.get("die_at") and rank == 1:
            os.kill(os.getpid(), 9)
        # The global batch is one and the same however many processes share it.
        place = (step * batch) % (len(x) - batch)
        mine = slice(place + rank * batch // world, place + (rank + 1) * batch // world)
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(model(x[mine]), y[mine])
        loss.backward()
        optimiser.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(float(mean) / world)
        if path and rank == 0 and step + 1 == 10:
            part = path + ".part"
            torch.save({"model": inner.state_dict(), "optimiser": optimiser.state_dict(), "step": step + 1}, part)
            os.replace(part, path)
    seconds = time.perf_counter() - start
    flat = torch.cat([p.detach().flatten() for p in inner.parameters()])
    return {
        "losses": losses, "first_step": first, "digest": hashlib.sha256(flat.numpy().tobytes()).hexdigest(),
        "rows_per_s": len(losses) * batch / world / seconds, "communication_share": spent[0] / seconds,
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(work(json.loads(sys.argv[1]), int(sys.argv[2]))), flush=True)
    os._exit(0)
