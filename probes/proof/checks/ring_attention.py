"""One long sequence split over several processes that pass keys and values around a ring."""

import json
import os
import subprocess
import sys
import time

ID = "ring-attention"
TITLE = (
    "Ring attention: one sequence over several processes",
    "环形注意力：一个序列分布在多个进程",
)
SCENARIO = "multimodal-long-context"
FRAMEWORKS = ("ring-attention", "pytorch")
PACKAGES = ("torch", "numpy")
LIMIT_S = 300.0
PLATFORMS = ("linux", "darwin")
PROVES = (
    "Several processes compute exact attention over one sequence here, each holding only its part of it.",
    "多个进程能在本机对同一序列计算精确注意力，每个进程只持有其中一部分。",
)
LIMITS = (
    "Two and four CPU processes over gloo; overlap of transfer and compute on GPUs is another question.",
    "仅为两个和四个 CPU 上的 gloo 进程；GPU 上通信与计算的重叠是另一回事。",
)
NEAREST = "attention-growth"


def run(report):
    shares, times, worst = [], [], 0.0
    for world in (1, 2, 4):
        report.step("%d process(es) on one ring" % world, "%d 个进程组成环" % world, 0.1 + 0.2 * world)
        meeting = os.path.join(report.scratch, "meet-%d" % world)
        workers = [
            subprocess.Popen(
                [sys.executable, "-I", __file__, meeting, str(world), str(rank)], stdout=subprocess.PIPE, text=True
            )
            for rank in range(world)
        ]
        told = []
        for worker in workers:
            out, _ = worker.communicate(timeout=120)
            report.need(worker.returncode == 0, "A worker process failed.", "一个工作进程失败。")
            told.append(json.loads(out.strip().splitlines()[-1]))
        worst = max(worst, max(t["difference"] for t in told))
        shares.append((world, max(t["score_bytes"] for t in told)))
        times.append((world, max(t["seconds"] for t in told)))
    report.fact("torch " + told[0]["torch"], "torch.__version__")
    report.series(
        "memory",
        shares,
        "Largest block of scores in one process",
        "单个进程中最大的得分块",
        ("processes", "进程数"),
        ("memory", "内存"),
        "",
        "bytes",
        kind="bar",
    )
    report.series(
        "time",
        times,
        "Time of one attention",
        "一次注意力的用时",
        ("processes", "进程数"),
        ("time", "时间"),
        "",
        "s",
        kind="bar",
    )
    saving = shares[0][1] / shares[-1][1]
    report.measure(
        "max_difference", worst, "", "Largest difference from attention in one piece", "与整体计算的最大差异", "lower"
    )
    report.measure(
        "saving",
        saving,
        "ratio",
        "Scores held at once: 1 process against 4",
        "同时持有的得分：1 个进程与 4 个进程之比",
        "higher",
    )
    report.need(worst < 1e-5, "The ring differs by %g." % worst, "环形计算相差 %g。" % worst)
    report.need(saving > 10, "The ring hardly saves memory.", "环形计算几乎没有节省内存。")
    report.outcome(
        "Exact to %.1e; with 4 processes each holds %.0f times less at once." % (worst, saving),
        "精确到 %.1e；4 个进程时每个进程同时持有的量少 %.0f 倍。" % (worst, saving),
    )


def work(meeting, world, rank, length=1024, heads=4, width=32):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + meeting, rank=rank, world_size=world)
    torch.manual_seed(0)
    q, k, v = (torch.randn(heads, length, width) for _ in range(3))
    mine = slice(rank * length // world, (rank + 1) * length // world)
    whole = torch.softmax(q[:, mine] @ k.transpose(-1, -2) / width**0.5, -1) @ v
    part, kb, vb = q[:, mine], k[:, mine].contiguous(), v[:, mine].contiguous()
    most = total = out = None
    score_bytes = 0
    dist.barrier()
    start = time.perf_counter()
    for turn in range(world):
        if turn + 1 < world:
            # The next block travels while this one is used.
            next_k, next_v = torch.empty_like(kb), torch.empty_like(vb)
            right, left = (rank + 1) % world, (rank - 1) % world
            moves = [
                dist.isend(kb, right, tag=1),
                dist.isend(vb, right, tag=2),
                dist.irecv(next_k, left, tag=1),
                dist.irecv(next_v, left, tag=2),
            ]
        scores = part @ kb.transpose(-1, -2) / width**0.5
        score_bytes = max(score_bytes, scores.numel() * 4)
        top = scores.amax(-1, keepdim=True)
        new = top if most is None else torch.maximum(most, top)
        weights = torch.exp(scores - new)
        if most is None:
            out, total = weights @ vb, weights.sum(-1, keepdim=True)
        else:
            scale = torch.exp(most - new)
            out, total = out * scale + weights @ vb, total * scale + weights.sum(-1, keepdim=True)
        most = new
        if turn + 1 < world:
            for move in moves:
                move.wait()
            kb, vb = next_k, next_v
    seconds = time.perf_counter() - start
    difference = float((out / total - whole).abs().max())
    dist.barrier()
    return {"difference": difference, "score_bytes": score_bytes, "seconds": seconds, "torch": torch.__version__}


if __name__ == "__main__":
    print(json.dumps(work(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))), flush=True)
    os._exit(0)
