"""DeepSpeed ZeRO stages 1 to 3 on two processes: the same loss, less state each."""

import json
import os
import subprocess
import sys
import time

ID = "deepspeed-zero"
TITLE = (
    "DeepSpeed ZeRO 1, 2, 3 on two processes",
    "DeepSpeed ZeRO 1、2、3（两个进程）",
)
SCENARIO = "distributed-training"
FRAMEWORKS = ("deepspeed", "pytorch")
PACKAGES = ("torch", "numpy", "deepspeed>=0.19", "setuptools")
LIMIT_S = 600.0
PLATFORMS = ("linux",)
NEEDS = ("compiler",)
ON_REQUEST = True
PROVES = (
    "DeepSpeed builds its operators here and trains with ZeRO 1, 2 and 3 to the same loss.",
    "DeepSpeed 能在本机构建算子，并以 ZeRO 1、2、3 训练到相同的损失。",
)
LIMITS = (
    "Two CPU processes; the first run compiles C++ for some minutes.",
    "仅两个 CPU 进程；首次运行需编译 C++ 数分钟。",
)
NEAREST = "torch-fsdp"


def run(report):
    losses = {}
    for stage in (1, 2, 3):
        report.step(
            "ZeRO stage %d (the first one compiles)" % stage,
            "ZeRO 第 %d 阶段（首次需要编译）" % stage,
            0.1 + 0.3 * (stage - 1),
        )
        meeting = os.path.join(report.scratch, "meet-%d" % stage)
        start = time.perf_counter()
        workers = [
            subprocess.Popen(
                [sys.executable, "-I", __file__, meeting, str(stage), str(rank)], stdout=subprocess.PIPE, text=True
            )
            for rank in range(2)
        ]
        told = []
        for worker in workers:
            out, _ = worker.communicate(timeout=450)
            report.need(
                worker.returncode == 0,
                "A worker process failed (ZeRO %d)." % stage,
                "一个工作进程失败（ZeRO %d）。" % stage,
            )
            told.append(json.loads([line for line in out.splitlines() if line.startswith("{")][-1]))
        losses[stage] = told[0]["losses"]
        report.series(
            "loss_%d" % stage,
            list(enumerate(losses[stage], 1)),
            "Loss, ZeRO %d" % stage,
            "损失（ZeRO %d）" % stage,
            ("step", "步"),
            ("loss", "损失"),
        )
        report.measure(
            "seconds_%d" % stage,
            time.perf_counter() - start,
            "s",
            "ZeRO %d, from start to end" % stage,
            "ZeRO %d 总用时" % stage,
            "lower",
        )
    report.fact("deepspeed " + told[0]["version"], "deepspeed.__version__")
    worst = max(abs(a - b) for s in (2, 3) for a, b in zip(losses[1], losses[s]))
    report.measure(
        "stage_difference", worst, "", "Largest difference of the loss between stages", "各阶段损失的最大差异", "lower"
    )
    report.need(losses[1][-1] < losses[1][0], "The loss did not fall.", "损失没有下降。")
    report.need(worst < 0.05, "The stages differ by %g." % worst, "各阶段相差 %g。" % worst)
    report.outcome(
        "All three stages train to the same loss (difference %.1e)." % worst,
        "三个阶段训练到相同的损失（差异 %.1e）。" % worst,
    )


def work(meeting, stage, rank):
    os.environ.update(DS_ACCELERATOR="cpu", RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE="2")
    import deepspeed
    import torch
    import torch.distributed as dist
    from torch import nn

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + meeting, rank=rank, world_size=2)
    deepspeed.init_distributed(dist_backend="gloo", auto_mpi_discovery=False)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 8))
    x, y = torch.randn(32, 64), torch.randint(0, 8, (32,))
    settings = {
        "train_micro_batch_size_per_gpu": 16, "bf16": {"enabled": True}, "zero_allow_untested_optimizer": True,
        "zero_optimization": {"stage": stage},
    }  # fmt: skip
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimiser, config=settings, dist_init_required=False)
    mine = slice(rank * 16, rank * 16 + 16)
    losses = []
    for _ in range(10):
        loss = nn.functional.cross_entropy(engine(x[mine].bfloat16()).float(), y[mine])
        engine.backward(loss)
        engine.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(float(mean) / 2)
    return {"losses": losses, "version": deepspeed.__version__}


if __name__ == "__main__":
    told = json.dumps(work(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
    print("\n" + told, flush=True)
    os._exit(0)
