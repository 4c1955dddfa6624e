"""Pythons of whole machines, laid out as the tools lay them out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge.facts import Python
from probes import native
from probes.host import LocalHost
from probes.software import environments, places
from tests.probes.software.memory_host import MemoryHost, elf, mach, pe

HOME = "/home/ann"
UBUNTU = {
    "/usr/bin/python3.12": elf(),
    "/usr/lib/python3/dist-packages/numpy-1.26.4.egg-info/PKG-INFO": "",
    "/usr/lib/python3/dist-packages/PyYAML-6.0.1.dist-info/METADATA": "",
    "/usr/local/lib/python3.12/dist-packages/numpy-2.1.0.dist-info/METADATA": "",
}
UBUNTU_LINKS = {"/usr/bin/python3": "python3.12", "/bin": "usr/bin"}
ENVIRONMENT = {"HOME": HOME, "PATH": "/usr/local/bin:/usr/bin:/bin"}


def machine(files: dict[str, str], *, links: dict[str, str] | None = None, **more: object) -> MemoryHost:
    values: dict[str, object] = {"environment": ENVIRONMENT, **more}
    return MemoryHost({**UBUNTU, **files}, links={**UBUNTU_LINKS, **(links or {})}, **values)  # type: ignore[arg-type]


def found(host: MemoryHost) -> dict[str, Python]:
    pythons, _findings, _sources = environments.pythons(host)
    assert pythons is not None
    assert not host.ran or host.ran == ["py -0p"] or host.os == "macos", "no Python may be run"
    return {one.path or "": one for one in pythons}


def versions(one: Python) -> dict[str, str | None]:
    return {package.name: package.version for package in one.packages or ()}


def venv(prefix: str, minor: str = "3.12", **told: str) -> dict[str, str]:
    lines = {"home": "/usr/bin", "version": f"{minor}.3", "include-system-site-packages": "false", **told}
    text = "".join(f"{key.replace('_', '-')} = {value}\n" for key, value in lines.items())
    inside = f"{prefix}/lib/python{minor}/site-packages"
    return {f"{prefix}/pyvenv.cfg": text, f"{prefix}/bin/python": "", f"{inside}/pip-24.0.dist-info/METADATA": ""}


def test_the_system_python_is_told_once_by_the_name_people_type() -> None:
    host = machine({}, calls={"python_version(3.12 /usr/bin/python3.12)": "3.12.3"})
    pythons = found(host)
    assert list(pythons) == ["/usr/bin/python3"]  # not again as /bin/python3 or python3.12
    one = pythons["/usr/bin/python3"]
    assert (one.version, one.kind, one.arch, one.bits, one.free_threaded) == ("3.12.3", "system", "x86_64", 64, False)
    assert versions(one) == {"numpy": "2.1.0", "pyyaml": "6.0.1"}  # /usr/local comes first on sys.path


def test_a_version_that_cannot_be_read_is_told_as_far_as_it_is_known() -> None:
    assert found(machine({}))["/usr/bin/python3"].version == "3.12"


def test_packages_of_the_user_come_before_those_of_the_machine() -> None:
    inside = f"{HOME}/.local/lib/python3.12/site-packages"
    one = found(machine({f"{inside}/numpy-1.20.0.dist-info/METADATA": ""}))["/usr/bin/python3"]
    assert versions(one)["numpy"] == "1.20.0"


def test_a_virtual_environment_has_its_own_packages_only() -> None:
    one = found(machine(venv(f"{HOME}/projects/net/.venv")))[f"{HOME}/projects/net/.venv/bin/python"]
    assert (one.version, one.kind, one.arch, one.bits) == ("3.12.3", "venv", "x86_64", 64)
    assert versions(one) == {"pip": "24.0"}


def test_a_virtual_environment_may_see_the_system_packages() -> None:
    files = venv(f"{HOME}/projects/net/.venv", include_system_site_packages="true")
    one = found(machine(files))[f"{HOME}/projects/net/.venv/bin/python"]
    assert versions(one) == {"pip": "24.0", "numpy": "2.1.0", "pyyaml": "6.0.1"}


def test_virtualenv_and_uv_write_the_version_under_another_name() -> None:
    files = venv(f"{HOME}/x/venv", version_info="3.12.7.final.0")
    files[f"{HOME}/x/venv/pyvenv.cfg"] = "home = /usr/bin\nimplementation = CPython\nversion_info = 3.12.7.final.0\n"
    host = machine(files, environment={**ENVIRONMENT, "VIRTUAL_ENV": f"{HOME}/x/venv"})
    assert found(host)[f"{HOME}/x/venv/bin/python"].version == "3.12.7"


def test_an_environment_whose_python_is_gone_is_told_with_the_reason() -> None:
    files = venv(f"{HOME}/projects/old/.venv", "3.9", home="/opt/python39/bin", version="3.9.2")
    pythons, findings, _sources = environments.pythons(machine(files))
    assert [finding.code for finding in findings] == ["python.base_missing"]
    assert findings[0].subject == f"{HOME}/projects/old/.venv/bin/python"
    one = next(p for p in pythons or () if p.kind == "venv")
    assert (one.version, one.arch) == ("3.9.2", None)


@pytest.mark.parametrize(
    ("prefix", "kind"),
    [
        (f"{HOME}/.cache/pypoetry/virtualenvs/net-abc-py3.12", "poetry"),
        (f"{HOME}/.local/share/pipx/venvs/black", "pipx"),
        (f"{HOME}/.local/share/uv/tools/ruff", "uv-tool"),
        (f"{HOME}/.local/share/hatch/env/virtual/net/Ab12/net", "hatch"),
        (f"{HOME}/.virtualenvs/net", "venv"),
        (f"{HOME}/.local/share/virtualenvs/net-abc", "venv"),
        (f"{HOME}/net/venv", "venv"),
        (f"{HOME}/venv", "venv"),
        (f"{HOME}/code/net/.venv", "venv"),
        ("/srv/work/net/.venv", "venv"),
        ("/srv/work/other/.venv", "venv"),
    ],
)
def test_environments_are_found_where_tools_keep_them(prefix: str, kind: str) -> None:
    host = machine(venv(prefix), calls={"cwd": "/srv/work/net"})
    assert found(host)[f"{prefix}/bin/python"].kind == kind


def test_conda_environments_are_read_from_their_records() -> None:
    root, env = f"{HOME}/miniforge3", "/data/envs/train"
    files = {
        f"{root}/conda-meta/python-3.11.9-hb806964_0_cpython.json": "",
        f"{root}/bin/python3.11": elf(),
        f"{root}/conda-meta/history": "",
        f"{env}/conda-meta/python-3.12.4-h194c7f8_0_cpython.json": "",
        f"{env}/bin/python3.12": elf(0xB7),
        f"{env}/conda-meta/pytorch-2.5.1-cuda126_py312h1_202.json": "",
        f"{env}/conda-meta/cuda-version-12.6-h7480c83_3.json": "",
        f"{env}/lib/python3.12/site-packages/torch-2.5.1.dist-info/METADATA": "",
        f"{env}/lib/python3.12/site-packages/torch/version.py": "__version__ = '2.5.1'\ncuda = '12.6'\n",
        f"{HOME}/.conda/environments.txt": f"{root}\n{env}\n/data/envs/removed\n",
    }
    links = {f"{root}/bin/python": "python3.11", f"{env}/bin/python": "python3.12"}
    pythons = found(machine(files, links=links))
    assert pythons[f"{root}/bin/python"].version == "3.11.9"
    one = pythons[f"{env}/bin/python"]
    assert (one.kind, one.version, one.arch, one.free_threaded) == ("conda", "3.12.4", "aarch64", False)
    assert versions(one) == {"python": "3.12.4", "torch": "2.5.1+cu126", "cuda-version": "12.6"}


def test_an_old_line_of_environments_txt_makes_no_conda_environment() -> None:
    assert found(machine({f"{HOME}/.conda/environments.txt": "/usr\n"}))["/usr/bin/python3"].kind == "system"


def test_a_conda_environment_sees_packages_of_the_user() -> None:
    env = f"{HOME}/miniconda3/envs/a"
    files = {
        f"{env}/conda-meta/python-3.12.4-h1_0.json": "",
        f"{env}/bin/python": elf(),
        f"{env}/conda-meta/numpy-1.26.4-py312_0.json": "",
        f"{HOME}/.local/lib/python3.12/site-packages/numpy-2.3.0.dist-info/METADATA": "",
    }
    assert versions(found(machine(files))[f"{env}/bin/python"])["numpy"] == "2.3.0"
    alone = machine(files, environment={**ENVIRONMENT, "PYTHONNOUSERSITE": "1"})
    assert versions(found(alone)[f"{env}/bin/python"])["numpy"] == "1.26.4"


def test_pixi_environments_lie_in_their_project() -> None:
    env = f"{HOME}/net/.pixi/envs/default"
    files = {f"{env}/conda-meta/python-3.12.4-h1_0.json": "", f"{env}/bin/python": elf()}
    assert found(machine(files))[f"{env}/bin/python"].kind == "pixi"


def test_pyenv_and_uv_pythons_tell_their_version_in_their_folder() -> None:
    uv = f"{HOME}/.local/share/uv/python/cpython-3.13.1+freethreaded-linux-x86_64-gnu"
    files = {
        f"{HOME}/.pyenv/versions/3.10.13/bin/python3.10": elf(),
        f"{HOME}/.pyenv/shims/python3": "#!/bin/sh",
        f"{uv}/bin/python3.13t": elf(),
        f"{uv}/lib/python3.13t/site-packages/pip-24.3.dist-info/METADATA": "",
    }
    links = {
        f"{HOME}/.pyenv/versions/3.10.13/bin/python3": "python3.10",
        f"{uv}/bin/python3": "python3.13t",
        f"{HOME}/.local/bin/python3.13": f"{uv}/bin/python3.13t",
    }
    path = f"{HOME}/.pyenv/shims:{HOME}/.local/bin:/usr/bin"
    pythons = found(machine(files, links=links, environment={**ENVIRONMENT, "PATH": path}))
    assert pythons[f"{HOME}/.pyenv/versions/3.10.13/bin/python3"].kind == "pyenv"
    assert pythons[f"{HOME}/.pyenv/versions/3.10.13/bin/python3"].version == "3.10.13"
    assert f"{HOME}/.pyenv/shims/python3" not in pythons
    one = pythons[f"{HOME}/.local/bin/python3.13"]
    assert (one.kind, one.version, one.free_threaded) == ("uv", "3.13.1", True)
    assert versions(one) == {"pip": "24.3"}
    assert f"{uv}/bin/python3" not in pythons  # the same program


def test_a_folder_that_may_not_be_listed_leaves_its_packages_unknown() -> None:
    files = venv(f"{HOME}/net/.venv")
    folder = f"{HOME}/net/.venv/lib/python3.12/site-packages"
    pythons, findings, _sources = environments.pythons(machine(files, denied=[folder]))
    one = next(p for p in pythons or () if p.kind == "venv")
    assert one.packages is None
    assert [(finding.code, finding.subject) for finding in findings] == [("python.unreadable", folder)]


def test_scripts_and_broken_links_are_no_pythons() -> None:
    files = {"/usr/local/bin/python3": b"#!/bin/sh\n".hex()}
    pythons = found(machine(files, links={"/usr/local/bin/python3.9": "/opt/gone/bin/python3.9"}))
    assert list(pythons) == ["/usr/bin/python3"]


def test_links_in_a_circle_end() -> None:
    links = {"/usr/local/bin/python3": "/usr/local/bin/python", "/usr/local/bin/python": "/usr/local/bin/python3"}
    assert "/usr/bin/python3" in found(machine({}, links=links))


def test_in_wsl_the_windows_folders_are_not_looked_into() -> None:
    files = {
        "/mnt/c/Python312/python3": elf(),
        "/proc/sys/kernel/osrelease": "5.15.153.1-microsoft-standard-WSL2\n",
    }
    host = machine(files, environment={**ENVIRONMENT, "PATH": "/usr/bin:/mnt/c/Python312"})
    assert list(found(host)) == ["/usr/bin/python3"]


def test_a_recording_without_folders_leaves_pythons_unknown() -> None:
    host = MemoryHost({"/proc/cpuinfo": ""}, recorded=True)
    assert environments.pythons(host) == (None, (), {})


def test_a_machine_without_python_has_none() -> None:
    host = MemoryHost({"/usr/bin/ls": elf()}, environment=ENVIRONMENT)
    assert environments.pythons(host)[0] == ()


def test_a_mac_has_frameworks_homebrew_and_a_stub() -> None:
    framework = "/Library/Frameworks/Python.framework/Versions/3.12"
    cellar = "/opt/homebrew/Cellar/python@3.13/3.13.1/Frameworks/Python.framework/Versions/3.13"
    files = {
        "/usr/bin/python3": mach(0x01000007, 0x0100000C),
        f"{framework}/bin/python3.12": mach(0x01000007, 0x0100000C),
        f"{framework}/lib/python3.12/site-packages/torch-2.5.1.dist-info/METADATA": "",
        f"{cellar}/bin/python3.13": mach(0x0100000C),
        "/Users/ann/rosetta/pyvenv.cfg": "home = /Users/ann/x86/bin\nversion = 3.9.1\n",
        "/Users/ann/x86/bin/python3.9": mach(0x01000007),
        "/Users/ann/Documents/secret/.venv/pyvenv.cfg": "home = /usr/bin\n",
    }
    links = {
        f"{framework}/bin/python3": "python3.12",
        f"{cellar}/bin/python3": "python3.13",
        "/usr/local/bin/python3": f"{framework}/bin/python3.12",
        "/opt/homebrew/bin/python3": f"{cellar}/bin/python3.13",
        "/opt/homebrew/opt/python@3.13": "../Cellar/python@3.13/3.13.1",
    }
    from probes.host import Reading

    host = MemoryHost(
        files,
        os="macos",
        links=links,
        environment={"HOME": "/Users/ann", "PATH": "/opt/homebrew/bin:/usr/local/bin:/usr/bin"},
        commands={"sysctl -n hw.optional.arm64": Reading(status="ok", text="1\n")},
    )
    pythons = found(host)
    assert set(pythons) == {"/opt/homebrew/bin/python3", "/usr/local/bin/python3", "/Users/ann/rosetta/bin/python"}
    assert pythons["/opt/homebrew/bin/python3"].kind == "homebrew"
    assert pythons["/usr/local/bin/python3"].kind == "framework"
    assert pythons["/usr/local/bin/python3"].arch == "aarch64"  # the half that runs on this processor
    assert pythons["/Users/ann/rosetta/bin/python"].arch == "x86_64"  # runs under Rosetta
    assert versions(pythons["/usr/local/bin/python3"]) == {"torch": "2.5.1"}


WINDOWS = {
    "HOME": "",
    "USERPROFILE": r"C:\Users\ann",
    "APPDATA": r"C:\Users\ann\AppData\Roaming",
    "LOCALAPPDATA": r"C:\Users\ann\AppData\Local",
    "PROCESSOR_ARCHITECTURE": "AMD64",
    "PATH": r"C:\Windows\System32;C:\Users\ann\AppData\Local\Microsoft\WindowsApps",
}
STORE = "PythonSoftwareFoundation.Python.3.11_qbz5n2kfra8p0"


def test_windows_pythons_come_from_the_registry_and_the_store() -> None:
    local, inside = r"C:\Users\ann\AppData\Local", r"LocalCache\local-packages\Python311\site-packages"
    files = {
        r"C:\Python310-32\python.exe": pe(0x14C, 0x10B),
        r"C:\Python310-32\python310.dll": "",
        r"C:\Python310-32\Lib\site-packages\numpy-1.26.4.dist-info\METADATA": "",
        rf"{local}\Microsoft\WindowsApps\python.exe": "",
        rf"{local}\Packages\{STORE}\{inside}\torch-2.6.0.dist-info\METADATA": "",
        r"C:\Users\ann\net\.venv\pyvenv.cfg": "home = C:\\Python310-32\nversion = 3.10.11\n",
        r"C:\Users\ann\net\.venv\Lib\site-packages\torch-2.0.0.dist-info\METADATA": "",
        r"C:\Users\ann\net\.venv\Lib\site-packages\torch\version.py": "__version__ = '2.0.0+cpu'\ncuda = None\n",
    }
    rows = r"""[{"tag": "3.10-32", "path": "C:\\Python310-32\\python.exe", "version": "3.10.11"},
        {"tag": "3.9", "path": "D:\\Other\\", "version": "3.9.1", "arch": "64bit"}]"""
    calls = {"registry_pythons": rows, r"python_version(3.10 C:\Python310-32\python310.dll)": "3.10.11"}
    pythons = found(MemoryHost(files, os="windows", environment=WINDOWS, calls=calls))
    one = pythons[r"C:\Python310-32\python.exe"]
    assert (one.version, one.bits, one.arch, one.kind) == ("3.10.11", 32, "x86", "system")
    other = pythons[r"D:\Other\python.exe"]
    assert (other.version, other.bits) == ("3.9.1", 64)
    inner = pythons[r"C:\Users\ann\net\.venv\Scripts\python.exe"]
    assert (inner.bits, inner.version, versions(inner)) == (32, "3.10.11", {"torch": "2.0.0+cpu"})
    store = pythons[rf"{local}\Microsoft\WindowsApps\{STORE}\python.exe"]
    assert (store.kind, store.version, versions(store)) == ("store", "3.11", {"torch": "2.6.0"})
    assert rf"{local}\Microsoft\WindowsApps\python.exe" not in pythons  # it only opens the Store


def test_windows_without_any_python_has_none_though_the_alias_is_there() -> None:
    files = {r"C:\Users\ann\AppData\Local\Microsoft\WindowsApps\python.exe": ""}
    host = MemoryHost(files, os="windows", environment=WINDOWS, calls={"registry_pythons": "[]"})
    assert environments.pythons(host)[0] == ()


def test_the_launcher_speaks_where_the_registry_cannot_be_read() -> None:
    from probes.host import Reading

    listing = " -V:3.13 *        C:\\Python313\\python.exe\n -3.9-32          D:\\Old Python\\python.exe\nnoise\n"
    commands = {"py -0p": Reading(status="ok", text=listing)}
    pythons = found(MemoryHost({}, os="windows", environment=WINDOWS, commands=commands, recorded=True))
    assert {(path, one.version, one.bits) for path, one in pythons.items()} == {
        (r"C:\Python313\python.exe", "3.13", None),
        (r"D:\Old Python\python.exe", "3.9", 32),
    }


def test_one_python_is_named_by_its_program_or_its_folder() -> None:
    host = machine(venv(f"{HOME}/net/.venv"))
    for path in (f"{HOME}/net/.venv", f"{HOME}/net/.venv/bin/python", f"{HOME}/net/.venv/bin/python3"):
        one, findings = environments.one_python(host, path)
        assert one is not None and one.path == f"{HOME}/net/.venv/bin/python" and findings == ()
    one, findings = environments.one_python(host, "/nowhere/python")
    assert one is None
    assert findings[0].code == "python.not_found"


def test_our_own_environment_is_read_as_it_tells_itself() -> None:
    from importlib import metadata

    one, findings = environments.one_python(LocalHost(), sys.executable)
    assert one is not None and findings == ()
    assert one.version == ".".join(map(str, sys.version_info[:3]))
    if Path(sys.prefix, "pyvenv.cfg").exists():
        here = str(Path(sys.prefix))
        own = {
            environments.packages.normal(dist.metadata["Name"]): dist.version
            for dist in metadata.distributions()
            if str(dist.locate_file("")).startswith(here)
        }
        told = versions(one)
        assert {name: told.get(name) for name in own if name not in ("torch", "torchvision", "torchaudio")} == {
            name: version for name, version in own.items() if name not in ("torch", "torchvision", "torchaudio")
        }


def test_a_real_environment_is_found_and_never_run(tmp_path: Path) -> None:
    project = tmp_path / "projects" / "net"
    project.mkdir(parents=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(project / ".venv")], check=True)
    calls = {**native.local_calls(), "cwd": lambda _: str(tmp_path)}
    host = LocalHost(environment={"HOME": str(tmp_path), "PATH": ""}, calls=calls)
    pythons, _findings, sources = environments.pythons(host)
    place = str(project / ".venv")
    mine = [(number, one) for number, one in enumerate(pythons or ()) if (one.path or "").startswith(place)]
    assert len(mine) == 1
    number, one = mine[0]
    assert one.version == ".".join(map(str, sys.version_info[:3]))
    assert sources[f"pythons.{number}"] == str(Path(place, "pyvenv.cfg"))
    assert one.packages == ()


def test_a_search_that_takes_too_long_stops_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "SEARCH_LIMIT_S", -1.0)
    pythons, findings, _sources = environments.pythons(machine(venv(f"{HOME}/net/.venv")))
    assert [one.path for one in pythons or ()] == ["/usr/bin/python3"]
    assert [finding.code for finding in findings] == ["python.search_stopped"]


paths = st.sampled_from(
    [
        f"{HOME}/net/.venv/pyvenv.cfg",
        f"{HOME}/.conda/environments.txt",
        "/usr/bin/python3.12",
        f"{HOME}/miniforge3/conda-meta/python-3.json",
        "/opt/conda/conda-meta/x",
        f"{HOME}/net/.venv/lib/python3.12/site-packages/torch/version.py",
        f"{HOME}/.local/share/uv/python/cpython-3-linux/bin/python3",
        "/proc/sys/kernel/osrelease",
    ]
)
words = st.text(max_size=80) | st.sampled_from(
    [
        "home = /usr/bin\nversion = 3.12.3",
        "home = \nversion = 99999999999999999999.1",
        "home = relative\n",
        "/\n//\n" + HOME,
        elf(),
    ]
)


@given(st.dictionaries(paths, words, max_size=5), st.dictionaries(paths, words, max_size=2), st.booleans())
def test_no_content_of_files_or_links_raises(files: dict[str, str], links: dict[str, str], recorded: bool) -> None:
    host = machine(files, links={key: value for key, value in links.items() if value}, recorded=recorded)
    pythons, findings, sources = environments.pythons(host)
    assert pythons is not None
    assert all(one.path for one in pythons)
    assert len({one.path for one in pythons}) == len(pythons)
    assert set(sources) == {f"pythons.{number}" for number in range(len(pythons))}
    assert all(finding.because.en and finding.because.zh for finding in findings)


@given(st.text(max_size=300))
def test_no_answer_of_registry_or_launcher_raises(text: str) -> None:
    from probes.host import Reading

    commands = {"py -0p": Reading(status="ok", text=text)}
    host = MemoryHost({}, os="windows", environment=WINDOWS, calls={"registry_pythons": text}, commands=commands)
    environments.pythons(host)


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None)
@given(st.dictionaries(paths, words, max_size=6), st.dictionaries(paths, words, max_size=3), st.booleans())
def test_ten_thousand_mutations(files: dict[str, str], links: dict[str, str], recorded: bool) -> None:
    host = machine(files, links={key: value for key, value in links.items() if value}, recorded=recorded)
    pythons, _findings, _sources = environments.pythons(host)
    assert pythons is not None and len({one.path for one in pythons}) == len(pythons)


def test_windows_keeps_names_of_variables_in_capitals() -> None:
    files = {r"D:\Data\miniconda3\conda-meta\python-3.12.4-h1_0.json": "", r"D:\Data\miniconda3\python.exe": pe()}
    environment = {"PATH": r"C:\Windows", "USERPROFILE": r"C:\Users\ann", "PROGRAMDATA": r"D:\Data"}
    pythons = found(MemoryHost(files, os="windows", environment=environment, calls={"registry_pythons": "[]"}))
    assert pythons[r"D:\Data\miniconda3\python.exe"].kind == "conda"
