"""Clean Python environments in a folder of ours: made by uv from a lock, reused by key, listed, removed."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import msgspec

from knowledge.documents import BadInput
from knowledge.plan import PackageSettings
from knowledge.text import Text
from probes.progress import Cancelled, Progress
from probes.proof import family, interpreters, lock, refusal, uv

MARKER = "stackfit-environment.json"
INSTALL_LIMIT_S = 3600.0
SPARE_BYTES = 500_000_000
UNPACKED = 3.5  # a wheel's size on disk over its download size: 3.2 to 3.9 for torch, tensorflow, jax
TEMPORARY = re.compile(r"\.making-[0-9a-f]{8}-(\d+)|\.removing-[0-9a-f]{8}-(\d+)")


class NotBuilt(Exception):
    """An environment could not be made; the message is one sentence in both languages (`text`)."""

    def __init__(self, text: Text, detail: str = "") -> None:
        super().__init__(text.en)
        self.text = text
        self.detail = detail


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """One finished environment. `install_s`: seconds its installation took when it was made (reused: 0)."""

    key: str
    path: str
    python: str
    python_version: str
    pins: tuple[str, ...]
    created: float  # seconds since 1970
    install_s: float
    reused: bool = False
    size_bytes: int | None = None


class Sandboxes:
    """The environments in FOLDER. Two programs may use one folder at the same time."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def ensure(
        self,
        locked: str,
        python_path: str | None,
        settings: PackageSettings,
        progress: Progress | None = None,
        *,
        download_bytes: int | None = None,
    ) -> Environment:
        """The environment of lock text LOCKED on the Python at PYTHON_PATH, made where it is not there yet.

        Raises NotBuilt, Cancelled, and BadInput for a lock that holds more than pins and hashes.
        """
        progress = progress or Progress()
        python = interpreters.choose(None, None, settings, python_path)
        if python is None:
            raise NotBuilt(Text("No Python to make an environment with.", "没有可用于创建环境的 Python。"))
        key = lock.key(locked, python.version, str(Path(python.path).resolve()), sys.platform)
        place = self.folder / key
        found = self._read(place)
        if found is not None:
            return msgspec.structs.replace(found, reused=True, install_s=0.0)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._locked(key, progress):
                found = self._read(place)  # another program may have made it while we waited
                if found is not None:
                    return msgspec.structs.replace(found, reused=True, install_s=0.0)
                self.sweep()
                self._room(download_bytes)
                return self._make(locked, key, place, python, settings, progress, download_bytes)
        except OSError as error:
            raise NotBuilt(
                Text(
                    f"The folder for environments cannot be used: {self.folder}: {error.strerror or error}.",
                    f"用于存放环境的文件夹无法使用：{self.folder}：{error.strerror or error}。",
                )
            ) from None
        except uv.NoUv as error:
            raise NotBuilt(Text(f"uv is missing: {error}", f"缺少 uv：{error}")) from None

    def every(self, *, sizes: bool = False) -> tuple[Environment, ...]:
        """The finished environments, newest first; SIZES reads every file's size (seconds for a large one)."""
        try:
            places = sorted(self.folder.iterdir())
        except OSError:
            return ()
        found = [e for e in (self._read(p) for p in places if p.is_dir()) if e is not None]
        if sizes:
            found = [msgspec.structs.replace(e, size_bytes=disk_usage(Path(e.path))) for e in found]
        return tuple(sorted(found, key=lambda e: e.created, reverse=True))

    def remove(self, key: str) -> int:
        """Remove environment KEY; the bytes it took. Raises BadInput where there is none of that key."""
        place = self.folder / key
        if not re.fullmatch(r"[0-9a-f]{24}", key) or not place.is_dir():
            raise BadInput(Text(
                f"{key[:40]!r}: there is no environment of that key in {self.folder}.",
                f"{key[:40]!r}：{self.folder} 中没有以它为键的环境。",
            ))  # fmt: skip
        size = disk_usage(place)
        # Renamed first, so that it stops being an environment at once however long the deletion takes.
        away = self.folder / f".removing-{secrets.token_hex(4)}-{os.getpid()}"
        place.rename(away)
        shutil.rmtree(away, ignore_errors=True)
        return size

    def sweep(self) -> None:
        """Delete what killed programs left half-made or half-removed."""
        for place in self.folder.glob(".*"):
            match = TEMPORARY.fullmatch(place.name)
            if match is not None and not _alive(int(match.group(1) or match.group(2))):
                shutil.rmtree(place, ignore_errors=True)

    def _make(
        self,
        locked: str,
        key: str,
        place: Path,
        python: interpreters.Interpreter,
        settings: PackageSettings,
        progress: Progress,
        download_bytes: int | None,
    ) -> Environment:
        if place.exists():  # without a marker: never finished, never reused
            shutil.rmtree(place)
        making = self.folder / f".making-{secrets.token_hex(4)}-{os.getpid()}"
        began = time.perf_counter()
        try:
            making.mkdir(parents=True)
            (making / "requirements.lock").write_text(lock.write(lock.read(locked)), encoding="utf-8")
            progress.step(Text("Making a clean environment", "正在创建干净的环境"), 0.0)
            words = ["venv", "--quiet", "--relocatable", "--no-project", "--python", python.path, str(making / "venv")]
            self._uv(words, settings, python, progress)
            count = len(lock.read(locked))
            progress.step(Text(f"Installing {count} packages", f"正在安装 {count} 个软件包"), 0.1)
            # Without dependency resolution: the lock is complete, and each file has to have a hash in it.
            words = ["pip", "install", "--no-deps", "--require-hashes", "--python", str(python_in(making / "venv"))]
            words += [*uv.arguments(settings, constraints=False), "-r", str(making / "requirements.lock")]
            self._uv(words, settings, python, progress, _Downloads(progress, download_bytes).line)
            environment = Environment(
                key=key, path=str(place), python=str(python_in(place / "venv")), python_version=python.version,
                pins=lock.pins(locked), created=time.time(), install_s=time.perf_counter() - began,
            )  # fmt: skip
            with (making / MARKER).open("w", encoding="utf-8") as stream:
                stream.write(msgspec.json.encode(environment).decode())
                stream.flush()
                os.fsync(stream.fileno())
            making.rename(place)
        finally:
            if making.exists():
                shutil.rmtree(making, ignore_errors=True)
        return environment

    def _uv(
        self,
        words: list[str],
        settings: PackageSettings,
        python: interpreters.Interpreter,
        progress: Progress,
        on_line: Callable[[str], None] | None = None,
    ) -> None:
        """One uv call that dies with us; raises NotBuilt with uv's reason, or Cancelled."""
        progress.check()
        ran = family.run(
            [uv.find(), *words], python=python.path, limit_s=INSTALL_LIMIT_S,
            environment=uv.environment(settings, retries=2), cancelled=progress.cancelled, on_stderr=on_line or progress.log,
            folder=str(self.folder),
        )  # fmt: skip
        if ran.done.ended == "cancelled":
            raise Cancelled
        if ran.done.ended == "timed_out":
            raise NotBuilt(
                Text(
                    f"The installation took longer than {INSTALL_LIMIT_S / 60:.0f} minutes and was stopped.",
                    f"安装超过 {INSTALL_LIMIT_S / 60:.0f} 分钟，已停止。",
                )
            )
        if ran.done.rc != 0:
            if ran.done.signal or (ran.done.rc or 0) > 128:
                name = ran.done.signal or f"exit {ran.done.rc}"
                raise NotBuilt(Text(f"uv was ended by {name}.", f"uv 被 {name} 终止。"), ran.done.stderr[-2000:])
            why = refusal.understand(ran.done.stderr or ran.done.stdout)
            raise NotBuilt(why.text, why.detail)

    def _room(self, download_bytes: int | None) -> None:
        """Raises NotBuilt where the disk has less room than the packages need."""
        if download_bytes is None:
            return
        need = int(download_bytes * (UNPACKED + 1)) + SPARE_BYTES
        free = shutil.disk_usage(self.folder).free
        if free < need:
            raise NotBuilt(
                Text(
                    f"The disk of {self.folder} has {free / 1e9:.1f} GB free; this needs about {need / 1e9:.1f} GB.",
                    f"{self.folder} 所在磁盘剩余 {free / 1e9:.1f} GB；该环境约需 {need / 1e9:.1f} GB。",
                )
            )

    def _read(self, place: Path) -> Environment | None:
        """The environment at PLACE, or None where it is not finished."""
        try:
            found = msgspec.json.decode((place / MARKER).read_bytes(), type=Environment)
        except (OSError, msgspec.DecodeError):
            return None
        return found if Path(found.python).exists() and found.path == str(place) else None

    @contextlib.contextmanager
    def _locked(self, key: str, progress: Progress) -> Iterator[None]:
        """Only one program makes environment KEY at a time; the system lets go of the lock when its holder dies."""
        with (self.folder / f"{key}.lock").open("a+") as stream:
            told = False
            while not _try_lock(stream):
                progress.check()
                if not told:
                    progress.step(Text("Another Stackfit is making this environment", "另一个 Stackfit 正在创建此环境"))
                    told = True
                time.sleep(0.1)
            yield


class _Downloads:
    """Turns uv's lines about downloads into steps with a share."""

    UNITS = {"KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}

    def __init__(self, progress: Progress, total_bytes: int | None) -> None:
        self._progress = progress
        self._total = total_bytes
        self._sizes: dict[str, float] = {}
        self._done = 0.0

    def line(self, line: str) -> None:
        self._progress.log(line)
        begun = re.match(r"\s*Downloading (\S+) \(([\d.]+)([KMG]iB)\)", line)
        if begun is not None:
            self._sizes[begun.group(1)] = float(begun.group(2)) * self.UNITS[begun.group(3)]
            return
        done = re.match(r"\s*Downloaded (\S+)", line)
        if done is None or done.group(1) not in self._sizes:
            return
        self._done += self._sizes[done.group(1)]
        total = max(self._total or 0, sum(self._sizes.values()))
        words = f"{self._done / 1e6:.0f} / {total / 1e6:.0f} MB"
        share = 0.1 + 0.7 * min(self._done / total, 1.0)
        self._progress.step(Text(f"Downloading: {words}", f"正在下载：{words}"), share)


def python_in(folder: Path) -> Path:
    """The interpreter of the virtual environment at FOLDER."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def forget_bytecode(environment: Environment) -> None:
    """Delete the compiled modules of ENVIRONMENT; Python makes them again. A disk that was full leaves broken ones."""
    for folder in Path(environment.path, "venv").rglob("__pycache__"):
        shutil.rmtree(folder, ignore_errors=True)


def disk_usage(folder: Path) -> int:
    """Bytes of all files below FOLDER, a file with several hard links counted once."""
    total = 0
    seen: set[tuple[int, int]] = set()
    for base, _, names in os.walk(folder):
        for name in names:
            try:
                status = Path(base, name).lstat()
            except OSError:
                continue  # removed while we looked
            if status.st_nlink > 1:
                if (status.st_dev, status.st_ino) in seen:
                    continue
                seen.add((status.st_dev, status.st_ino))
            total += status.st_size
    return total


def _try_lock(stream: IO[str]) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _alive(pid: int) -> bool:
    import psutil

    return bool(psutil.pid_exists(pid))
