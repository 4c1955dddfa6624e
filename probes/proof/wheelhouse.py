"""All files of a lock in one folder, to be carried to a machine without a network."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from pathlib import Path

import msgspec

from knowledge.documents import BadInput
from knowledge.facts import MachineProfile
from knowledge.plan import PackageSettings
from knowledge.text import Text
from probes import child
from probes.progress import Cancelled, Progress
from probes.proof import family, interpreters, lock, refusal, uv

LIMIT_S = 7200.0
LOCK = "requirements.lock"


class NotMade(Exception):
    """The folder could not be made; `text` is one sentence in both languages."""

    def __init__(self, text: Text) -> None:
        super().__init__(text.en)
        self.text = text


class Wheelhouse(msgspec.Struct, frozen=True, kw_only=True):
    folder: str
    files: tuple[str, ...]
    size_bytes: int


def make(
    locked: str,
    out: str | Path,
    settings: PackageSettings,
    *,
    python: str | None = None,
    machine: MachineProfile | None = None,
    python_path: str | None = None,
    progress: Progress | None = None,
) -> Wheelhouse:
    """The files of lock text LOCKED in the new folder OUT, with the lock beside them; whole or not at all.

    PYTHON: the version that the lock was made for ("3.12"). MACHINE: a recorded one gets the files of its platform.
    Raises NotMade, Cancelled, and BadInput where OUT is not empty or LOCKED is no lock.
    """
    progress = progress or Progress()
    lock.read(locked)
    place = Path(out).absolute()
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise BadInput(Text(f"{place}: is not an empty folder; give a new one.", f"{place}：不是空文件夹；请给出新文件夹。"))
    elsewhere = _elsewhere(machine, python) if machine is not None and machine.recorded else []
    with_python = interpreters.choose(None if elsewhere else python, machine, settings, python_path)
    if with_python is None:
        raise NotMade(
            Text(
                f"Python {python or ''} is not installed here, and it has to choose the files.",
                f"本机没有安装 Python {python or ''}，无法据此选择文件。",
            )
        )
    making = place.with_name(f".{place.name}-{secrets.token_hex(4)}")
    try:
        making.mkdir(parents=True)
        (making / LOCK).write_text(lock.write(lock.read(locked)), encoding="utf-8")
        with tempfile.TemporaryDirectory(prefix="stackfit-pip-") as private:
            pip = _pip(with_python, settings, Path(private), progress)
            words = [
                pip,
                "-s",
                "-m",
                "pip",
                "download",
                "--no-deps",
                "--require-hashes",
                "-r",
                str(making / LOCK),
                *elsewhere,
            ]
            progress.step(Text("Downloading the files of the plan", "正在下载计划所需的文件"))
            ran = family.run(
                [*words, "--dest", str(making)], python=with_python.path, limit_s=LIMIT_S, environment=_environment(settings),
                cancelled=progress.cancelled, on_stdout=progress.log, on_stderr=progress.log,
            )  # fmt: skip
        _checked(ran.done)
        if place.exists():
            place.rmdir()
        making.rename(place)
    except OSError as error:
        raise NotMade(
            Text(
                f"{place}: cannot be written: {error.strerror or error}.",
                f"{place}：无法写入：{error.strerror or error}。",
            )
        ) from None
    finally:
        if making.exists():
            shutil.rmtree(making, ignore_errors=True)
    files = tuple(sorted(p.name for p in place.iterdir() if p.name != LOCK))
    return Wheelhouse(folder=str(place), files=files, size_bytes=sum((place / f).stat().st_size for f in files))


def _elsewhere(machine: MachineProfile, python: str | None) -> list[str]:
    """pip's options for the files of another platform; raises NotMade where pip has no name for it."""
    system, arch = machine.system, machine.system.arch or ""
    names: list[str] = []
    if system.os == "linux" and system.libc != "musl":
        version = (system.libc_version or "2.28").split(".")
        minor = int(version[1]) if len(version) > 1 and version[1].isdigit() else 28
        names = [f"manylinux_2_{n}_{arch}" for n in range(minor, 4, -1)]
        names += [f"manylinux2014_{arch}", f"manylinux2010_{arch}", f"manylinux1_{arch}", f"linux_{arch}"]
    elif system.os == "windows":
        names = [{"x86_64": "win_amd64", "aarch64": "win_arm64"}.get(arch, "win32")]
    elif system.os == "macos" and (system.release or "").split(".")[0].isdigit():
        kind = "arm64" if arch == "aarch64" else arch
        newest = int((system.release or "11").split(".")[0])
        names = [f"macosx_{n}_0_{part}" for n in range(newest, 10, -1) for part in (kind, "universal2")]
    if not names:
        raise NotMade(
            Text("The platform of that machine is not known well enough.", "对那台机器的平台了解不足，无法选择文件。")
        )
    words = ["--only-binary", ":all:", "--python-version", python or "3.12", "--implementation", "cp"]
    for name in names:
        words += ["--platform", name]
    return words


def _pip(python: interpreters.Interpreter, settings: PackageSettings, private: Path, progress: Progress) -> str:
    """A Python that has pip: that one, or a small environment with pip made for this (uv itself cannot download)."""
    known = child.run(
        [python.path, "-s", "-m", "pip", "--version"],
        limit_s=20,
        environment=uv.inherited(),
        cancelled=progress.cancelled,
    )
    if known.rc == 0:
        return python.path
    progress.step(Text("Fetching pip", "正在获取 pip"))
    words = ["venv", "--quiet", "--seed", "--no-project", "--python", python.path, str(private / "venv")]
    _checked(uv.run(words, settings, limit_s=120, retries=2, cancelled=progress.cancelled))
    return str(private / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def _environment(settings: PackageSettings) -> dict[str, str]:
    """The user's settings in pip's own variables; constraints are left out, for the lock was made under them."""
    have = uv.merged(settings)
    values = {
        **uv.inherited(),
        "PIP_NO_INPUT": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_CONFIG_FILE": os.devnull,
    }
    if have.index_url:
        values["PIP_INDEX_URL"] = have.index_url
    if have.extra_index_urls:
        values["PIP_EXTRA_INDEX_URL"] = " ".join(have.extra_index_urls)
    if have.find_links:
        values["PIP_FIND_LINKS"] = " ".join(have.find_links)
    if have.certificate:
        values["PIP_CERT"] = have.certificate
    if have.proxy:
        values["PIP_PROXY"] = have.proxy
    if have.no_index or have.offline:
        values["PIP_NO_INDEX"] = "1"
    if have.trusted_hosts:
        values["PIP_TRUSTED_HOST"] = " ".join(have.trusted_hosts)
    return values


def _checked(done: child.Done) -> None:
    if done.ended == "cancelled":
        raise Cancelled
    if done.rc != 0:
        raise NotMade(refusal.understand(done.stderr or done.stdout or f"ended with {done.signal or done.rc}").text)
