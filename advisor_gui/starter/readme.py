"""The README of a starter project: what it is, how to install and run it, what each file is."""

from __future__ import annotations

from advisor_gui.report.markdown_text import fenced, plain
from advisor_gui.starter import families
from knowledge.answers import Answers
from knowledge.text import Text
from knowledge.verdicts import Assessment

WHAT = {
    "train.py": Text("trains; `--tiny` runs to the end in seconds on any computer", "训练脚本；`--tiny` 可在任何电脑上几秒内跑完"),
    "export.py": Text("exports to ONNX and compares both", "导出为 ONNX 并比较两者"),
    "serve.py": Text("starts the server", "启动服务"),
    "config.json": Text("your answers and the memory plan; scripts read it", "您的回答与内存方案，供脚本读取"),
    "requirements.txt": Text("exact pins of the stack", "技术栈的精确版本"),
    "requirements.lock.txt": Text("the whole lock with hashes", "含哈希的完整锁定文件"),
    "tests/test_starter.py": Text("runs the tiny configuration", "运行最小配置的测试"),
    "Dockerfile": Text("the same stack in an image", "同一技术栈的镜像"),
    "accelerate.yaml": Text("for `accelerate launch`", "供 `accelerate launch` 使用"),
    "deepspeed.json": Text("ZeRO stage from the memory plan", "按内存方案设定的 ZeRO 阶段"),
    "job.slurm": Text("submit with `sbatch job.slurm`", "用 `sbatch job.slurm` 提交"),
}


def text(
    project: str, family: families.Family, chosen: Assessment, answers: Answers, names: tuple[str, ...], language: str
) -> str:
    def say(en: str, zh: str) -> str:
        return zh if language == "zh" else en

    parts = " + ".join(" ".join(w for w in (c.framework, c.version) if w) for c in chosen.stack.components)
    client = answers.tools.packages or "pip"
    commands = chosen.install.commands if chosen.install is not None else {}
    shells = commands.get(client) or next(iter(commands.values()), {})
    shell = answers.tools.shell if answers.tools.shell in shells else next(iter(shells), None)
    lines = list(shells.get(shell or "", ()))
    out = [f"# {plain(project)}", "", plain(parts or chosen.framework), ""]
    out += [f"## {say('Install', '安装')}", "", *fenced((*lines, "python -m pip install -r requirements.txt"))]
    scripts = [n for n in names if n.endswith(".py") and "/" not in n]
    if scripts:
        first = "train.py" if "train.py" in scripts else scripts[0]
        out += [f"## {say('Run', '运行')}", ""]
        run = (f"python {first} --tiny", f"python {first}", *(f"python {s} --tiny" for s in scripts if s != first), "python -m pytest")
        out += fenced(run)
    out += [f"## {say('Files', '文件')}", ""]
    for name in names:
        what = WHAT.get(name)
        out.append(f"- `{name}`" + (f" – {what.said(language)}" if what is not None else ""))
    out += ["", say("Versions were chosen by Stackfit for the machine that was assessed.", "版本由 Stackfit 针对所评估的电脑选定。"), ""]
    return "\n".join(out)
