"""How numbers, states and codes are said in words, in both languages."""

from __future__ import annotations

from knowledge.text import Text, plain

UNKNOWN = Text("not known", "未知")

FIT = {
    "ready": Text("Ready", "可直接使用"),
    "after_changes": Text("Works after changes", "调整后可用"),
    "undetermined": Text("Cannot be decided yet", "暂无法判断"),
    "unsuitable": Text("Does not fit", "不适合"),
}
OUTCOME = {
    "met": Text("met", "满足"),
    "unmet": Text("not met", "不满足"),
    "unknown": Text("not known", "未知"),
    "not_applicable": Text("does not apply", "不适用"),
}
SEVERITY = {
    "error": Text("Problem", "问题"),
    "warning": Text("Warning", "警告"),
    "info": Text("Note", "提示"),
}
MEMORY_VERDICT = {
    "fits": Text("fits", "放得下"),
    "tight": Text("tight", "勉强放得下"),
    "exceeds": Text("does not fit", "放不下"),
    "unknown": Text("not known", "未知"),
}
SMOKE_OUTCOME = {
    "passed": Text("Passed", "通过"),
    "failed": Text("Failed", "未通过"),
    "cancelled": Text("Cancelled", "已取消"),
    "timed_out": Text("Took too long", "超时"),
    "crashed": Text("Crashed", "崩溃"),
    "out_of_memory": Text("Ran out of memory", "内存不足"),
    "cannot_run": Text("Cannot run here", "本机无法运行"),
    "not_built": Text("Could not be installed", "未能安装"),
}
RESOLVE_OUTCOME = {
    "verified": Text("Verified here", "已在本机核实"),
    "refused": Text("Refused", "无法安装"),
    "not_asked": Text("Not verified", "未核实"),
}
STATE = {
    "usable": Text("usable", "可用"),
    "no_driver": Text("no driver", "缺少驱动"),
    "module_missing": Text("kernel module not loaded", "内核模块未加载"),
    "driver_mismatch": Text("driver and library differ", "驱动与库版本不一致"),
    "permission_denied": Text("no permission", "没有访问权限"),
    "hidden": Text("hidden", "被隐藏"),
    "disabled": Text("disabled", "已停用"),
    "unlicensed": Text("not licensed", "未授权"),
    "unknown": Text("state not known", "状态未知"),
}
ROLE = {
    "core": Text("Core framework", "核心框架"),
    "high-level": Text("High-level library", "高层库"),
    "finetuning": Text("Fine-tuning", "微调"),
    "distribution": Text("Distribution", "分布式"),
    "kernels": Text("Kernels", "算子与内核"),
    "export": Text("Export", "导出"),
    "runtime": Text("Runtime", "推理运行时"),
    "server": Text("Server", "推理服务"),
    "tracking": Text("Tracking", "实验跟踪"),
    "scheduler": Text("Scheduler", "调度"),
    "quantisation": Text("Quantisation", "量化"),
    "rl": Text("Reinforcement learning", "强化学习"),
}


def size(value: int | float | None) -> Text:
    """Bytes as GiB, MiB or KiB (1 GiB = 2^30 bytes)."""
    if value is None:
        return UNKNOWN
    for unit, step in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(value) >= step:
            number = value / step
            return plain(f"{number:.0f} {unit}" if number >= 100 else f"{number:.1f} {unit}".replace(".0 ", " "))
    return plain(f"{value:.0f} B")


def duration(value_s: float | None) -> Text:
    """Seconds as the unit a person would use."""
    if value_s is None:
        return UNKNOWN
    if value_s < 0.001:
        return plain(f"{value_s * 1e6:.0f} µs")
    if value_s < 1:
        return plain(f"{value_s * 1e3:.3g} ms")
    if value_s < 120:
        return plain(f"{value_s:.3g} s")
    minutes, seconds = divmod(round(value_s), 60)
    if minutes < 120:
        return Text(f"{minutes} min {seconds} s", f"{minutes} 分 {seconds} 秒")
    return Text(f"{minutes // 60} h {minutes % 60} min", f"{minutes // 60} 小时 {minutes % 60} 分")


def number(value: float | None, unit: str = "") -> Text:
    """A measured value with three significant digits and its unit."""
    if value is None:
        return UNKNOWN
    if unit == "bytes":
        return size(value)
    if unit == "s":
        return duration(value)
    if unit == "ratio":
        return plain(f"{value:.3g} ×")
    if unit == "%":
        return plain(f"{value:.3g} %")
    shown = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return plain(f"{shown} {unit}".strip())


def parameters(value: int | None) -> Text:
    """A parameter count: 7 B, 350 M."""
    if value is None:
        return UNKNOWN
    for unit, step in (("T", 10**12), ("B", 10**9), ("M", 10**6), ("K", 10**3)):
        if value >= step:
            return plain(f"{value / step:.3g} {unit}")
    return plain(value)


def or_unknown(value: object) -> Text:
    return UNKNOWN if value is None else plain(value)
