"""Native calls of the software probes: the first bytes of a program, the version inside it, what the system has set."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from probes import native

HEAD_BYTES = 1024
SCAN_LIMIT_BYTES = 64_000_000


def cwd(_arguments: str) -> str:
    """The folder this program was started in."""
    try:
        return str(Path.cwd())
    except OSError as error:  # the folder was removed under us
        raise native.CallFailed(str(error), "missing") from error


def file_head(path: str) -> str:
    """The first 1024 bytes of the program PATH as hexadecimal digits; its format and processor stand there."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        try:
            return os.read(descriptor, HEAD_BYTES).hex()
        finally:
            os.close(descriptor)
    except OSError as error:
        raise _failed(error) from error


def python_version(arguments: str) -> str:
    """The full version ("3.12.3") compiled into a Python program or library. ARGUMENTS: "3.12 /path/to/it".

    The interpreter keeps its version as a C string of its own (Py_GetVersion builds on it); the file is only searched.
    """
    minor, _, path = arguments.partition(" ")
    needle = b"\0" + minor.encode() + b"."
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0 or size > SCAN_LIMIT_BYTES:
                raise native.CallFailed(f"{path} is {size} bytes", "missing")
            with contextlib.closing(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)) as content:
                place = content.find(needle)
                while place >= 0:
                    found = re.match(rb"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?\+?(?=\0)", content[place + 1 : place + 24])
                    if found:
                        return found[0].decode().rstrip("+")
                    place = content.find(needle, place + 1)
    except (OSError, ValueError) as error:
        raise _failed(error) from error
    raise native.CallFailed(f"no version {minor} in {path}", "missing")


def registry_pythons(_arguments: str) -> str:
    r"""Pythons that Windows knows (PEP 514), JSON [{"company", "tag", "path", "version", "arch"}].

    Read from SOFTWARE\Python of the user and of the machine, in the 64-bit and the 32-bit view.
    """
    if sys.platform != "win32":
        raise native.CallFailed("only Windows has a registry", "missing")
    import winreg

    def children(key: Any) -> list[str]:
        names: list[str] = []
        with contextlib.suppress(OSError):
            while True:
                names.append(winreg.EnumKey(key, len(names)))
        return names

    def value(key: Any, name: str) -> str | None:
        try:
            return str(winreg.QueryValueEx(key, name)[0])
        except OSError:
            return None

    found: dict[str, dict[str, str | None]] = {}
    views = (winreg.KEY_WOW64_64KEY, winreg.KEY_WOW64_32KEY)
    for root in (winreg.HKEY_CURRENT_USER, winreg.HKEY_LOCAL_MACHINE):
        for view in views:
            access = winreg.KEY_READ | view
            with contextlib.suppress(OSError), winreg.OpenKey(root, r"SOFTWARE\Python", 0, access) as top:
                for company in children(top):
                    with contextlib.suppress(OSError), winreg.OpenKey(top, company, 0, access) as vendor:
                        for tag in children(vendor):
                            with (
                                contextlib.suppress(OSError),
                                winreg.OpenKey(vendor, tag, 0, access) as one,
                                winreg.OpenKey(one, "InstallPath", 0, access) as place,
                            ):
                                path = value(place, "ExecutablePath") or value(place, "")
                                if path and _there(path):  # an entry outlives a folder that was deleted by hand
                                    found.setdefault(
                                        path.lower(),
                                        {
                                            "company": company, "tag": tag, "path": path,
                                            "version": value(one, "Version"), "arch": value(one, "SysArchitecture"),
                                        },
                                    )  # fmt: skip
    return json.dumps(list(found.values()))


def system_proxy(_arguments: str) -> str:
    """The proxy of the system's own settings as "host:port" or an address; pip and uv both use it where no variable is
    set. Windows: Internet Settings of the user; macOS: the network settings. Empty: none is set."""
    if sys.platform == "win32":
        import winreg

        path = r"Software\Microsoft\Windows\CurrentVersion\Internet Settings"
        try:
            with winreg.OpenKey(winreg.HKEY_CURRENT_USER, path) as key:
                if not winreg.QueryValueEx(key, "ProxyEnable")[0]:
                    return ""
                return str(winreg.QueryValueEx(key, "ProxyServer")[0])
        except OSError as error:
            raise _failed(error) from error
    if sys.platform == "darwin":
        from importlib import import_module

        told: dict[str, str] = import_module("_scproxy")._get_proxies()  # what urllib itself asks there
        return told.get("https") or told.get("http") or ""
    raise native.CallFailed("this system has no proxy setting of its own", "missing")


def calls() -> Mapping[str, Callable[[str], str]]:
    """The calls of this module by name."""
    return {
        "cwd": cwd,
        "file_head": file_head,
        "python_version": python_version,
        "registry_pythons": registry_pythons,
        "system_proxy": system_proxy,
    }


def _there(path: str) -> bool:
    return Path(path).exists()


def _failed(error: Exception) -> native.CallFailed:
    if isinstance(error, (FileNotFoundError, NotADirectoryError, IsADirectoryError)):
        return native.CallFailed(str(error), "missing")
    if isinstance(error, PermissionError):
        return native.CallFailed(str(error), "denied")
    return native.CallFailed(str(error), "failed")
