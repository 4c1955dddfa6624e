"""Install plans as what people type or keep: shell lines for pip, uv, conda and docker, and the files of each tool."""

from __future__ import annotations

from collections.abc import Iterator

from knowledge.plan import (
    ContainerRun,
    Download,
    InstallPackages,
    InstallPlan,
    MakeEnvironment,
    SetVariable,
    SystemPackage,
)
from knowledge.quoting import assignment, line, quoted

ENVIRONMENT = "stackfit"  # of conda
INSTALLERS = {
    "apt": ("sudo", "apt-get", "install", "-y"),
    "dnf": ("sudo", "dnf", "install", "-y"),
    "pacman": ("sudo", "pacman", "-S", "--noconfirm"),
    "zypper": ("sudo", "zypper", "install", "-y"),
    "apk": ("apk", "add"),
    "brew": ("brew", "install"),
    "winget": ("winget", "install", "--exact", "--id"),
}
GPU_OPTIONS = {
    "nvidia": ("--gpus", "all", "--ipc=host"),
    "amd": ("--device", "/dev/kfd", "--device", "/dev/dri", "--group-add", "video", "--ipc=host"),
    "intel": ("--device", "/dev/dri", "--ipc=host"),
    "huawei": ("--device", "/dev/davinci0", "--device", "/dev/davinci_manager", "--device", "/dev/hisi_hdc"),
}


def render(plan: InstallPlan, client: str, shell: str, *, gpu: str | None = None) -> tuple[str, ...]:
    """The lines that CLIENT needs in SHELL for PLAN; GPU is the vendor whose devices a container is handed.

    Every argument is quoted here; a plan can hold no command line.
    """
    if client == "docker":
        return tuple(_docker(plan, shell, gpu))
    return tuple(_local(plan, client, shell))


def _local(plan: InstallPlan, client: str, shell: str) -> Iterator[str]:
    for step in plan.steps:
        if isinstance(step, MakeEnvironment):
            yield from _environment(step, client, shell)
        elif isinstance(step, InstallPackages):
            yield line(_install(step, client), shell)
        elif isinstance(step, SetVariable):
            yield assignment(step.name, step.value, shell)
        elif isinstance(step, SystemPackage):
            yield line([*INSTALLERS.get(step.manager, (step.manager, "install")), *step.packages], shell)
        elif isinstance(step, Download):
            yield _opened(step.url, shell)
        elif isinstance(step, ContainerRun):
            yield _container(step, shell)


def _environment(step: MakeEnvironment, client: str, shell: str) -> Iterator[str]:
    version = step.python.rstrip("t") if client == "conda" else step.python
    if client == "conda":
        yield line(["conda", "create", "-y", "-n", ENVIRONMENT, "-c", "conda-forge", f"python={version}"], shell)
        yield line(["conda", "activate", ENVIRONMENT], shell)
        return
    if client == "uv":
        yield line(["uv", "venv", "--python", step.python, step.name], shell)
    elif shell == "bash":
        yield line([f"python{step.python}", "-m", "venv", step.name], shell)
    else:
        yield line(["py", f"-{step.python}", "-m", "venv", step.name], shell)
    if shell == "bash":
        yield line(["source", f"{step.name}/bin/activate"], shell)
    elif shell == "powershell":
        yield "& " + quoted(f".\\{step.name}\\Scripts\\Activate.ps1", shell)
    else:
        yield line(["call", f"{step.name}\\Scripts\\activate.bat"], shell)


def _install(step: InstallPackages, client: str) -> list[str]:
    """pip and uv take the same requirements and differ in their guards and in what they call the main index."""
    words = ["uv", "pip", "install"] if client == "uv" else ["python", "-m", "pip", "install"]
    words += step.requirements
    if step.index_url is not None:
        if step.extra:
            words += ["--extra-index-url", step.index_url]
        else:
            words += ["--default-index" if client == "uv" else "--index-url", step.index_url]
    if step.only_binary:
        if client == "uv":
            for name in step.only_binary:
                words += ["--only-binary", name]
        else:
            words += ["--only-binary", ",".join(step.only_binary)]
    if not step.build_isolation:
        words += ["--no-build-isolation"]
    if step.no_deps:
        words += ["--no-deps"]
    return words


def _opened(url: str, shell: str) -> str:
    opener = {"bash": "xdg-open", "powershell": "Start-Process", "cmd": "start"}[shell]
    return line([opener, url], shell) if shell != "cmd" else f'start "" {quoted(url, shell)}'


def _container(step: ContainerRun, shell: str) -> str:
    return line(["docker", "run", "--rm", "-it", *step.options, step.image, *step.arguments], shell)


def _docker(plan: InstallPlan, shell: str, gpu: str | None) -> Iterator[str]:
    runs = [step for step in plan.steps if isinstance(step, ContainerRun)]
    if runs:
        for step in runs:
            options = tuple(o for o in GPU_OPTIONS.get(gpu or "", ()))
            missing = options if not set(options) & set(step.options) else ()
            yield _container(ContainerRun(image=step.image, options=(*missing, *step.options), arguments=step.arguments), shell)
        return
    python = next((step.python for step in plan.steps if isinstance(step, MakeEnvironment)), None)
    if python is None:
        yield from _local(plan, "pip", shell)
        return
    words = ["docker", "run", "--rm", "-it", *GPU_OPTIONS.get(gpu or "", ())]
    for name, value in plan.environment.items():
        words += ["-e", f"{name}={value}"]
    inner = " && ".join(line(_install(s, "pip"), "bash") for s in plan.steps if isinstance(s, InstallPackages))
    yield line([*words, f"python:{python.rstrip('t')}-slim", "bash", "-c", f"{inner} && exec bash"], shell)


def requirements_txt(plan: InstallPlan) -> str:
    """A requirements file without hashes (the lock of `stackfit resolve` has them).

    Other indexes stand beside the default one; a wheel of theirs carries a local version (+cu126), which wins.
    """
    lines = [f"--extra-index-url {url}" for url in dict.fromkeys(p.index_url for p in plan.packages) if url]
    lines += [package.requirement for package in plan.packages]
    return "\n".join(lines) + "\n"


def pyproject(plan: InstallPlan, name: str = "project") -> str:
    """A pyproject.toml for uv, each package bound to its index."""
    import json

    minor = (plan.python or "3.12").rstrip("t")
    lines = ["[project]", f"name = {json.dumps(name)}", 'version = "0.1.0"', f'requires-python = "=={minor}.*"', "dependencies = ["]
    lines += [f"  {json.dumps(package.requirement)}," for package in plan.packages]
    lines += ["]"]
    indexes = {p.index_id: p.index_url for p in plan.packages if p.index_url}
    if indexes:
        lines += ["", "[tool.uv.sources]"]
        lines += [f"{json.dumps(p.name)} = {{ index = {json.dumps(p.index_id)} }}" for p in plan.packages if p.index_url]
        for index, url in indexes.items():
            lines += ["", "[[tool.uv.index]]", f"name = {json.dumps(index)}", f"url = {json.dumps(url)}", "explicit = true"]
    return "\n".join(lines) + "\n"


def environment_yml(plan: InstallPlan, name: str = ENVIRONMENT) -> str:
    """A conda environment: Python from conda-forge, the packages through pip (PyTorch left conda's channels)."""
    import json

    minor = (plan.python or "3.12").rstrip("t")
    lines = [f"name: {json.dumps(name)}", "channels: [conda-forge]", "dependencies:", f'  - "python={minor}"', "  - pip", "  - pip:"]
    lines += [f"      - {json.dumps('--extra-index-url ' + url)}" for url in dict.fromkeys(p.index_url for p in plan.packages) if url]
    lines += [f"      - {json.dumps(package.requirement)}" for package in plan.packages]
    if plan.environment:
        lines += ["variables:"]
        lines += [f"  {key}: {json.dumps(value)}" for key, value in plan.environment.items()]
    return "\n".join(lines) + "\n"


def dockerfile(plan: InstallPlan) -> str:
    """A Dockerfile that installs the plan; JSON strings are the quoting of its exec form and of ENV."""
    import json

    minor = (plan.python or "3.12").rstrip("t")
    lines = [f"FROM python:{minor}-slim"]
    lines += [f"ENV {key}={json.dumps(value)}" for key, value in plan.environment.items()]
    for step in plan.steps:
        if isinstance(step, InstallPackages):
            lines.append("RUN " + json.dumps([*_install(step, "pip"), "--no-cache-dir"]))
    return "\n".join([*lines, "WORKDIR /work", 'CMD ["bash"]']) + "\n"
