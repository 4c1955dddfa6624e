"""The README of a starter project: what it is, how to install and run it, what each file is, and what it rests on."""

from __future__ import annotations

from advisor_gui import wording
from advisor_gui.report.markdown_text import fenced, plain
from advisor_gui.starter import families, quoting
from knowledge.answers import Answers
from knowledge.text import Text
from knowledge.verdicts import Assessment

WHAT = {
    "train.py": Text("trains; `--tiny` runs to the end in seconds on any computer", "训练脚本；`--tiny` 可在任何电脑上几秒内跑完"),
    "export.py": Text("exports to ONNX and compares both", "导出为 ONNX 并比较两者"),
    "serve.py": Text("starts the server with the limits of the memory plan", "按内存方案的限制启动服务"),
    "ask.py": Text("asks the running server and times the first token", "向运行中的服务提问并测首个词元延迟"),
    "tracking.py": Text("where a run keeps its numbers", "保存每次运行的指标"),
    "config.json": Text("your answers and the memory plan; scripts read it", "您的回答与内存方案，供脚本读取"),
    "requirements.txt": Text("exact pins of the stack", "技术栈的精确版本"),
    "requirements.lock.txt": Text("every package with its hashes", "含哈希的全部软件包"),
    "pyproject.toml": Text("the same for tools that read it", "供读取此格式的工具使用"),
    "tests/test_starter.py": Text("runs the tiny configuration", "运行最小配置的测试"),
    "Dockerfile": Text("the same stack in an image", "同一技术栈的镜像"),
    ".devcontainer/devcontainer.json": Text("the image as a development container", "用作开发容器"),
    "accelerate.yaml": Text("for `accelerate launch`", "供 `accelerate launch` 使用"),
    "deepspeed.json": Text("ZeRO stage from the memory plan", "按内存方案设定的 ZeRO 阶段"),
    "llamafactory.yaml": Text("for `llamafactory-cli train`", "供 `llamafactory-cli train` 使用"),
    "job.slurm": Text("submit with `sbatch job.slurm`", "用 `sbatch job.slurm` 提交"),
    "kubernetes/volcano-job.yaml": Text("a Volcano job: all pods start together", "Volcano 作业：所有 Pod 同时启动"),
    "kubernetes/train-job.yaml": Text("for Kubeflow Trainer v2", "供 Kubeflow Trainer v2 使用"),
    "kubernetes/pytorch-job.yaml": Text("for the older Kubeflow training operator", "供旧版 Kubeflow 训练算子使用"),
    "kubernetes/inference-service.yaml": Text("for KServe", "供 KServe 使用"),
}
NEXT: dict[str, Text] = {
    "torch": Text("Replace `data` and `Net` in `train.py` by your own.", "把 `train.py` 中的 `data` 与 `Net` 换成您自己的。"),
    "export": Text("Replace `data` and `Net` in `train.py` by your own; `export.py` follows.",
                   "把 `train.py` 中的 `data` 与 `Net` 换成您自己的；`export.py` 会随之导出。"),
    "lora": Text("Set `model` in `config.json` and give your data: `python train.py --data FILE.jsonl` with a field `text`.",
                 "在 `config.json` 中设置 `model`，并提供数据：`python train.py --data FILE.jsonl`（字段 `text`）。"),
    "ddp": Text("Replace `data` and the model in `train.py`; on several devices: `torchrun --nproc-per-node=N train.py`.",
                "替换 `train.py` 中的 `data` 与模型；多设备时：`torchrun --nproc-per-node=N train.py`。"),
    "keras": Text("Replace `x`, `y` and `model` in `train.py` by your own.", "把 `train.py` 中的 `x`、`y` 与 `model` 换成您自己的。"),
    "jax": Text("Replace `x`, `y` and `predict` in `train.py` by your own.", "把 `train.py` 中的 `x`、`y` 与 `predict` 换成您自己的。"),
    "sklearn": Text("Replace `load_digits` in `train.py` by your own table.", "把 `train.py` 中的 `load_digits` 换成您自己的数据表。"),
    "rl": Text("Register your own environment and name it in `train.py`.", "注册您自己的环境，并在 `train.py` 中使用其名称。"),
    "serve": Text("Put your model beside `serve.py` as `model.onnx`.", "把您的模型以 `model.onnx` 之名放在 `serve.py` 旁。"),
    "llm-server": Text("Set `model` in `config.json`, then `python serve.py`, and `python ask.py` in a second terminal.",
                       "在 `config.json` 中设置 `model`，运行 `python serve.py`，再在另一个终端运行 `python ask.py`。"),
}  # fmt: skip


def text(
    project: str, family: families.Family, chosen: Assessment, answers: Answers, names: tuple[str, ...], language: str,
    system: str | None = None,
) -> str:  # fmt: skip
    """NAMES are the project's files; SYSTEM is the machine's, whose shell the commands are for."""

    def say(en: str, zh: str) -> str:
        return zh if language == "zh" else en

    parts = " + ".join(" ".join(w for w in (c.framework, c.version) if w) for c in chosen.stack.components)
    out = [f"# {plain(project)}", "", plain(parts or chosen.framework), ""]
    out += [f"## {say('Install', '安装')}", ""]
    install = (*_install(chosen, answers, system), "python -m pip install -r requirements.txt")
    out += [say("In this folder:", "在本文件夹中："), "", *fenced(install)]
    if "requirements.lock.txt" in names:
        out += [say("Or exactly what was verified, with hashes:", "或按核实过的版本与哈希安装："), "", *fenced((_locked(chosen),))]
    scripts = [n for n in ("train.py", "export.py", "serve.py", "ask.py") if n in names]
    if scripts:
        out += [f"## {say('Run', '运行')}", ""]
        main = [f"python {s}" for s in scripts if s != "ask.py"]
        out += fenced((*(f"python {s} --tiny" for s in scripts), *main, "python -m pytest"))
        out += [NEXT[family].said(language), ""] if family in NEXT else []
    processes = (answers.cluster.gpus_per_node or 1) * (answers.cluster.nodes or 1) if answers.cluster is not None else 1
    if "accelerate.yaml" in names and processes > 1 and "train.py" in names:
        out += [say("On all devices:", "在所有设备上："), "", *fenced(("accelerate launch --config_file accelerate.yaml train.py",))]
    memory = chosen.memory
    if memory is not None and memory.total_bytes:
        total, have = wording.size(memory.total_bytes), wording.size(memory.available_bytes)
        verdict = wording.MEMORY_VERDICT[memory.verdict]
        out += [f"## {say('Memory', '内存')}", "",
                say(f"About {total.en} per device of {have.en}: {verdict.en}.",
                    f"每个设备约需 {total.zh}，共有 {have.zh}：{verdict.zh}。"), ""]  # fmt: skip
    out += [f"## {say('Files', '文件')}", ""]
    for name in names:
        what = WHAT.get(name)
        out.append(f"- `{name}`" + (f" – {what.said(language)}" if what is not None else ""))
    out += ["", say("Versions were chosen by Stackfit for the machine that was assessed.", "版本由 Stackfit 针对所评估的电脑选定。"), ""]
    return "\n".join(out)


def _locked(chosen: Assessment) -> str:
    """The lock names no index; the plan's own stand beside the user's default."""
    packages = chosen.install.packages if chosen.install is not None else ()
    urls = dict.fromkeys(p.index_url for p in packages if p.index_url is not None)
    words = ["python", "-m", "pip", "install", "--require-hashes", "-r", "requirements.lock.txt"]
    return " ".join([*words, *(f"--extra-index-url {quoting.shell(url)}" for url in urls)])


def _install(chosen: Assessment, answers: Answers, system: str | None) -> list[str]:
    """The plan's own commands for the client asked for and the shell of the machine."""
    commands = chosen.install.commands if chosen.install is not None else {}
    shells = commands.get(answers.tools.packages or "pip") or next(iter(commands.values()), {})
    wanted = answers.tools.shell or ("powershell" if system == "windows" else "bash")
    return list(shells.get(wanted) or next(iter(shells.values()), ()))
