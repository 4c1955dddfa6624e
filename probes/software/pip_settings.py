"""What pip would do by itself here: its files in their order, its variables, and which of them wins."""

from __future__ import annotations

import msgspec

from probes.host import Reading
from probes.software.places import Machine

# Other names of an option that pip accepts in files and variables.
_ALIASES = {"pypi-url": "index-url"}
OPTIONS = (
    "index-url", "extra-index-url", "find-links", "constraint", "cert", "proxy", "no-index", "trusted-host", "timeout",
)  # fmt: skip
_VARIABLES = (*OPTIONS, "pypi-url", "default-timeout")
SECTIONS = ("global", "install")


class Told(msgspec.Struct, frozen=True):
    """One setting's text and where it stands."""

    value: str
    source: str


def read(machine: Machine, prefix: str | None = None) -> tuple[dict[str, Told], tuple[str, ...]]:
    """The options in force, and the files that pip could not read either (it then refuses to start).

    pip merges its files (machine, user, base installation, environment PREFIX, PIP_CONFIG_FILE: the later wins, per
    section and option). Then the section [install] outranks [global] whatever file each came from, and a variable
    outranks both. An empty value is no value. From pip's documentation, "Configuration".
    """
    merged: dict[tuple[str, str], Told] = {}
    unreadable: list[str] = []
    for path in files(machine, prefix):
        reading = machine.host.read(path)
        if reading.status == "denied":
            unreadable.append(f"{path}: permission denied")
        if not reading.ok:
            continue
        parsed = _parsed(reading)
        if isinstance(parsed, str):
            unreadable.append(f"{path}: {parsed}")
            continue
        merged.update(parsed)
    told: dict[str, Told] = {}
    for section in SECTIONS:
        for (part, option), one in merged.items():
            if part == section and one.value:
                told[_ALIASES.get(option, option)] = one
    for option in _VARIABLES:
        name = "PIP_" + option.upper().replace("-", "_")
        value = machine.variable(name)
        if value is not None:
            told[_ALIASES.get(option, "timeout" if option == "default-timeout" else option)] = Told(value, name)
    return told, tuple(unreadable)


def files(machine: Machine, prefix: str | None = None) -> tuple[str, ...]:
    """pip's configuration files on this system, the weakest first; none where PIP_CONFIG_FILE is the null device."""
    named = machine.variable("PIP_CONFIG_FILE")
    if named is not None and named.lower() in ("/dev/null", "nul"):
        return ()
    name = "pip.ini" if machine.windows else "pip.conf"
    paths = [*_of_machine(machine, name)]
    if named is None or not machine.host.read(named).ok:
        paths += _of_user(machine, name)
    prefix = prefix or machine.variable("VIRTUAL_ENV") or machine.variable("CONDA_PREFIX")
    if prefix:
        paths.append(machine.join(prefix, name))
    if named is not None:
        paths.append(named)
    return tuple(paths)


def _of_machine(machine: Machine, name: str) -> list[str]:
    if machine.windows:
        return [machine.join(machine.variable("ProgramData") or "C:\\ProgramData", "pip", name)]
    if machine.host.os == "macos":
        return [machine.join("/Library/Application Support/pip", name)]
    folders = (machine.variable("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")
    return [machine.join(folder, "pip", name) for folder in folders if folder] + [machine.join("/etc", name)]


def _of_user(machine: Machine, name: str) -> list[str]:
    home = machine.home
    if machine.windows:
        paths = [machine.join(home, "pip", name)] if home else []
        roaming = machine.variable("APPDATA")
        return [*paths, machine.join(roaming, "pip", name)] if roaming else paths
    if home is None:
        return []
    config = machine.variable("XDG_CONFIG_HOME") or machine.join(home, ".config")
    if machine.host.os == "macos":
        own = machine.join(home, "Library/Application Support/pip")
        config_file = machine.join(own if machine.host.list(own).ok else machine.join(home, ".config", "pip"), name)
    else:
        config_file = machine.join(config, "pip", name)
    return [machine.join(home, ".pip", name), config_file]


def _parsed(reading: Reading) -> dict[tuple[str, str], Told] | str:
    """Section and option to value; a sentence where pip would not read the file."""
    import configparser  # here: most machines have no such file

    parser = configparser.RawConfigParser()
    try:
        parser.read_string(reading.text)
        return {
            (section, option.lower().replace("_", "-").removeprefix("--")): Told(value or "", reading.source)
            for section in parser.sections()
            for option, value in parser.items(section)
        }
    except configparser.Error as error:
        return str(error).splitlines()[0]
