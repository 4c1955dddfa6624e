"""Where Pythons are usually kept on each system: folders of programs, of environments and of projects."""

from __future__ import annotations

import posixpath
import re
import time
from collections.abc import Iterator
from types import ModuleType

import msgspec

from probes.host import Host, Reading

MAX_CHILDREN = 1000
SEARCH_LIMIT_S = 4.0
PROJECT_FOLDERS = (
    "projects", "Projects", "project", "src", "code", "Code", "work", "dev", "Developer", "git", "repos", "workspace",
    "PycharmProjects", "source/repos", "venvs", ".venvs", "envs", "github",
)  # fmt: skip
# Looking into these makes macOS ask the user for permission; a probe must not cause questions.
ASKING_FOLDERS = ("Documents", "Documents/GitHub", "Desktop")
ENVIRONMENT_NAMES = (".venv", "venv", "env", ".env", "virtualenv")
CONDA_ROOTS = ("miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba", "miniconda", "anaconda", "conda")


class Machine:
    """HOST with its path rules, its listings kept for the length of one probe, and the user's own folders."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.windows = host.os == "windows"
        if self.windows:
            import ntpath

            self.paths: ModuleType = ntpath
        else:
            self.paths = posixpath
        self.separator = "\\" if self.windows else "/"
        self._began = time.monotonic()
        self._listings: dict[str, Reading] = {}
        self._links: dict[str, str | None] = {}
        self._configurations: dict[str, Reading] = {}
        self._path_known: bool | None = None
        self.home = self.variable("USERPROFILE") or self.variable("HOME") if self.windows else self.variable("HOME")
        cwd = host.call("cwd")
        self.cwd = cwd.text if cwd.ok else None
        # In WSL the Windows folders on PATH hold Windows programs and each listing crosses into Windows.
        kernel = host.read("/proc/sys/kernel/osrelease").text.lower() if host.os == "linux" else ""
        self.wsl = "microsoft" in kernel

    def variable(self, name: str) -> str | None:
        """The variable's value; None where it is unset or empty. Windows knows no case in names, and keeps capitals."""
        reading = self.host.env(name)
        if self.windows and not reading.ok and name != name.upper():
            reading = self.host.env(name.upper())
        return reading.text if reading.ok and reading.text.strip() else None

    def join(self, *parts: str) -> str:
        joined: str = self.paths.join(*(part.replace("/", self.separator) for part in parts))
        return joined

    def parent(self, path: str) -> str:
        folder: str = self.paths.dirname(path)
        return folder

    def name(self, path: str) -> str:
        last: str = self.paths.basename(path)
        return last

    def listing(self, folder: str) -> Reading:
        """What HOST lists, asked once a folder."""
        reading = self._listings.get(folder)
        if reading is None:
            reading = self._listings[folder] = self.host.list(folder)
        return reading

    def children(self, folder: str) -> list[str]:
        """Paths in FOLDER, the first thousand; none where it cannot be listed."""
        return [self.join(folder, name) for name in self.listing(folder).names[:MAX_CHILDREN]]

    def late(self) -> bool:
        """Whether the search has taken longer than it may; a recording has all the time."""
        return not self.host.recorded and time.monotonic() - self._began > SEARCH_LIMIT_S

    def path_known(self) -> bool:
        """Whether the folders of PATH could be listed, so that a program that is not found is known to be absent."""
        if self._path_known is None:
            self._path_known = self.whole() and any(self.listing(folder).ok for folder in program_folders(self))
        return self._path_known

    def whole(self) -> bool:
        """Whether what is not found is known to be absent: always live, and in recordings that a probe's run wrote,
        which hold PATH; a recording put together from some files of a machine is silent about all others."""
        return not self.host.recorded or self.variable("PATH") is not None

    def configuration(self, prefix: str) -> Reading:
        """The file pyvenv.cfg of PREFIX, which every virtual environment has; asked once."""
        reading = self._configurations.get(prefix)
        if reading is None:
            reading = self._configurations[prefix] = self.host.read(self.join(prefix, "pyvenv.cfg"))
        return reading

    def real(self, path: str, depth: int = 0) -> str:
        """PATH with all links followed, its folders' too; PATH itself where a chain does not end."""
        if self.windows:
            return path
        done = ""
        for part in path.split("/"):
            if not part:
                continue
            here = f"{done}/{part}"
            if here not in self._links:
                reading = self.host.link(here)
                self._links[here] = reading.text if reading.ok and reading.text else None
            target = self._links[here]
            if target is None:
                done = here
            elif depth > 20:
                return path
            else:
                done = self.real(posixpath.normpath(posixpath.join(done or "/", target)), depth + 1)
        return done or "/"


class Place(msgspec.Struct, frozen=True):
    """A folder that may be an environment or an installation, and what put it there (venv, conda, pyenv, …)."""

    prefix: str
    kind: str


def program_folders(machine: Machine) -> Iterator[str]:
    """Folders whose listing may name Pythons: PATH in its order, then the usual ones. No shims."""
    seen: set[str] = set()
    path = machine.variable("PATH") or ""
    usual: tuple[str, ...] = ()
    if machine.host.os == "macos":
        usual = ("/opt/homebrew/bin", "/usr/local/bin", "/opt/local/bin", "/usr/bin")
    elif not machine.windows:
        usual = ("/usr/local/bin", "/usr/bin")
    if not machine.windows and machine.home:
        usual += (machine.join(machine.home, ".local/bin"),)
    for folder in (*path.split(";" if machine.windows else ":"), *usual):
        folder = folder.strip().strip('"')
        if len(folder) > 1:
            folder = folder.rstrip("/\\") or folder
        if not machine.paths.isabs(folder) or folder in seen:
            continue
        seen.add(folder)
        if machine.name(folder).lower() == "shims":  # scripts of pyenv, asdf, mise: they start a Python, they are none
            continue
        if machine.wsl and re.match(r"/mnt/[a-z](/|$)", folder):
            continue
        yield folder


def kept_environments(machine: Machine) -> Iterator[Place]:
    """Folders in which tools keep environments and Pythons; each child that is one is yielded."""
    for folder, kind in _tool_folders(machine):
        for child in machine.children(folder):
            yield Place(child, kind)
    for folder in _hatch_folders(machine):
        for project in machine.children(folder):
            for identity in machine.children(project):
                for child in machine.children(identity):
                    yield Place(child, "hatch")


def conda_environments(machine: Machine) -> Iterator[Place]:
    """conda, mamba, micromamba and pixi: their roots, the environments below, and those written in environments.txt."""
    roots: list[str] = []
    for variable in ("CONDA_EXE", "MAMBA_EXE"):
        if program := machine.variable(variable):
            roots.append(machine.parent(machine.parent(program)))
    for variable in ("MAMBA_ROOT_PREFIX", "CONDA_ROOT", "CONDA_PREFIX", "CONDA_PREFIX_1"):
        if value := machine.variable(variable):
            roots.append(value)
    for base in _conda_bases(machine):
        names = set(machine.listing(base).names) if machine.listing(base).ok else None
        roots += [machine.join(base, name) for name in CONDA_ROOTS if names is None or name in names]
    for root in dict.fromkeys(roots):
        yield Place(root, "conda")
    folders = [machine.join(root, "envs") for root in dict.fromkeys(roots)]
    folders += _split_paths(machine, machine.variable("CONDA_ENVS_PATH") or machine.variable("CONDA_ENVS_DIRS"))
    if machine.home:
        folders.append(machine.join(machine.home, ".conda/envs"))
        listed = machine.host.read(machine.join(machine.home, ".conda/environments.txt"))
        for line in listed.text.splitlines()[:MAX_CHILDREN]:
            if machine.paths.isabs(line.strip()):
                yield Place(line.strip(), "conda")
        folders.append(machine.join(machine.variable("PIXI_HOME") or machine.join(machine.home, ".pixi"), "envs"))
    for folder in dict.fromkeys(folders):
        for child in machine.children(folder):
            yield Place(child, "pixi" if ".pixi" in folder else "conda")


def project_environments(machine: Machine) -> Iterator[Place]:
    """Environments beside the user's work: in the current folder, in home and in the usual folders of projects."""
    for variable in ("VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT"):
        if (value := machine.variable(variable)) and machine.paths.isabs(value):
            yield Place(value, "venv")
    around = [machine.cwd] if machine.cwd else []
    mounted = machine.wsl and machine.cwd is not None and machine.cwd.startswith("/mnt/")  # slow to look into
    if machine.cwd and not mounted and not (machine.home and machine.home.startswith(machine.cwd)):
        around.append(machine.parent(machine.cwd))  # the neighbours of a project are projects; those of a home are not
    folders = [folder for folder in around if folder and folder != machine.parent(folder)]
    if machine.home:
        folders.append(machine.home)
        usual = PROJECT_FOLDERS if machine.host.os == "macos" else PROJECT_FOLDERS + ASKING_FOLDERS
        at_home = machine.listing(machine.home)
        for name in usual:
            if not at_home.ok or name.partition("/")[0] in at_home.names:
                folders.append(machine.join(machine.home, name))
    for container in dict.fromkeys(folders):
        if machine.host.os == "macos" and machine.home and _asks(machine, container) and container != machine.cwd:
            continue
        for project in (container, *machine.children(container)):
            if machine.late():
                return
            if machine.host.os == "macos" and _asks(machine, project) and project != machine.cwd:
                continue
            if machine.configuration(project).ok:
                yield Place(project, "venv")
                continue
            for name in ENVIRONMENT_NAMES:
                if machine.configuration(inner := machine.join(project, name)).ok:
                    yield Place(inner, "venv")
            for child in machine.children(machine.join(project, ".pixi", "envs")):
                yield Place(child, "pixi")


def installations(machine: Machine) -> Iterator[Place]:
    """Whole Pythons that stand in a folder of their own: frameworks on a Mac, usual folders on Windows, /opt."""
    if machine.host.os == "macos":
        inner = "Library/Frameworks/Python3.framework/Versions"
        frameworks = [
            ("/Library/Frameworks/Python.framework/Versions", "framework"),
            (f"/Library/Developer/CommandLineTools/{inner}", "system"),
            (f"/Applications/Xcode.app/Contents/Developer/{inner}", "system"),
        ]
        for cellar in ("/opt/homebrew/opt", "/usr/local/opt"):
            for name in machine.listing(cellar).names:
                if re.fullmatch(r"python(-freethreading)?(@\d[\d.]*)?", name):
                    for framework in ("Python", "PythonT"):
                        versions = machine.join(cellar, name, f"Frameworks/{framework}.framework/Versions")
                        frameworks.append((versions, "homebrew"))
        for versions, kind in frameworks:
            for child in machine.children(versions):
                if re.fullmatch(r"\d+\.\d+t?", machine.name(child)):
                    yield Place(child, kind)
    elif machine.windows:
        local = machine.variable("LOCALAPPDATA")
        folders = [machine.join(local, "Programs", "Python"), machine.join(local, "Python")] if local else []
        for folder in (*folders, "C:\\", machine.variable("ProgramFiles"), machine.variable("ProgramFiles(x86)")):
            for child in machine.children(folder) if folder else ():
                if re.match(r"(pythoncore-)?(python)?\d", machine.name(child).lower()) and (
                    "python" in machine.name(child).lower() or folder in folders
                ):
                    yield Place(child, "system")
    else:
        for child in machine.children("/opt"):
            if re.match(r"python", machine.name(child).lower()):
                yield Place(child, "system")
                for inner in machine.children(child):
                    yield Place(inner, "system")


def _tool_folders(machine: Machine) -> Iterator[tuple[str, str]]:
    home, join, variable = machine.home, machine.join, machine.variable
    named = (
        ("PYENV_ROOT", "versions", "pyenv"), ("UV_PYTHON_INSTALL_DIR", "", "uv"), ("UV_TOOL_DIR", "", "uv-tool"),
        ("PIPX_HOME", "venvs", "pipx"), ("WORKON_HOME", "", "venv"), ("ASDF_DATA_DIR", "installs/python", "asdf"),
        ("MISE_DATA_DIR", "installs/python", "mise"), ("POETRY_CACHE_DIR", "virtualenvs", "poetry"),
        ("POETRY_VIRTUALENVS_PATH", "", "poetry"),
    )  # fmt: skip
    for name, inner, kind in named:
        if (value := variable(name)) and machine.paths.isabs(value):
            yield (join(value, inner) if inner else value), kind
    if home is None:
        return
    places: list[tuple[str, str]] = [
        (".pyenv/versions", "pyenv"), (".asdf/installs/python", "asdf"), (".virtualenvs", "venv"), (".rye/py", "rye"),
        (".local/pipx/venvs", "pipx"),
    ]  # fmt: skip
    if machine.windows:
        places += [(".pyenv/pyenv-win/versions", "pyenv"), ("pipx/venvs", "pipx"), ("Envs", "venv")]
        for base, inner, kind in (
            ("APPDATA", "uv/python", "uv"), ("APPDATA", "uv/tools", "uv-tool"),
            ("LOCALAPPDATA", "pypoetry/Cache/virtualenvs", "poetry"), ("LOCALAPPDATA", "pipx/pipx/venvs", "pipx"),
            ("LOCALAPPDATA", "pipx/venvs", "pipx"),
        ):  # fmt: skip
            if value := variable(base):
                yield join(value, inner), kind
    else:
        data = variable("XDG_DATA_HOME") or join(home, ".local/share")
        cache = variable("XDG_CACHE_HOME") or join(home, ".cache")
        for base, inner, kind in (
            (data, "uv/python", "uv"), (data, "uv/tools", "uv-tool"), (data, "pipx/venvs", "pipx"),
            (data, "virtualenvs", "venv"), (data, "mise/installs/python", "mise"),
            (cache, "pypoetry/virtualenvs", "poetry"),
        ):  # fmt: skip
            yield join(base, inner), kind
        if machine.host.os == "macos":
            places += [
                ("Library/Caches/pypoetry/virtualenvs", "poetry"), ("Library/Application Support/pipx/venvs", "pipx"),
            ]  # fmt: skip
    for inner, kind in places:
        yield join(home, inner), kind


def _hatch_folders(machine: Machine) -> Iterator[str]:
    inner = "hatch/env/virtual"
    if machine.windows:
        if local := machine.variable("LOCALAPPDATA"):
            yield machine.join(local, inner)
    elif machine.home and machine.host.os == "macos":
        yield machine.join(machine.home, "Library/Application Support", inner)
    elif machine.home:
        yield machine.join(machine.variable("XDG_DATA_HOME") or machine.join(machine.home, ".local/share"), inner)


def _conda_bases(machine: Machine) -> Iterator[str]:
    if machine.home:
        yield machine.home
    if machine.windows:
        for name in ("LOCALAPPDATA", "ProgramData"):
            if value := machine.variable(name):
                yield value
        yield "C:\\"
    else:
        yield "/opt"
        if machine.home:
            yield machine.join(machine.home, "opt")
        if machine.host.os == "macos":
            yield from ("/opt/homebrew/Caskroom/miniconda", "/opt/homebrew/Caskroom/miniforge")


def _split_paths(machine: Machine, value: str | None) -> list[str]:
    parts = re.split(r"[;,]" if machine.windows else r"[:,]", value or "")
    return [part for part in parts if machine.paths.isabs(part)]


def _asks(machine: Machine, folder: str) -> bool:
    """Whether looking into FOLDER makes macOS ask the user."""
    if not machine.home or not folder.startswith(machine.home):
        return False
    first = folder[len(machine.home) :].strip("/").partition("/")[0]
    return first in ("Documents", "Desktop", "Downloads", "Library", "Pictures", "Music", "Movies")
