"""Settings and reach of the network, as far as packages and models come through it."""

# ruff: noqa: E501 - a wide character counts twice
from __future__ import annotations

import re
from collections.abc import Iterator

from knowledge.diagnosis.situation import Machine, found
from knowledge.explain import remedy
from knowledge.facts import Finding

LOCAL = re.compile(r"^(localhost|127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|\[?::1)")
# Ports on which proxies for one person listen; all of them speak plain HTTP.
HTTP_PORTS = frozenset({"7890", "7891", "7897", "1080", "1087", "10808", "10809", "8080", "8118", "8888", "3128", "2080", "20171"})
MODELS = ("huggingface.co",)


def network(machine: Machine) -> Iterator[Finding]:
    here = machine.profile.network
    yield from _proxy(machine)
    if here.offline is True:
        yield found("network.offline", "info", "network", "This computer has no network; packages and models must be carried over.",
                    "这台电脑没有联网；软件包和模型需要拷贝过来。", machine.fact("network.offline", True), (remedy("carry_wheels"),))  # fmt: skip
        return
    for host, good in sorted(here.reachable.items()):
        if good is not False:
            continue
        yield _unreachable(machine, host)
    for url in (here.index_url, *here.extra_index_urls):
        if url is not None and url.startswith("http://") and not LOCAL.match(url[len("http://") :]):
            yield found("network.certificate", "info", "network", "A package index is set by plain http; pip and uv refuse it unless the host is named as trusted.",
                        "配置的软件源使用明文 http；除非声明信任该主机，否则 pip 和 uv 会拒绝。", machine.fact("network.index_url", _host(url)),
                        (remedy("enable_setting", {"setting": "index-url (https)"}), remedy("add_certificate")))  # fmt: skip
            break


def _host(url: str) -> str:
    return re.sub(r"^[a-z]+://(?:[^/@]*@)?([^/:]+).*", r"\1", url)


def _proxy(machine: Machine) -> Iterator[Finding]:
    proxy = machine.profile.network.proxy
    if not proxy:
        return
    match = re.match(r"^(?:([a-z0-9+.-]+)://)?(?:[^/@]*@)?([^/:]+|\[[^\]]+\])(?::(\d+))?", proxy.strip().lower())
    if match is None:
        return
    scheme, host, port = match.group(1), match.group(2), match.group(3)
    shown = f"{scheme + '://' if scheme else ''}{host}{':' + port if port else ''}"
    right = f"http://{host}{':' + port if port else ''}"
    proof = machine.fact("network.proxy", shown)
    cures = (
        remedy("set_env", {"name": "HTTPS_PROXY", "value": right, "os": machine.profile.system.os or ""}),
        remedy("enable_setting", {"setting": f"proxy = {right}"}),
    )
    if scheme == "https" and (LOCAL.match(host) or port in HTTP_PORTS):
        yield found("network.proxy_scheme", "warning", "network", f"The proxy is written {shown}, but a local proxy speaks plain HTTP: pip fails with SSL or “wrong version number” errors. The scheme of a proxy says how to talk to the proxy, not to the site; write {right}.",
                    f"代理写成了 {shown}，但本地代理使用明文 HTTP：pip 会报 SSL 或 “wrong version number” 错误。代理地址的协议指的是与代理通信的方式；请写成 {right}。", proof, cures)  # fmt: skip
    elif scheme is None and port is not None:
        yield found("network.proxy_scheme", "info", "network", f"The proxy {shown} is written without a scheme, which some tools refuse; write {right}.",
                    f"代理 {shown} 没有写协议，部分工具会拒绝；请写成 {right}。", proof, cures)  # fmt: skip
    elif scheme is not None and scheme.startswith("socks"):
        yield found("network.proxy_scheme", "info", "network", f"The proxy {shown} is a SOCKS proxy; pip needs the package PySocks for it.",
                    f"代理 {shown} 是 SOCKS 代理，pip 需要安装 PySocks 才能使用。", proof,
                    (remedy("install_package", {"package": "PySocks"}), *cures))  # fmt: skip
    elif scheme is not None and scheme not in ("http", "https"):
        yield found("network.proxy_scheme", "warning", "network", f"The proxy {shown} has a scheme that pip and uv do not know.",
                    f"pip 和 uv 不认识代理 {shown} 的协议。", proof, cures)  # fmt: skip


def _unreachable(machine: Machine, host: str) -> Finding:
    proof = machine.fact(f"network.reachable.{host}", False)
    if any(host == name or host.endswith(f".{name}") for name in MODELS):
        return found("network.index_unreachable", "info", host, f"{host} cannot be reached from here; models can come through a mirror (HF_ENDPOINT) or ModelScope.",
                     f"此处无法访问 {host}；可通过镜像（HF_ENDPOINT）或 ModelScope 下载模型。", proof,
                     (remedy("set_env", {"name": "HF_ENDPOINT", "value": "https://hf-mirror.com"}), remedy("use_mirror")))  # fmt: skip
    indexes = machine.catalog.indexes
    names = [item.id for item in indexes.values() if item.url is not None and _host(item.url) == host]
    mirrors = sorted({_host(item.url) for item in indexes.values() if item.mirrors in names and item.url is not None})
    cures = tuple(remedy("use_mirror", {"host": mirror}) for mirror in mirrors) or (remedy("use_mirror"),)
    return found("network.index_unreachable", "warning", host, f"{host} cannot be reached from here; packages from it need a mirror or must be carried over.",
                 f"此处无法访问 {host}；其中的软件包需要使用镜像或拷贝过来。", proof, (*cures, remedy("carry_wheels")))  # fmt: skip
