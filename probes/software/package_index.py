"""How this user installs packages: pip's, uv's and conda's own settings, joined to one value with its sources."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from knowledge.facts import Network
from knowledge.plan import Client, PackageSettings
from probes.host import Host
from probes.software import pip_settings, uv_settings
from probes.software.places import Machine
from probes.software.uv_settings import UvSettings

_LISTS = {"extra-index-url": "extra_index_urls", "find-links": "find_links", "constraint": "constraints"}
# Up to the last @: a password may hold any sign, and an index address has no @ of its own.
_USER_INFO = re.compile(r"(?i)((?:[a-z][a-z0-9+.-]*\+)?(?:https?|socks\w*|ftp|ssh|git)://)\S*@")
_QUERY = re.compile(r"(?i)(https?://[^\s?#]*)[?#]\S*")


def settings(host: Host, *, prefix: str | None = None) -> PackageSettings:
    """The settings in force on HOST; `sources` says for each where it was read.

    The plain fields are pip's, the fields that begin with uv_ are uv's. PREFIX: the environment whose own pip.conf
    counts (default: the one that is active).
    """
    machine = Machine(host)
    told, unreadable = pip_settings.read(machine, prefix)
    own = uv_settings.read(machine)
    sources: dict[str, str] = {}
    refused = [*unreadable, *own.unreadable]

    def one(option: str, field: str) -> str | None:
        entry = told.get(option)
        if entry is None:
            return None
        value = entry.value.strip()
        if not _usable(value):
            refused.append(f"{entry.source}: {option}")
            return None
        sources[field] = entry.source
        return value

    def several(option: str, field: str) -> tuple[str, ...]:
        entry = told.get(option)
        if entry is None:
            return ()
        values = [value for value in entry.value.split() if _usable(value)]
        if len(values) < len(entry.value.split()):
            refused.append(f"{entry.source}: {option}")
        if values:
            sources[field] = entry.source
        return tuple(_at_home(machine, value) for value in values)

    certificate = one("cert", "certificate")
    if certificate is None:
        certificate = _first(machine, sources, "certificate", ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"))
    proxy = one("proxy", "proxy") or _first(machine, sources, "proxy", PROXY_VARIABLES)
    uv_proxy = _first(machine, sources, "uv_proxy", PROXY_VARIABLES) or own.proxy
    if (proxy is None or uv_proxy is None) and (system := _system_proxy(machine)) is not None:
        for field, value in (("proxy", proxy), ("uv_proxy", uv_proxy)):
            if value is None:
                sources[field] = "system_proxy()"
        proxy, uv_proxy = proxy or system, uv_proxy or system
    timeout = told.get("timeout")
    if timeout is not None and uv_settings.seconds(timeout.value) is not None:
        sources["timeout_s"] = timeout.source
    no_index = told.get("no-index")
    if no_index is not None:
        sources["no_index"] = no_index.source
    for option, place in own.sources.items():
        sources[_UV_FIELDS.get(option, "uv_" + option.replace("-", "_"))] = place
    uv_lists, uv_refused = _uv_lists(own)
    return PackageSettings(
        index_url=one("index-url", "index_url"),
        extra_index_urls=several("extra-index-url", "extra_index_urls"),
        find_links=several("find-links", "find_links"),
        constraints=several("constraint", "constraints"),
        certificate=certificate,
        proxy=proxy,
        no_proxy=_first(machine, sources, "no_proxy", ("no_proxy", "NO_PROXY")),
        offline=own.offline,
        no_index=no_index is not None and uv_settings.is_true(no_index.value),
        trusted_hosts=several("trusted-host", "trusted_hosts"),
        timeout_s=uv_settings.seconds(timeout.value) if timeout is not None else None,
        uv_index_url=own.index_url if own.index_url and _usable(own.index_url) else None,
        uv_extra_index_urls=uv_lists["extra_index_urls"],
        uv_find_links=tuple(_at_home(machine, value) for value in uv_lists["find_links"]),
        uv_constraints=uv_lists["constraints"],
        uv_no_index=own.no_index,
        uv_trusted_hosts=uv_lists["trusted_hosts"],
        uv_certificate=_first(machine, sources, "uv_certificate", ("SSL_CERT_FILE",)),
        uv_system_certificates=own.system_certificates,
        uv_proxy=uv_proxy,
        uv_timeout_s=own.timeout_s,
        uv_index_strategy=own.index_strategy,
        conda_channels=_conda_channels(machine, sources, refused),
        refused=tuple(refused + uv_refused),
        sources=sources,
    )


# Lower case first, as requests and uv read them. ALL_PROXY comes last: it stands in for the others.
PROXY_VARIABLES = ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
_UV_FIELDS = {
    "extra-index-url": "uv_extra_index_urls", "constraint": "uv_constraints", "allow-insecure-host": "uv_trusted_hosts",
    "http-timeout": "uv_timeout_s", "system-certs": "uv_system_certificates", "native-tls": "uv_system_certificates",
    "https-proxy": "uv_proxy", "http-proxy": "uv_proxy", "offline": "offline",
}  # fmt: skip


def for_client(have: PackageSettings, client: Client) -> PackageSettings:
    """HAVE as CLIENT obeys it: for uv its own settings in the plain fields, for every other client pip's.

    uv reads no pip.conf and no PIP_ variable, so the same request can mean another index there.
    """
    if client != "uv":
        return have
    return msgspec.structs.replace(
        have, index_url=have.uv_index_url, extra_index_urls=have.uv_extra_index_urls, find_links=have.uv_find_links,
        constraints=have.uv_constraints, no_index=have.uv_no_index, trusted_hosts=have.uv_trusted_hosts,
        certificate=have.uv_certificate, proxy=have.uv_proxy, timeout_s=have.uv_timeout_s,
    )  # fmt: skip


def shown(have: PackageSettings) -> PackageSettings:
    """HAVE for display and for what leaves the machine: addresses without user info (name, password, token)."""
    return msgspec.convert(
        {name: value if name == "sources" else _cleaned(value) for name, value in msgspec.structs.asdict(have).items()},
        PackageSettings,
    )


def network(have: PackageSettings) -> Network:
    """The part of HAVE that a machine profile holds, without user info in addresses."""
    clean = shown(have)
    return Network(
        index_url=clean.index_url or clean.uv_index_url,
        extra_index_urls=clean.extra_index_urls or clean.uv_extra_index_urls,
        find_links=clean.find_links or clean.uv_find_links,
        proxy=clean.proxy or clean.uv_proxy,
        certificate=clean.certificate or clean.uv_certificate,
        offline=clean.offline or clean.no_index,
    )


def without_user_info(text: str) -> str:
    """TEXT with user:password@ and queries (they may hold tokens) taken out of every address in it."""
    return _QUERY.sub(r"\1", _USER_INFO.sub(r"\1", text))


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        bare = without_user_info(value)
        # A proxy may be written without a scheme: name:password@host:port.
        return bare.rpartition("@")[2] if "@" in bare and "://" not in bare and ":" in bare else bare
    if isinstance(value, tuple):
        return tuple(_cleaned(item) for item in value)
    return value


def _usable(value: str) -> bool:
    """Whether VALUE can stand in an argument list: not empty, no option, no control character."""
    return bool(value) and not value.startswith("-") and value.isprintable()


def _first(machine: Machine, sources: dict[str, str], field: str, names: tuple[str, ...]) -> str | None:
    for name in names:
        value = machine.variable(name)
        if value is not None and _usable(value.strip()):
            sources[field] = name
            return value.strip()
    return None


def system_proxy_of(text: str) -> str | None:
    """The proxy for https in TEXT, Windows' word for it: "host:port" for all, or "http=host:port;https=host:port"."""
    parts = dict(part.partition("=")[::2] for part in text.split(";") if "=" in part)
    value = (parts.get("https") or parts.get("http") or "") if parts else text
    return value.strip() or None


def _system_proxy(machine: Machine) -> str | None:
    reading = machine.host.call("system_proxy")
    value = system_proxy_of(reading.text) if reading.ok else None
    if value is None or not _usable(value):
        return None
    # Windows writes no scheme; these proxies speak plain HTTP, also for https addresses.
    return value if "://" in value else f"http://{value}"


def _at_home(machine: Machine, place: str) -> str:
    """PLACE with a leading ~ made the user's folder, as pip does for find-links."""
    if machine.home and place.startswith(("~/", "~\\")):
        return machine.join(machine.home, place[2:])
    return place


def _uv_lists(own: UvSettings) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    lists: dict[str, tuple[str, ...]] = {}
    refused: list[str] = []
    for field in ("extra_index_urls", "find_links", "constraints", "trusted_hosts"):
        values: tuple[str, ...] = getattr(own, field)
        lists[field] = tuple(value for value in values if _usable(value))
        if len(lists[field]) < len(values):
            refused.append(f"uv: {field}")
    return lists, refused


def _conda_channels(machine: Machine, sources: dict[str, str], refused: list[str]) -> tuple[str, ...]:
    """Channels of the strongest .condarc that names any: CONDARC, the user's files, the root's, the machine's."""
    paths = [value for value in (machine.variable("CONDARC"),) if value]
    if machine.home:
        paths += [machine.join(machine.home, name) for name in (".condarc", ".conda/.condarc", ".mambarc")]
    for variable in ("CONDA_ROOT", "MAMBA_ROOT_PREFIX", "CONDA_PREFIX"):
        if value := machine.variable(variable):
            paths.append(machine.join(value, ".condarc"))
    paths.append("C:\\ProgramData\\conda\\.condarc" if machine.windows else "/etc/conda/.condarc")
    for path in paths:
        reading = machine.host.read(path)
        if not reading.ok or "channels" not in reading.text:
            continue
        import yaml

        try:
            content = yaml.safe_load(reading.text[:100_000])
        except (yaml.YAMLError, RecursionError, ValueError):
            refused.append(f"{path}: not YAML")
            continue
        channels = content.get("channels") if isinstance(content, dict) else None
        if isinstance(channels, list):
            sources["conda_channels"] = path
            return tuple(item for item in channels if isinstance(item, str) and _usable(item))[:20]
    return ()
