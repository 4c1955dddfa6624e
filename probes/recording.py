"""Recorded machines: a folder or zip of copied files and command outputs that answers like the machine it came from."""

from __future__ import annotations

import json
import posixpath
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from knowledge.documents import BadInput
from knowledge.text import Text
from probes.child import decoded
from probes.host import COMMAND_LIMIT_S, COMMANDS_CALL, READ_LIMIT_BYTES, Host, Reading
from probes.progress import Progress

LIMIT_ENTRIES = 400_000
LIMIT_INDEX_BYTES = 200_000_000  # recording.json and fs.json; the largest seen is 12 MB
LIMIT_HOPS = 40
Command = tuple[tuple[str, ...], str, int | None, str]  # words, line as typed, exit status (None: did not end), file
Commands = list[Command]


class BadRecording(BadInput):
    """A folder or zip that is no recording; one sentence says what was found and where."""


class RecordedHost:
    """Answers from the recording at PATH, a folder or a zip. What is not in it is missing. Raises BadRecording."""

    recorded = True

    def __init__(self, path: str | Path) -> None:
        self._name = str(path)
        place = Path(path)
        store: _Store = _Folder(place, self._name) if place.is_dir() else _Zip(place, self._name)
        about = self._object(store, "recording.json")
        if about is None:
            raise BadRecording(Text(
                f"{self._name}: holds no recording.json, so it is no recording of a machine.",
                f"{self._name}：没有 recording.json，因此不是机器记录。",
            ))  # fmt: skip
        if about.get("schema", 1) != 1:
            raise BadRecording(Text(
                f"{self._name}: recording.json has schema {str(about['schema'])[:40]}, this program reads 1.",
                f"{self._name}：recording.json 的 schema 是 {str(about['schema'])[:40]}，本程序只读取 1。",
            ))  # fmt: skip
        system = about.get("os")
        if not isinstance(system, str) or not system:
            raise BadRecording(Text(
                f"{self._name}: recording.json names no operating system (key `os`).",
                f"{self._name}：recording.json 没有写明操作系统（键 `os`）。",
            ))  # fmt: skip
        self._os = {"darwin": "macos"}.get(system.lower(), system.lower())
        self._store = store
        self._answers = {key: self._mapping(about, key) for key in ("env", "which", "access", "disk", "calls")}
        self._commands = self._listed(about)
        self._files: dict[str, Callable[[], bytes | str]] = {}
        self._links: dict[str, str] = {}
        self._folders: dict[str, set[str]] = {"/": set()}
        self._fill(store, about.get("fs"))

    @property
    def os(self) -> str:
        return self._os

    def read(self, path: str) -> Reading:
        if self._denied(path):
            return Reading(status="denied", source=path)
        # As it was asked first: a recording of ours holds answers under the path that was asked, whatever it led through.
        load = self._files.get(self._key(path))
        if load is None and (place := self._followed(self._key(path))) is not None:
            load = self._files.get(place)
        if load is None:
            return Reading(status="missing", source=path)
        content = load()
        text = content if isinstance(content, str) else decoded(content)
        return Reading(status="ok", text=text[:READ_LIMIT_BYTES], source=path)

    def list(self, path: str) -> Reading:
        if self._denied(path):
            return Reading(status="denied", source=path)
        place = self._followed(self._key(path))
        names = self._folders.get(self._key(path)) or (self._folders.get(place) if place is not None else None)
        if names is None:
            return Reading(status="missing", source=path)
        return Reading(status="ok", names=tuple(sorted(names)), source=path)

    def link(self, path: str) -> Reading:
        key = self._key(path)
        parent = self._followed(posixpath.dirname(key))
        target = self._links.get(key)
        if target is None:
            target = self._links.get(posixpath.join(parent, posixpath.basename(key))) if parent is not None else None
        if target is None:
            return Reading(status="missing", source=path)
        return Reading(status="ok", text=target, source=path)

    def access(self, path: str) -> Reading:
        told = self._answers["access"].get(path)
        if isinstance(told, str):
            return Reading(status="ok", text="".join(c for c in "rwx" if c in told), source=path)
        place = self._followed(self._key(path))
        if place is None or (place not in self._files and place not in self._folders):
            return Reading(status="missing", source=path)
        return Reading(status="ok", text="rx" if place in self._folders else "r", source=path)

    def disk(self, path: str) -> Reading:
        told = self._answers["disk"].get(path)
        if isinstance(told, list) and len(told) == 2 and all(isinstance(n, int) and 0 <= n < 1 << 63 for n in told):
            return Reading(status="ok", numbers=(told[0], told[1]), source=path)
        return Reading(status="missing", source=path)

    def run(self, argv: Sequence[str], limit_s: float = COMMAND_LIMIT_S) -> Reading:
        line = " ".join(argv)
        command = next((c for c in self._commands if c[0] == tuple(argv)), None)
        command = command or next((c for c in self._commands if c[1] == line), None)
        return Reading(status="missing", source=line) if command is None else self._output(command)

    def env(self, name: str) -> Reading:
        return self._word("env", name, f"environment variable {name}")

    def which(self, name: str) -> Reading:
        return self._word("which", name, f"which {name}")

    def call(self, name: str, arguments: str = "") -> Reading:
        source = f"{name}({arguments})"
        if name == COMMANDS_CALL:
            lines = [c[1] for c in self._commands if program_name(c[1]) == arguments]
            return Reading(status="ok", text=json.dumps(lines), source=source)
        told = self._answers["calls"].get(source)
        if told is None:
            return Reading(status="missing", source=source)
        if isinstance(told, dict) and set(told) == {"status"} and told["status"] in ("denied", "timed_out", "failed"):
            return Reading(status=told["status"], source=source)
        return Reading(status="ok", text=told if isinstance(told, str) else json.dumps(told), source=source)

    def _word(self, part: str, name: str, source: str) -> Reading:
        told = self._answers[part].get(name)
        if not isinstance(told, str):
            return Reading(status="missing", source=source)
        return Reading(status="ok", text=told, source=source)

    def _denied(self, path: str) -> bool:
        told = self._answers["access"].get(path)
        return isinstance(told, str) and "r" not in told

    def _output(self, command: Command) -> Reading:
        _, line, rc, name = command
        if rc is None:  # it did not end within its limit when it was recorded
            return Reading(status="timed_out", source=line)
        content = self._store.content(name)
        if content is None:
            return Reading(status="missing", source=line)
        return Reading(
            status="ok" if rc == 0 else "failed", text=decoded(content[:READ_LIMIT_BYTES]), source=line, rc=rc
        )

    # --- reading the recording itself ---------------------------------------------------------------------------

    def _object(self, store: _Store, name: str) -> dict[str, Any] | None:
        content = store.content(name, LIMIT_INDEX_BYTES)
        if content is None:
            return None
        try:
            value = json.loads(decoded(content))
        except (ValueError, RecursionError) as error:
            raise BadRecording(Text(
                f"{self._name}: {name} is not JSON: {str(error)[:120]}.",
                f"{self._name}：{name} 不是 JSON：{str(error)[:120]}。",
            )) from None  # fmt: skip
        if not isinstance(value, dict):
            raise BadRecording(Text(
                f"{self._name}: {name} holds a {type(value).__name__} where keys and values are expected.",
                f"{self._name}：{name} 的内容是 {type(value).__name__}，应为键值映射。",
            ))  # fmt: skip
        return value

    def _mapping(self, about: dict[str, Any], key: str) -> dict[str, Any]:
        value = about.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise BadRecording(Text(
                f"{self._name}: recording.json: key `{key}` is no mapping.",
                f"{self._name}：recording.json：键 `{key}` 不是键值映射。",
            ))  # fmt: skip
        return value

    def _listed(self, about: dict[str, Any]) -> Commands:
        listed = about.get("commands", [])
        listed = [] if listed is None else listed
        if not isinstance(listed, list):
            raise BadRecording(Text(
                f"{self._name}: recording.json: key `commands` is no list.",
                f"{self._name}：recording.json：键 `commands` 不是列表。",
            ))  # fmt: skip
        commands: Commands = []
        for number, one in enumerate(listed[:10_000]):
            argv = one.get("argv") if isinstance(one, dict) else None
            argv = argv.split() if isinstance(argv, str) else argv
            file, rc = (one.get("file"), one.get("rc", 0)) if isinstance(one, dict) else (None, 0)
            words = argv if isinstance(argv, list) and all(isinstance(word, str) for word in argv) else None
            if words is None or not isinstance(file, str) or not (rc is None or isinstance(rc, int)):
                raise BadRecording(Text(
                    f"{self._name}: recording.json: command {number} needs argv (words), rc and file.",
                    f"{self._name}：recording.json：第 {number} 条命令需要 argv（单词列表）、rc 和 file。",
                ))  # fmt: skip
            line = one.get("line")
            name = file if file.startswith("cmd/") else f"cmd/{file}"
            commands.append((tuple(words), line if isinstance(line, str) else " ".join(words), rc, name))
        return commands

    def _fill(self, store: _Store, kind: Any) -> None:
        if kind not in ("root", "fs.json", "none", None):
            raise BadRecording(Text(
                f"{self._name}: recording.json: key `fs` is {str(kind)[:40]!r}; root, fs.json or none is read.",
                f"{self._name}：recording.json：键 `fs` 是 {str(kind)[:40]!r}；允许 root、fs.json 或 none。",
            ))  # fmt: skip
        for name in store.names:
            if name.startswith("root/"):
                self._add("/" + name.removeprefix("root/"), self._loader(name))
        for name, target in store.links.items():
            if name.startswith("root/"):
                self._add_link("/" + name.removeprefix("root/"), target)
        packed = self._object(store, "fs.json") if kind != "none" else None
        if packed is None:
            return
        files, links, dirs = packed.get("files") or {}, packed.get("links") or {}, packed.get("dirs") or []
        if not isinstance(files, dict) or not isinstance(links, dict) or not isinstance(dirs, list):
            raise BadRecording(Text(
                f"{self._name}: fs.json needs files (mapping), links (mapping) and dirs (list).",
                f"{self._name}：fs.json 需要 files（映射）、links（映射）和 dirs（列表）。",
            ))  # fmt: skip
        if len(files) + len(links) + len(dirs) > LIMIT_ENTRIES:
            raise BadRecording(Text(
                f"{self._name}: fs.json lists more than {LIMIT_ENTRIES} entries.",
                f"{self._name}：fs.json 的条目超过 {LIMIT_ENTRIES} 个。",
            ))  # fmt: skip
        for path, text in files.items():
            if isinstance(text, str):
                self._add(path, _kept(text))
        for path, target in links.items():
            if isinstance(target, str):
                self._add_link(path, target)
        for path in dirs:
            if isinstance(path, str):
                key = self._key(path)
                self._folders.setdefault(key, set())
                self._above(key)

    def _loader(self, name: str) -> Callable[[], bytes]:
        return lambda: self._store.content(name) or b""

    def _key(self, path: str) -> str:
        """PATH as it is indexed: forward slashes, no . or .., Windows paths in lower case."""
        if self._os == "windows":
            path = path.replace("\\", "/").lower()
        return posixpath.normpath("/" + path.lstrip("/"))

    def _add(self, path: str, load: Callable[[], bytes | str]) -> None:
        key = self._key(path)
        self._files[key] = load
        self._above(key)

    def _add_link(self, path: str, target: str) -> None:
        key = self._key(path)
        self._links[key] = target
        self._above(key)

    def _above(self, key: str) -> None:
        while key != "/":
            parent, name = posixpath.split(key)
            names = self._folders.setdefault(parent, set())
            if name in names:
                return
            names.add(name)
            key = parent

    def _followed(self, key: str) -> str | None:
        """KEY with every link on its way followed inside the recording; None where links do not end."""
        if not self._links:
            return key
        hops = 0
        done, left = "/", [part for part in key.split("/") if part]
        left.reverse()
        while left:
            part = left.pop()
            if part == "..":
                done = posixpath.dirname(done)
                continue
            if part in (".", ""):
                continue
            here = posixpath.join(done, part)
            target = self._links.get(here)
            if target is None:
                done = here
                continue
            hops += 1
            if hops > LIMIT_HOPS:
                return None
            if target.startswith("/"):
                done = "/"
            left.extend(reversed(target.split("/")))
            if len(left) > 4096:
                return None
        return done


def program_name(line: str) -> str:
    """The program that a command line starts, without folder and .exe: nvidia-smi of `C:\\X\\nvidia-smi.exe -q`."""
    first = line.split(" ", 1)[0].replace("\\", "/").rsplit("/", 1)[-1].lower()
    return first.removesuffix(".exe")


def _kept(text: str) -> Callable[[], str]:
    return lambda: text


class _Store:
    """Named contents and links of a recording, whatever holds them."""

    names: frozenset[str]
    links: Mapping[str, str]

    def content(self, name: str, limit: int = READ_LIMIT_BYTES) -> bytes | None:
        raise NotImplementedError


class _Folder(_Store):
    """A folder. Links in it are data: they are followed inside the recording and never on this machine."""

    def __init__(self, place: Path, name: str) -> None:
        import os

        self._place, self._name = place, name
        if not os.path.lexists(place / "recording.json"):
            # Asked before anything is walked: the folder may be a whole disk.
            raise BadRecording(Text(
                f"{name}: holds no recording.json, so it is no recording of a machine.",
                f"{name}：没有 recording.json，因此不是机器记录。",
            ))  # fmt: skip
        names: list[str] = []
        links: dict[str, str] = {}
        top = str(place)
        for folder, folders, files in os.walk(top, followlinks=False):
            inside = os.path.relpath(folder, top).replace(os.sep, "/")
            prefix = "" if inside == "." else inside + "/"
            for entry in (*folders, *files):
                full = Path(folder, entry)
                try:
                    if full.is_symlink():
                        links[prefix + entry] = str(full.readlink())
                except OSError as error:
                    raise BadRecording(Text(
                        f"{name}: {prefix}{entry} cannot be read: {error.strerror or error}.",
                        f"{name}：无法读取 {prefix}{entry}：{error.strerror or error}。",
                    )) from None  # fmt: skip
            names += [prefix + entry for entry in files if prefix + entry not in links]
            if len(names) + len(links) > LIMIT_ENTRIES:
                raise BadRecording(Text(
                    f"{name}: holds more than {LIMIT_ENTRIES} files, more than any recording.",
                    f"{name}：文件超过 {LIMIT_ENTRIES} 个，机器记录不会有这么多。",
                ))  # fmt: skip
        self.names = frozenset(names)
        self.links = links

    def content(self, name: str, limit: int = READ_LIMIT_BYTES) -> bytes | None:
        if name not in self.names:
            return None
        path = self._place / name
        try:
            if not path.is_file():  # a FIFO or a device must not be opened
                return None
            if limit == LIMIT_INDEX_BYTES and path.stat().st_size > limit:
                raise BadRecording(Text(
                    f"{self._name}: {name} is larger than {limit // 1_000_000} MB.",
                    f"{self._name}：{name} 大于 {limit // 1_000_000} MB。",
                ))  # fmt: skip
            with path.open("rb") as stream:
                return stream.read(limit)
        except OSError as error:
            raise BadRecording(Text(
                f"{self._name}: {name} cannot be read: {error.strerror or error}.",
                f"{self._name}：无法读取 {name}：{error.strerror or error}。",
            )) from None  # fmt: skip


class _Zip(_Store):
    """A zip, read in memory; nothing of it is unpacked to disk."""

    def __init__(self, place: Path, name: str) -> None:
        self._name = name
        try:
            self._archive = zipfile.ZipFile(place)
            infos = self._archive.infolist()
        except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError, UnicodeError) as error:
            raise BadRecording(Text(
                f"{name}: cannot be opened as a recording (folder or zip): {str(error)[:120]}.",
                f"{name}：无法作为机器记录（文件夹或 zip）打开：{str(error)[:120]}。",
            )) from None  # fmt: skip
        if len(infos) > LIMIT_ENTRIES:
            raise BadRecording(Text(
                f"{name}: holds more than {LIMIT_ENTRIES} files, more than any recording.",
                f"{name}：文件超过 {LIMIT_ENTRIES} 个，机器记录不会有这么多。",
            ))  # fmt: skip
        whole = {info.filename: info for info in infos if not info.is_dir()}
        for filename in whole:
            parts = filename.replace("\\", "/").split("/")
            if filename.startswith(("/", "\\")) or ".." in parts:
                raise BadRecording(Text(
                    f"{name}: the file name {filename[:80]!r} leads out of the recording.",
                    f"{name}：文件名 {filename[:80]!r} 指向记录之外。",
                ))  # fmt: skip
        # A zip of a folder often has that folder on top.
        self._prefix = ""
        if "recording.json" not in whole:
            tops = [n.removesuffix("recording.json") for n in whole if n.count("/") == 1 and n.endswith("/recording.json")]
            self._prefix = tops[0] if len(tops) == 1 else ""
        self._infos = {n.removeprefix(self._prefix): info for n, info in whole.items() if n.startswith(self._prefix)}
        self.links = {}
        for inner, info in list(self._infos.items()):
            if (info.external_attr >> 16) & 0o170000 == 0o120000:
                self.links[inner] = decoded(self._bytes(info, 4096))
                del self._infos[inner]
        self.names = frozenset(self._infos)

    def content(self, name: str, limit: int = READ_LIMIT_BYTES) -> bytes | None:
        info = self._infos.get(name)
        if info is None:
            return None
        if limit == LIMIT_INDEX_BYTES and info.file_size > limit:
            raise BadRecording(Text(
                f"{self._name}: {name} is larger than {limit // 1_000_000} MB.",
                f"{self._name}：{name} 大于 {limit // 1_000_000} MB。",
            ))  # fmt: skip
        return self._bytes(info, limit)

    def _bytes(self, info: zipfile.ZipInfo, limit: int) -> bytes:
        import zlib

        try:
            with self._archive.open(info) as stream:
                return stream.read(limit)
        except (OSError, zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError, ValueError) as error:
            raise BadRecording(Text(
                f"{self._name}: {info.filename[:80]} is damaged: {str(error)[:120]}.",
                f"{self._name}：{info.filename[:80]} 已损坏：{str(error)[:120]}。",
            )) from None  # fmt: skip


def record(host: Host, out: Path, progress: Progress | None = None) -> None:
    """Run every probe on HOST and write its answers to the zip OUT, personal details replaced. Raises OSError, Cancelled."""
    from probes import machine
    from probes.neutral import Neutral
    from probes.recording_host import RecordingHost

    asked = RecordingHost(host)
    machine.probe(asked, progress=progress)
    if progress is not None:
        progress.check()
    home = host.env("USERPROFILE" if host.os == "windows" else "HOME")
    user = next((r.text for name in ("USERNAME", "USER", "LOGNAME") if (r := host.env(name)).ok and r.text), None)
    if user is None and home.ok:
        user = home.text.rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1]
    computer = next((r.text.strip() for r in (host.env("COMPUTERNAME"), host.read("/etc/hostname"), host.call("computer_name")) if r.ok), None)
    asked.write(out, Neutral(system=host.os, home=home.text if home.ok else None, user=user, computer=computer))
