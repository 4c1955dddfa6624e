"""Parameters of one model split over two processes (FSDP2), the same result as without splitting."""

import json
import os
import subprocess
import sys
import time

ID = "torch-fsdp"
TITLE = (
    "Sharded training (FSDP2): the same result, less memory each",
    "分片训练（FSDP2）：结果相同，每个进程内存更少",
)
SCENARIO = "distributed-training"
FRAMEWORKS = ("fsdp", "pytorch")
PACKAGES = ("torch", "numpy")
LIMIT_S = 300.0
PLATFORMS = ("linux", "darwin")
PROVES = (
    "FSDP2 splits parameters, gradients and optimizer state over processes here and trains to the same loss as one process.",
    "FSDP2 能在本机把参数、梯度和优化器状态分片到多个进程，训练损失与单进程一致。",
)
LIMITS = (
    "Two CPU processes over gloo; memory and speed on GPUs have to be measured there.",
    "仅为两个 CPU 上的 gloo 进程；GPU 上的内存与速度需另行测量。",
)
NEAREST = "torch-ddp"


def run(report):
    results = {}
    for world in (1, 2):
        report.step("Training with %d process(es)" % world, "正在用 %d 个进程训练" % world, 0.4 * world)
        meeting = os.path.join(report.scratch, "meet-%d" % world)
        workers = [
            subprocess.Popen(
                [sys.executable, "-I", __file__, meeting, str(world), str(rank)], stdout=subprocess.PIPE, text=True
            )
            for rank in range(world)
        ]
        told = []
        for worker in workers:
            out, _ = worker.communicate(timeout=150)
            report.need(worker.returncode == 0, "A worker process failed.", "一个工作进程失败。")
            told.append(json.loads(out.strip().splitlines()[-1]))
        results[world] = told
    one, two = results[1][0], results[2]
    report.fact("torch " + one["torch"], "torch.__version__")
    for world, told in ((1, one), (2, two[0])):
        report.series(
            "loss_%d" % world,
            list(enumerate(told["losses"], 1)),
            "Loss, %d process(es)" % world,
            "%d 个进程的损失" % world,
            ("step", "步"),
            ("loss", "损失"),
        )
    difference = max(abs(a - b) for a, b in zip(one["losses"], two[0]["losses"]))
    share = max(t["local_parameters"] for t in two) / one["local_parameters"]
    report.measure("loss_difference", difference, "", "Largest difference of the loss", "损失的最大差异", "lower")
    report.measure(
        "local_share",
        share,
        "share",
        "Share of the parameters that one process holds",
        "每个进程持有的参数比例",
        "lower",
    )
    report.measure(
        "step_time", two[0]["step_s"], "s", "Time of one step with 2 processes", "2 个进程时每步用时", "lower"
    )
    report.need(
        difference < 1e-3, "The sharded loss differs by %g." % difference, "分片训练的损失相差 %g。" % difference
    )
    report.need(
        share < 0.6,
        "A process holds %.0f %% of the parameters." % (share * 100),
        "单个进程持有 %.0f %% 的参数。" % (share * 100),
    )
    report.need(one["losses"][-1] < one["losses"][0] * 0.7, "The loss did not fall.", "损失没有下降。")
    report.outcome(
        "Each of 2 processes holds %.0f %% of the parameters and the loss is the same (difference %.1e)."
        % (share * 100, difference),
        "2 个进程各持有 %.0f %% 的参数，损失一致（差异 %.1e）。" % (share * 100, difference),
    )


def work(meeting, world, rank):
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + meeting, rank=rank, world_size=world)
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Sequential(nn.Linear(128, 128), nn.Tanh()) for _ in range(4)], nn.Linear(128, 8))
    x, y = torch.randn(64, 128), torch.randint(0, 8, (64,))
    mesh = init_device_mesh("cpu", (world,))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    mine = slice(rank * 64 // world, (rank + 1) * 64 // world)
    losses, start = [], time.perf_counter()
    for _ in range(20):
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(model(x[mine]), y[mine])
        loss.backward()
        optimiser.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(float(mean) / world)
    local = sum(p.to_local().numel() for p in model.parameters())
    return {
        "losses": losses,
        "local_parameters": local,
        "step_s": (time.perf_counter() - start) / 20,
        "torch": torch.__version__,
    }


if __name__ == "__main__":
    print(json.dumps(work(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))), flush=True)
    os._exit(0)
