"""A check as a folder that runs on another device with plain Python, and the reading of what it brought back."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from knowledge.documents import BadInput
from knowledge.facts import Evidence
from knowledge.plan import Measure, SmokeResult
from knowledge.text import Text
from probes.proof import checks, events

RESULT = "result.jsonl"
RESULT_LIMIT_BYTES = 5_000_000
FACTS = ("system", "release", "machine", "model", "python", "cpus", "memory_bytes")
PROOF = Path(__file__).parent

RUN = '''"""Runs this check on this device and writes what it found to result.jsonl. Needs Python 3.9 or newer.

    python3 run.py
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CHECK = %(check)r
LIMIT_S = %(limit).1f


def device():
    """What this device is; no name of it, of its network or of its user."""
    facts = {"system": platform.system(), "release": platform.release(), "machine": platform.machine(),
             "python": platform.python_version(), "cpus": str(os.cpu_count())}
    try:
        with open("/proc/device-tree/model") as stream:
            facts["model"] = stream.read().strip("\\0\\n ")
    except OSError:
        facts["model"] = platform.processor()
    try:
        facts["memory_bytes"] = str(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        pass
    return facts


def main():
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    with tempfile.TemporaryDirectory() as scratch, open(os.path.join(HERE, "result.jsonl"), "w") as out:
        environment.update(STACKFIT_CHECK=json.dumps({"scratch": scratch}), OMP_NUM_THREADS="1")
        out.write(json.dumps({"event": "device", "check": CHECK, "facts": device(), "time": int(time.time())}) + "\\n")
        out.flush()
        script = os.path.join(HERE, "checks", CHECK.replace("-", "_") + ".py")
        child = subprocess.Popen([sys.executable, os.path.join(HERE, "driver.py"), script], stdout=out, env=environment)
        try:
            code = child.wait(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            child.kill()
            code = "timeout"
        out.write(json.dumps({"event": "end", "code": code}) + "\\n")
    print("done: bring result.jsonl back" if code == 0 else "the check ended with %%s; bring result.jsonl back" %% code)


if __name__ == "__main__":
    main()
'''

README = """# %(en)s · %(zh)s

1. Copy this folder to the device. 把此文件夹复制到目标设备。
2. There, with Python 3.9 or newer: 在设备上用 Python 3.9 或更新版本执行：

       python3 -m pip install -r requirements.txt
       python3 run.py

3. Bring `result.jsonl` back and open it with Stackfit. 把 `result.jsonl` 带回并用 Stackfit 打开。

What it proves: %(proves_en)s
它证明：%(proves_zh)s
"""


def write(check_id: str, out: str | Path) -> Path:
    """The folder OUT with everything that CHECK_ID needs on a device. Raises BadInput, and OSError where writing fails."""
    check = checks.find(check_id)
    folder = Path(out)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(Text(f"{folder}: is not an empty folder; give a new one.", f"{folder}：不是空文件夹；请给出新文件夹。"))
    source = Path(check.path)
    text = source.read_text(encoding="utf-8")
    (folder / "checks").mkdir(parents=True, exist_ok=True)
    (folder / "data").mkdir()
    shutil.copyfile(PROOF / "driver.py", folder / "driver.py")
    shutil.copyfile(source, folder / "checks" / source.name)
    for shared in checks.FOLDER.glob("_[a-z]*.py"):
        if f'shared("{shared.stem[1:]}")' in text or (shared.stem == "_tiny_llama" and "_lora" in text):
            shutil.copyfile(shared, folder / "checks" / shared.name)
    for data in (PROOF / "data").iterdir():
        if data.suffix in (".gz", ".onnx", ".tflite", ".md"):
            shutil.copyfile(data, folder / "data" / data.name)
    needs = check.packages or ("onnxruntime", "numpy")
    (folder / "requirements.txt").write_text("\n".join(needs) + "\n", encoding="utf-8")
    (folder / "run.py").write_text(RUN % {"check": check.id, "limit": check.limit_s * 4}, encoding="utf-8")
    (folder / "README.md").write_text(
        README % {
            "en": check.title.en, "zh": check.title.zh, "proves_en": check.proves.en, "proves_zh": check.proves.zh,
        },
        encoding="utf-8",
    )  # fmt: skip
    return folder


def read(path: str | Path) -> tuple[SmokeResult, str]:
    """The result that a device wrote, and what the device is. It is a stranger's file: everything is checked.

    Raises BadInput naming the file and what is wrong.
    """
    file = Path(path)
    if file.is_dir():
        file = file / RESULT
    try:
        size = file.stat().st_size if file.is_file() else -1
        if size < 0:
            raise BadInput(Text(f"{file}: there is no such result file.", f"{file}：没有这个结果文件。"))
        if size > RESULT_LIMIT_BYTES:
            raise BadInput(Text(
                f"{file}: is {size} bytes; a result is smaller than {RESULT_LIMIT_BYTES}.",
                f"{file}：大小为 {size} 字节；结果文件应小于 {RESULT_LIMIT_BYTES} 字节。",
            ))  # fmt: skip
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise BadInput(Text(
            f"{file}: cannot be read: {error.strerror or error}.",
            f"{file}：无法读取：{error.strerror or error}。",
        )) from None  # fmt: skip
    first = _object(lines[0]) if lines else {}
    if first.get("event") != "device" or not isinstance(first.get("facts"), dict):
        raise BadInput(Text(
            f"{file}: the first line does not describe a device, so this is no result of a check.",
            f"{file}：第一行没有描述设备，因此不是检查结果。",
        ))  # fmt: skip
    check = checks.find(str(first.get("check"))[:60])
    heard = events.Heard()
    for line in lines[1:]:
        heard.line(line)
    facts = {k: "".join(c for c in str(v)[:120] if c.isprintable()) for k, v in first["facts"].items() if k in FACTS}
    evidence = [Evidence(fact=f"{name}: {value}", source="the device itself") for name, value in sorted(facts.items())]
    code = _object(lines[-1]).get("code") if lines else None
    if heard.result is not None:
        outcome, because = heard.result.outcome, heard.result.text
    elif code == "timeout":
        outcome, because = "timed_out", Text("It reached its time limit on the device.", "在设备上达到时间限制。")  # type: ignore[assignment]
    else:
        outcome, because = "failed", Text("It ended on the device without a result.", "在设备上结束时没有结果。")
    device = " ".join(w for w in (facts.get("model"), facts.get("machine"), facts.get("system")) if w)
    measures: tuple[Measure, ...] = tuple(heard.measures.values())
    result = SmokeResult(
        check=check.id, outcome=outcome, because=because, measures=measures, series=tuple(heard.series.values()),
        proves=check.proves, limits=check.limits, python=facts.get("python"), evidence=(*evidence, *heard.facts),
    )  # fmt: skip
    return result, device or "unknown device"


def _object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
