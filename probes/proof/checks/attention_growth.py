"""Memory and time of attention against sequence length, naive and fused."""

import math
import time

ID = "attention-growth"
TITLE = (
    "Attention: memory and time as the context grows",
    "注意力：内存与时间随上下文增长",
)
SCENARIO = "multimodal-long-context"
FRAMEWORKS = ("pytorch", "flash-attention")
PACKAGES = ("torch", "numpy")
LIMIT_S = 300.0
ORDER = 1
PROVES = (
    "How the memory of attention grows with the length here, written out (naive) and fused (SDPA), and the longest that fits this machine.",
    "注意力内存在本机如何随长度增长：朴素实现与融合实现（SDPA），以及本机可容纳的最大长度。",
)
LIMITS = (
    "One layer of 4 heads; a whole model also holds weights, activations and a cache. GPU kernels differ.",
    "仅为 4 个头的一层；完整模型还有权重、激活与缓存。GPU 内核有所不同。",
)
NEAREST = "torch-quickstart"


def run(report):
    began = time.perf_counter()
    report.step("Loading PyTorch", "正在加载 PyTorch", 0.05)
    import torch
    from torch.nn import functional

    report.imported(began)
    report.version(torch)
    cuda = torch.cuda.is_available()
    device = "cuda" if cuda else "cpu"

    def naive(q, k, v):
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        return torch.softmax(scores, -1) @ v

    def fused(q, k, v):
        return functional.scaled_dot_product_attention(q, k, v)

    def ring(q, k, v, blocks=4):
        """What each member of a ring does: one block of keys at a time, results joined by their log-sum-exp."""
        out, top, total = None, None, None
        for kb, vb in zip(k.chunk(blocks, 2), v.chunk(blocks, 2)):
            scores = q @ kb.transpose(-1, -2) / q.shape[-1] ** 0.5
            most = scores.amax(-1, keepdim=True)
            new = most if top is None else torch.maximum(top, most)
            weights = torch.exp(scores - new)
            if top is None:
                out, total = weights @ vb, weights.sum(-1, keepdim=True)
            else:
                scale = torch.exp(top - new)
                out, total = out * scale + weights @ vb, total * scale + weights.sum(-1, keepdim=True)
            top = new
        return out / total

    def used(work, *blocks):
        if cuda:
            torch.cuda.reset_peak_memory_stats()
            held = torch.cuda.memory_allocated()
            work(*blocks)
            return torch.cuda.max_memory_allocated() - held
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as watched:
            work(*blocks)
        return sum(max(0, event.self_cpu_memory_usage) for event in watched.key_averages())

    lengths = (256, 512, 1024, 2048)
    table = {}
    worst = 0.0
    for place, (name, work) in enumerate((("naive", naive), ("fused", fused), ("blockwise", ring))):
        memory, times = [], []
        for length in lengths:
            report.step(
                "%s attention at length %d" % (name, length),
                "%s 注意力，长度 %d" % (name, length),
                0.1 + 0.25 * place + 0.06 * lengths.index(length),
            )
            torch.manual_seed(length)
            q, k, v = (torch.randn(1, 4, length, 32, device=device) for _ in range(3))
            work(q, k, v)
            memory.append((length, used(work, q, k, v)))
            rest = report.latency(
                lambda work=work, q=q, k=k, v=v: (work(q, k, v), torch.cuda.synchronize() if cuda else None), 1, 5
            )
            times.append((length, rest[2]))
            if work is not naive:
                worst = max(worst, float((work(q, k, v) - naive(q, k, v)).abs().max()))
        table[name] = (memory, times)
    names = {
        "naive": ("naive", "朴素"),
        "fused": ("fused (SDPA)", "融合（SDPA）"),
        "blockwise": ("block by block (ring)", "分块（环形）"),
    }
    for name, (memory, times) in table.items():
        en, zh = names[name]
        report.series(
            "memory_" + name,
            memory,
            "Memory, " + en,
            "内存，" + zh,
            ("length", "长度"),
            ("memory", "内存"),
            "",
            "bytes",
        )
        report.series(
            "time_" + name, times, "Time, " + en, "时间，" + zh, ("length", "长度"), ("time", "时间"), "", "ms"
        )
        power = exponent(memory)
        report.measure(
            "growth_" + name,
            power,
            "",
            "Growth of memory with length, " + en + " (2: square)",
            "内存随长度增长的指数，" + zh + "（2 为平方）",
            "lower",
        )
    square, straight = exponent(table["naive"][0]), exponent(table["fused"][0])
    report.measure("max_difference", worst, "", "Largest difference between the ways", "各实现之间的最大差异", "lower")
    # Predicted: naive bytes grow with the square of the length; measured at twice the longest above.
    free = available_bytes(torch, cuda)
    per_square = table["naive"][0][-1][1] / lengths[-1] ** 2
    predicted = per_square * 4096**2
    report.step("Comparing the prediction at length 4096", "正在核对长度 4096 的预测", 0.9)
    if predicted * 2 < free:
        q, k, v = (torch.randn(1, 4, 4096, 32, device=device) for _ in range(3))
        measured = used(naive, q, k, v)
        report.measure(
            "prediction_ratio",
            measured / predicted,
            "ratio",
            "Measured against predicted memory at 4096",
            "4096 处实测与预测内存之比",
        )
    longest = int((free / per_square) ** 0.5)
    report.measure(
        "longest_naive",
        longest,
        "tokens",
        "Longest naive attention that fits here (predicted)",
        "本机可容纳的最长朴素注意力（预测）",
        "higher",
    )
    report.measure(
        "longest_fused",
        free / max(table["fused"][0][-1][1] / lengths[-1], 1),
        "tokens",
        "Longest fused attention that fits here (predicted)",
        "本机可容纳的最长融合注意力（预测）",
        "higher",
    )
    report.need(
        1.8 < square < 2.2,
        "Naive attention grew with power %.2f, not 2." % square,
        "朴素注意力的增长指数为 %.2f，而非 2。" % square,
    )
    report.need(
        straight < 1.4, "Fused attention grew with power %.2f." % straight, "融合注意力的增长指数为 %.2f。" % straight
    )
    report.need(worst < 1e-4, "The ways differ by %g." % worst, "各实现相差 %g。" % worst)
    saving = table["naive"][0][-1][1] / table["fused"][0][-1][1]
    report.measure(
        "saving", saving, "ratio", "Memory naive against fused at 2048", "长度 2048 时朴素与融合的内存之比", "higher"
    )
    report.outcome(
        "Naive attention grows with power %.2f, fused with %.2f; at 2048 tokens fused needs %.0f times less memory."
        % (square, straight, saving),
        "朴素注意力内存按 %.2f 次方增长，融合为 %.2f 次方；2048 个词元时融合实现的内存少 %.0f 倍。"
        % (square, straight, saving),
    )


def exponent(points):
    """Slope of log(bytes) over log(length), least squares."""
    xs, ys = [math.log(a) for a, _ in points], [math.log(max(b, 1)) for _, b in points]
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sum((x - mx) ** 2 for x in xs)


def available_bytes(torch, cuda):
    if cuda:
        return torch.cuda.mem_get_info()[0]
    try:
        with open("/proc/meminfo") as stream:
            for line in stream:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 4_000_000_000
