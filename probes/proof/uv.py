"""The uv program: where it is, and this user's package settings in uv's own words."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from knowledge.plan import PackageSettings
from probes import child

CONNECT_LIMIT_S = 6
RESOLVE_LIMIT_S = 300.0

# What a child may inherit: places, languages and the user's own route to the network; never PYTHON*, PIP_*, UV_*, LD_*.
INHERITED = (
    "HOME", "USER", "LOGNAME", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA",
    "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "PROGRAMFILES", "TEMP", "TMP", "TMPDIR",
    "XDG_CACHE_HOME", "XDG_DATA_HOME", "UV_CACHE_DIR", "NETRC", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
)  # fmt: skip


# The uv package asks `sysconfig`, whose first use is not safe in several threads at once (its table is seen half filled).
ONE_AT_A_TIME = threading.Lock()


class NoUv(Exception):
    """The uv program is not there; the message says where it was looked for."""


def find() -> str:
    """The uv program of the `uv` package, or beside a packaged program. Raises NoUv."""
    name = "uv.exe" if os.name == "nt" else "uv"
    folder = Path(sys.executable).parent
    beside = folder / name
    if getattr(sys, "frozen", False):
        # A packaged program keeps its parts in a folder of their own beside it.
        for place in (beside, Path(getattr(sys, "_MEIPASS", folder)) / name):
            if place.is_file():
                return str(place)
    try:
        import uv

        with ONE_AT_A_TIME:
            return str(uv.find_uv_bin())
    except (ImportError, FileNotFoundError):
        if beside.is_file():
            return str(beside)
        raise NoUv(f"uv was looked for in the `uv` package and at {beside}; install it with: pip install uv") from None


def merged(settings: PackageSettings) -> PackageSettings:
    """SETTINGS as one question needs them: uv's own where the user made some, with pip's beside or in their place.

    uv itself reads nothing of pip's, so a command for uv has to spell out whatever comes from pip's here.
    """
    have = settings
    return msgspec.structs.replace(
        have,
        index_url=have.uv_index_url or have.index_url,
        extra_index_urls=_both(have.uv_extra_index_urls, have.extra_index_urls),
        find_links=_both(have.uv_find_links, have.find_links),
        constraints=_both(have.uv_constraints, have.constraints),
        trusted_hosts=_both(have.uv_trusted_hosts, have.trusted_hosts),
        no_index=have.uv_no_index or have.no_index,
        certificate=have.uv_certificate or have.certificate,
        proxy=have.uv_proxy or have.proxy,
        timeout_s=have.uv_timeout_s or have.timeout_s,
    )


def _both(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def system_path() -> str:
    """PATH for children: this process's, without relative entries and without the current folder."""
    entries = [p for p in os.environ.get("PATH", os.defpath).split(os.pathsep) if Path(p).is_absolute()]
    return os.pathsep.join(entries)


def inherited(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """The allowed part of ENVIRONMENT (default: ours), with an absolute PATH."""
    have = os.environ if environment is None else environment
    kept = {name: have[name] for name in INHERITED if have.get(name)}
    return {**kept, "PATH": system_path()}


def environment(settings: PackageSettings, *, retries: int = 0, offline: bool = False) -> dict[str, str]:
    """Variables for one uv call that state SETTINGS; addresses with a login stay out of the argument list this way."""
    settings = merged(settings)
    values = inherited()
    values |= {
        "UV_NO_CONFIG": "1",
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_NO_PROGRESS": "1",
        "UV_HTTP_RETRIES": str(retries),
        "UV_HTTP_CONNECT_TIMEOUT": str(CONNECT_LIMIT_S),
        "UV_HTTP_TIMEOUT": str(int(settings.timeout_s or 30)),
        "NO_COLOR": "1",
        "LC_ALL": "C.UTF-8",
    }
    if settings.index_url:
        values["UV_DEFAULT_INDEX"] = settings.index_url
    if settings.extra_index_urls:
        # pip weighs all its indexes alike; uv would stop at the first one that knows the name.
        values["UV_INDEX"] = " ".join(settings.extra_index_urls)
        values["UV_INDEX_STRATEGY"] = settings.uv_index_strategy or "unsafe-best-match"
    if settings.no_index:
        values["UV_NO_INDEX"] = "1"
    if settings.certificate:
        values["SSL_CERT_FILE"] = settings.certificate
    if settings.uv_system_certificates:
        values["UV_SYSTEM_CERTS"] = "1"
    if settings.no_proxy:
        values["NO_PROXY"] = settings.no_proxy
    if settings.proxy:
        proxy = settings.proxy if "://" in settings.proxy else f"http://{settings.proxy}"
        values |= {"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "ALL_PROXY": proxy}
    if settings.offline or offline:
        values["UV_OFFLINE"] = "1"
    return values


def arguments(settings: PackageSettings, *, constraints: bool = True) -> list[str]:
    """Options for `uv pip …` that state what no variable can: find-links places, constraint files, trusted hosts.

    CONSTRAINTS are left out when a lock is installed: it was made under them, and hash checking refuses ranges.
    """
    settings = merged(settings)
    words: list[str] = []
    for place in settings.find_links:
        words += ["--find-links", place]
    for file in settings.constraints if constraints else ():
        words += ["--constraints", file]
    for host in settings.trusted_hosts:
        words += ["--allow-insecure-host", host]
    return words


def run(
    words: Sequence[str],
    settings: PackageSettings,
    *,
    limit_s: float = RESOLVE_LIMIT_S,
    retries: int = 0,
    offline: bool = False,
    folder: str | None = None,
    more: Mapping[str, str] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> child.Done:
    """One short uv call (resolving, finding a Python) under the user's settings. Raises NoUv."""
    return child.run(
        [find(), *words], limit_s=limit_s, environment={**environment(settings, retries=retries, offline=offline), **(more or {})},
        folder=folder, cancelled=cancelled,
    )  # fmt: skip
