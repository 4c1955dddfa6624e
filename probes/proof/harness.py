"""Run one check file in a Python environment as a limited child and turn whatever happens into a SmokeResult."""

from __future__ import annotations

import collections
import datetime
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from knowledge.facts import Evidence, Finding
from knowledge.plan import Measure, SmokeResult
from knowledge.text import Text
from probes.progress import Progress
from probes.proof import events, family, machine_state, uv
from probes.proof.checks import Check

DRIVER = Path(__file__).with_name("driver.py")
Outcome = Literal["passed", "failed", "cancelled", "timed_out", "crashed", "out_of_memory", "cannot_run", "not_built"]
LOG_LINES = 200
LINE_CHARACTERS = 2000

# Variables that a plan may set in a check's process: what frameworks read, never what loaders, shells or pip read.
PLAN_VARIABLES = (
    "CUDA_", "NVIDIA_", "NCCL_", "HIP_", "HSA_", "ROCR_", "ROCM_", "ZE_", "SYCL_", "ONEAPI_", "ASCEND_", "XLA_", "TF_",
    "JAX_", "KERAS_", "TORCH_", "PYTORCH_", "OMP_", "MKL_", "KMP_", "GLOO_", "VLLM_", "HF_", "TRANSFORMERS_", "WANDB_",
    "MLFLOW_", "RAY_", "DS_", "ACCELERATE_", "TOKENIZERS_", "OPENBLAS_", "MIOPEN_", "XDNA_", "SGLANG_", "TRITON_",
)  # fmt: skip
# Never from a plan, whatever they begin with: these name programs or libraries to load.
REFUSED_VARIABLES = ("CUDA_INJECTION64_PATH", "TRITON_PTXAS_PATH", "TF_PLUGGABLE_DEVICE_LIBRARY_PATH", "HF_ENDPOINT")
# Which devices this user lets programs see; passed on, for a check without them would test another machine.
DEVICE_VARIABLES = (
    "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
    "ASCEND_RT_VISIBLE_DEVICES", "ZE_AFFINITY_MASK", "LD_LIBRARY_PATH", "HSA_OVERRIDE_GFX_VERSION",
)  # fmt: skip
QUIET = {
    "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "WANDB_MODE": "offline",
    "WANDB_SILENT": "true", "RAY_USAGE_STATS_ENABLED": "0", "DO_NOT_TRACK": "1", "TOKENIZERS_PARALLELISM": "false",
    "TF_CPP_MIN_LOG_LEVEL": "2", "HF_HUB_DISABLE_TELEMETRY": "1", "PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8",
    "LC_ALL": "C.UTF-8", "LANG": "C.UTF-8", "MPLBACKEND": "Agg", "TERM": "dumb", "NO_COLOR": "1",
}  # fmt: skip


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a check may use. `memory_bytes` counts all its processes together (Linux)."""

    time_s: float
    memory_bytes: int | None = None
    threads: int | None = None


def allowed(variables: Mapping[str, str]) -> dict[str, str]:
    """Those of a plan's VARIABLES that may be set in a check's process."""
    return {
        name: value
        for name, value in variables.items()
        if name.startswith(PLAN_VARIABLES) and name not in REFUSED_VARIABLES and "\0" not in value
    }


def child_environment(
    python_path: str, scratch: str, limits: Limits, variables: Mapping[str, str], caches: str | None = None
) -> dict[str, str]:
    """A scrubbed environment: no PYTHON* variable, another home folder, the environment's programs first."""
    base = uv.inherited()
    kept = {name: os.environ[name] for name in DEVICE_VARIABLES if os.environ.get(name)}
    values = {**base, **QUIET, **kept}
    values["PATH"] = os.pathsep.join([str(Path(python_path).parent), base["PATH"]])
    # A path that multiprocessing's sockets can use: at most about 100 characters.
    values |= {"HOME": scratch, "USERPROFILE": scratch, "TMPDIR": scratch, "TEMP": scratch, "TMP": scratch}
    values |= {"XDG_CACHE_HOME": str(Path(scratch) / "cache"), "XDG_CONFIG_HOME": str(Path(scratch) / "config")}
    if caches is not None:
        # Compiled operators cost minutes once; they stay beside the environment that they were compiled for.
        values |= {"TORCH_EXTENSIONS_DIR": str(Path(caches) / "torch_extensions")}
        values |= {"TORCHINDUCTOR_CACHE_DIR": str(Path(caches) / "inductor")}
    if limits.threads is not None:
        for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
            values[name] = str(limits.threads)
    return {**values, **allowed(variables)}


def run_check(
    check: Check,
    python_path: str,
    *,
    progress: Progress | None = None,
    limits: Limits | None = None,
    variables: Mapping[str, str] | None = None,
    isolated: bool = True,
    caches: str | None = None,
    prefix: Sequence[str] = (),
    settings: Mapping[str, object] | None = None,
) -> SmokeResult:
    """Run CHECK with the Python at PYTHON_PATH. Never raises for what the check does: that is the result.

    ISOLATED: `-I`, for environments of our own; without it packages of the user's site folder count too, as they
    do when the user starts that Python. PREFIX: a packaged program's arguments before the script.
    """
    progress = progress or Progress()
    limits = limits or Limits(time_s=check.limit_s, memory_bytes=check.memory_bytes)
    heard = events.Heard()
    log: collections.deque[str] = collections.deque(maxlen=LOG_LINES)

    def on_stdout(line: str) -> None:
        step = heard.line(line)
        if step is not None:
            progress.step(step.text, step.share)

    def on_stderr(line: str) -> None:
        clean = "".join(c if c.isprintable() or c == "\t" else "·" for c in line[:LINE_CHARACTERS]).rstrip()
        if clean and not clean.startswith("USDT:"):
            log.append(clean)
            progress.log(clean)

    try:
        family.sweep()
        scratch = tempfile.mkdtemp(prefix=family.scratch_prefix())
    except OSError as error:
        return _no_folder(check, error)
    throttles = machine_state.throttle_events()
    before = machine_state.now()
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    began = time.perf_counter()
    try:
        environment = child_environment(
            python_path, scratch, limits, {**check.environment, **(variables or {})}, caches
        )
        names = [re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0] for requirement in check.packages]
        environment["STACKFIT_CHECK"] = json.dumps({"scratch": scratch, "packages": names, **(settings or {})})
        flags = list(prefix) if prefix else (["-I"] if isolated else ["-s"] if _no_user_site(python_path) else [])
        ran = family.run(
            [python_path, *flags, str(DRIVER), check.path], python=python_path,
            limit_s=limits.time_s, environment=environment, folder=scratch, memory_limit_bytes=limits.memory_bytes,
            cancelled=progress.cancelled, on_stdout=on_stdout, on_stderr=on_stderr, keep_bytes=1_000_000,
        )  # fmt: skip
    except OSError as error:
        return _no_folder(check, error)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    run_s = time.perf_counter() - began
    outcome, because = judge(ran, heard, limits)
    measures = list(heard.measures.values())
    if ran.peak_bytes is not None and "peak_memory" not in heard.measures:
        measures.append(
            Measure(
                id="peak_memory", value=float(ran.peak_bytes), unit="bytes", better="lower",
                label=Text("Most memory used by all processes", "所有进程的内存峰值"),
            )
        )  # fmt: skip
    findings: tuple[Finding, ...] = ()
    if heard.result is not None and heard.result.missing and outcome == "failed":
        findings = (
            Finding(
                code="package.missing", severity="error", subject=heard.result.missing, because=because,
                evidence=(Evidence(fact="import failed", source=python_path),),
            ),
        )  # fmt: skip
    return SmokeResult(
        check=check.id, outcome=outcome, because=because, measures=tuple(measures), series=tuple(heard.series.values()),
        proves=check.proves, limits=check.limits, python=heard.python,
        pins=tuple(f"{name}=={version}" for name, version in sorted(heard.versions.items())),
        started=started, run_s=run_s, before=before,
        after=machine_state.now(throttle_events_before=throttles), log_tail=tuple(log), evidence=tuple(heard.facts),
        findings=findings,
    )  # fmt: skip


def _no_folder(check: Check, error: OSError) -> SmokeResult:
    why = error.strerror or str(error)
    said = Text(f"No folder to work in: {why}.", f"没有可用的工作文件夹：{why}。")
    return SmokeResult(check=check.id, outcome="failed", because=said, proves=check.proves, limits=check.limits)


def _no_user_site(python_path: str) -> bool:
    """Whether PYTHON_PATH belongs to a virtual environment, which has no user site folder."""
    return (Path(python_path).parent.parent / "pyvenv.cfg").is_file()


def judge(ran: family.Ran, heard: events.Heard, limits: Limits) -> tuple[Outcome, Text]:
    """The outcome and its sentence, from how the child ended and what it said."""
    done = ran.done
    if done.ended == "cancelled":
        return "cancelled", Text("Cancelled; nothing of it is left running.", "已取消；没有遗留任何进程。")
    if ran.memory_limited:
        size = f"{(limits.memory_bytes or 0) / 1e9:.1f} GB"
        return "out_of_memory", Text(
            f"Stopped because it used more than the {size} that it was given.", f"内存用量超过允许的 {size}，已停止。"
        )
    if done.ended == "timed_out":
        return "timed_out", Text(
            f"Stopped after {limits.time_s:.0f} s, its time limit.", f"达到 {limits.time_s:.0f} 秒的时间限制，已停止。"
        )
    if done.ended == "not_started":
        return "failed", Text(
            f"The Python of the environment could not be started: {done.reason}.",
            f"无法启动该环境的 Python：{done.reason}。",
        )
    result = heard.result
    if result is not None and (done.rc == 0 or result.outcome != "passed"):
        return result.outcome, result.text
    if ran.oom_killed:
        return "out_of_memory", Text(
            "The operating system ended it because memory ran out.", "内存耗尽，操作系统终止了该进程。"
        )
    name = done.signal or (f"SIG{done.rc - 128}" if done.rc is not None and done.rc > 128 else None)
    if name is not None:
        return "crashed", Text(
            f"It crashed: ended by {name}{_meaning(name)[0]}.", f"进程崩溃：被 {name} 终止{_meaning(name)[1]}。"
        )
    if result is not None:
        return "crashed", Text(
            f"It said that it passed and then ended with exit code {done.rc}.",
            f"它报告通过，随后却以退出码 {done.rc} 结束。",
        )
    if done.rc == 0:
        return "failed", Text("It ended without saying a result.", "它结束时没有给出任何结果。")
    last = done.stderr.strip().splitlines()[-1][:200] if done.stderr.strip() else "no message"
    return "failed", Text(f"It ended with exit code {done.rc}: {last}", f"以退出码 {done.rc} 结束：{last}")


def _meaning(name: str) -> tuple[str, str]:
    return {
        "SIGSEGV": (" (it touched memory that is not its own)", "（访问了不属于它的内存）"),
        "SIGILL": (
            " (an instruction that this processor does not have: the build is for a newer one)",
            "（遇到本机处理器不支持的指令：该构建面向更新的处理器）",
        ),
        "SIGABRT": (" (it gave up by itself)", "（程序自行中止）"),
        "SIGKILL": (" (from outside: another program or the system)", "（来自外部：其他程序或操作系统）"),
        "SIGBUS": (" (shared memory or a mapped file ran out)", "（共享内存或映射文件不足）"),
        "SIGFPE": (" (an arithmetic fault)", "（算术错误）"),
    }.get(name, ("", ""))
