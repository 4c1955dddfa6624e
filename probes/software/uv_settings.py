"""What uv would do by itself here: its own files and variables; it reads none of pip's."""

from __future__ import annotations

from typing import Any

import msgspec

from probes.software.pip_settings import Told
from probes.software.places import Machine


class UvSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings in force for `uv pip`, with the place of each in `sources`."""

    index_url: str | None = None
    extra_index_urls: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    no_index: bool = False
    offline: bool = False
    trusted_hosts: tuple[str, ...] = ()
    system_certificates: bool | None = None
    timeout_s: float | None = None
    proxy: str | None = None
    index_strategy: str | None = None
    sources: dict[str, str] = {}
    unreadable: tuple[str, ...] = ()


def read(machine: Machine) -> UvSettings:
    """uv.toml of user and machine (the user's wins, lists are joined), then the variables, which win over both.

    UV_CONFIG_FILE stands in for both files, UV_NO_CONFIG for none. A project's own file is not read here: it belongs
    to the project, not to the machine. From uv's documentation, "Configuration files" and "Package indexes".
    """
    tables, unreadable = _tables(machine)
    sources: dict[str, str] = {}

    def scalar(key: str, *variables: str) -> Any:
        for name in variables:
            value = machine.variable(name)
            if value is not None:
                sources[key] = name
                return value.strip()
        for path, table in tables:
            for part in (table.get("pip"), table):
                if isinstance(part, dict) and part.get(key) is not None:
                    sources[key] = path
                    return part[key]
        return None

    def listed(key: str, *variables: str) -> tuple[str, ...]:
        values: list[str] = []
        for name in variables:
            value = machine.variable(name)
            if value is not None:
                sources.setdefault(key, name)
                parts = value.split(",") if key == "find-links" else value.split()
                values += [part.strip() for part in parts if part.strip()]
        for path, table in tables:
            for part in (table.get("pip"), table):
                inner = part.get(key) if isinstance(part, dict) else None
                if isinstance(inner, list):
                    sources.setdefault(key, path)
                    values += [item for item in inner if isinstance(item, str)]
        return tuple(dict.fromkeys(values))

    default, extra = _indexes(machine, tables, sources)
    index_url = scalar("index-url", "UV_DEFAULT_INDEX", "UV_INDEX_URL") if default is None else default.value
    if default is not None:
        sources["index-url"] = default.source
    return UvSettings(
        index_url=_address(index_url),
        extra_index_urls=tuple(dict.fromkeys((*extra, *listed("extra-index-url")))),
        find_links=listed("find-links", "UV_FIND_LINKS"),
        constraints=listed("constraint", "UV_CONSTRAINT"),
        no_index=is_true(scalar("no-index", "UV_NO_INDEX")),
        offline=is_true(scalar("offline", "UV_OFFLINE")),
        trusted_hosts=listed("allow-insecure-host", "UV_INSECURE_HOST"),
        system_certificates=_maybe(
            scalar("system-certs", "UV_SYSTEM_CERTS") or scalar("native-tls", "UV_NATIVE_TLS")
        ),
        timeout_s=seconds(scalar("http-timeout", "UV_HTTP_TIMEOUT", "UV_REQUEST_TIMEOUT", "HTTP_TIMEOUT")),
        proxy=_text(scalar("https-proxy")) or _text(scalar("http-proxy")),
        index_strategy=_text(scalar("index-strategy", "UV_INDEX_STRATEGY")),
        sources=sources,
        unreadable=unreadable,
    )


def is_true(value: Any) -> bool:
    """The words for yes of both clients' variables; True of a TOML file."""
    return value is True or (isinstance(value, str) and value.strip().lower() in ("1", "true", "t", "yes", "y", "on"))


def seconds(value: Any) -> float | None:
    """VALUE as a positive number of seconds; None where it is none."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if 0 < number < 1e6 else None


def _tables(machine: Machine) -> tuple[list[tuple[str, dict[str, Any]]], tuple[str, ...]]:
    """Path and content of the files in force, the strongest first."""
    if is_true(machine.variable("UV_NO_CONFIG")):
        return [], ()
    named = machine.variable("UV_CONFIG_FILE")
    if named:
        choices = [[named]]
    elif machine.windows:
        choices = [
            [machine.join(base, "uv", "uv.toml")]
            for base in (machine.variable("APPDATA"), machine.variable("ProgramData") or "C:\\ProgramData")
            if base
        ]
    else:
        user = machine.variable("XDG_CONFIG_HOME") or (machine.join(machine.home, ".config") if machine.home else None)
        system = (machine.variable("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")
        choices = [[machine.join(user, "uv", "uv.toml")]] if user else []
        # Of the machine's files uv uses the first that is there.
        choices.append([*(machine.join(folder, "uv", "uv.toml") for folder in system if folder), "/etc/uv/uv.toml"])
    tables: list[tuple[str, dict[str, Any]]] = []
    unreadable: list[str] = []
    for paths in choices:
        for path in paths:
            reading = machine.host.read(path)
            if reading.status == "denied":
                unreadable.append(f"{path}: permission denied")
            if not reading.ok:
                continue
            import tomllib  # here: most machines have no such file

            try:
                tables.append((path, tomllib.loads(reading.text)))
            except (tomllib.TOMLDecodeError, RecursionError) as error:
                unreadable.append(f"{path}: {str(error).splitlines()[0] if str(error) else 'not TOML'}")
            break
    return tables, tuple(unreadable)


def _indexes(
    machine: Machine, tables: list[tuple[str, dict[str, Any]]], sources: dict[str, str]
) -> tuple[Told | None, list[str]]:
    """The default index and the others: those of the variables, then [[index]] of the files in their order.

    An index marked explicit serves only packages that name it, so it is none of these.
    """
    default: Told | None = None
    others: list[str] = []
    named = machine.variable("UV_DEFAULT_INDEX") or machine.variable("UV_INDEX_URL")
    if named:
        default = Told(named.strip(), "UV_DEFAULT_INDEX" if machine.variable("UV_DEFAULT_INDEX") else "UV_INDEX_URL")
    for name in ("UV_INDEX", "UV_EXTRA_INDEX_URL"):
        if value := machine.variable(name):
            others += value.split()
            sources.setdefault("extra-index-url", name)
    for path, table in tables:
        entries = table.get("index")
        for entry in entries if isinstance(entries, list) else ():
            if not isinstance(entry, dict) or not isinstance(entry.get("url"), str) or entry.get("explicit") is True:
                continue
            if entry.get("default") is True:
                default = default or Told(entry["url"], path)
            else:
                others.append(entry["url"])
                sources.setdefault("extra-index-url", path)
    return default, [address for other in others if (address := _address(other))]


def _address(value: Any) -> str | None:
    """The address of `name=address` or of a plain address."""
    text = _text(value)
    if text is None:
        return None
    name, equals, rest = text.partition("=")
    return rest if equals and "/" not in name and ":" not in name else text


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _maybe(value: Any) -> bool | None:
    return None if value is None else is_true(value)
