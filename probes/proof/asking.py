"""One question to a resolver (uv or pip): a set of requirements in, a set of exact packages or a refusal out."""

from __future__ import annotations

import json
import re
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import msgspec
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from knowledge.documents import BadInput
from knowledge.plan import InstallPlan, LockedPackage, PackageSettings, PlannedPackage, Replaced
from knowledge.text import Text
from probes import child
from probes.progress import Cancelled, Progress
from probes.proof import refusal, uv
from probes.proof.interpreters import Interpreter


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """`refused` is None where the resolver found a set. `source_only`: names that would be built from source."""

    packages: tuple[LockedPackage, ...] = ()
    refused: refusal.Refusal | None = None
    source_only: tuple[str, ...] = ()


def checked(requirement: str) -> Requirement:
    """REQUIREMENT, or BadInput where it is more than a name, extras and a version (a URL, a path, an option)."""
    try:
        found = Requirement(requirement)
    except InvalidRequirement as error:
        raise BadInput(Text(
            f"requirement {requirement[:80]!r}: {str(error).splitlines()[0]}.",
            f"依赖 {requirement[:80]!r}：{str(error).splitlines()[0]}。",
        )) from None  # fmt: skip
    if found.url is not None:
        raise BadInput(Text(
            f"requirement {requirement[:80]!r}: a URL is not allowed in a plan.",
            f"依赖 {requirement[:80]!r}：安装方案中不允许使用 URL。",
        ))  # fmt: skip
    return found


def checked_index(url: str) -> str:
    """The address of a plan's own index, or BadInput: https (or a folder of this machine), without a login."""
    parsed = urlparse(url)
    if parsed.scheme not in ("https", "file") or "@" in parsed.netloc or any(c.isspace() for c in url):
        raise BadInput(Text(
            f"index {refusal.without_login(url)[:80]!r}: a plan's index is https, without a login.",
            f"软件源 {refusal.without_login(url)[:80]!r}：方案中的软件源应为 https 且不带登录信息。",
        ))  # fmt: skip
    return url


def project(packages: Sequence[PlannedPackage], python: str) -> str:
    """A pyproject.toml that asks for PACKAGES, each with an index of its own taken from there and from nowhere else."""
    requirements, sources, indexes = [], [], {}
    for package in packages:
        wanted = checked(package.requirement)
        requirements.append(str(wanted))
        if package.index_url is not None:
            name = re.sub(r"[^A-Za-z0-9]", "-", package.index_id) or "index"
            indexes[name] = package.index_url
            sources.append(f"{json.dumps(wanted.name)} = {{ index = {json.dumps(name)} }}")
    lines = ["[project]", 'name = "stackfit-plan"', 'version = "0"', f'requires-python = ">={python}"']
    lines.append(f"dependencies = {json.dumps(requirements)}")
    if sources:
        lines += ["[tool.uv.sources]", *sorted(set(sources))]
    for name, url in sorted(indexes.items()):
        lines += ["[[tool.uv.index]]", f"name = {json.dumps(name)}", f"url = {json.dumps(url)}"]
    return "\n".join(lines) + "\n"


def ask_uv(
    packages: Sequence[PlannedPackage],
    settings: PackageSettings,
    python: Interpreter,
    *,
    platform: str | None = None,
    macos: str | None = None,
    build: bool = False,
    retries: int = 0,
    offline: bool = False,
    exact_python: bool = True,
    hash_files: bool = False,
    cancelled: Callable[[], bool] | None = None,
) -> Answer:
    """uv's answer. PLATFORM: uv's name of another platform; MACOS: its release ("15.1"); BUILD: packages without wheels may be built."""
    with tempfile.TemporaryDirectory(prefix="stackfit-resolve-") as folder:
        source = Path(folder) / "pyproject.toml"
        source.write_text(project(packages, python.short), encoding="utf-8")
        words = ["pip", "compile", "--quiet", "--no-header", "--format", "pylock.toml", *uv.arguments(settings)]
        words += ["--python", python.path] if exact_python else ["--python-version", python.short]
        if any(p.index_url for p in packages):
            words += ["--index-strategy", "unsafe-best-match"]
        if platform is not None:
            words += ["--python-platform", platform]
        if not build:
            words += ["--no-build"]
        if hash_files:  # slow (reads every file), so only where the index does not state hashes
            words += ["--generate-hashes"]
        # Without a release uv takes macOS 13, for which many newest wheels no longer exist.
        more = {"MACOSX_DEPLOYMENT_TARGET": macos} if macos is not None else None
        words += ["--output-file", str(Path(folder) / "pylock.toml"), str(source)]
        done = uv.run(words, settings, retries=retries, offline=offline, folder=folder, more=more, cancelled=cancelled)
        if done.ended == "cancelled":
            raise Cancelled
        if done.rc != 0:
            return Answer(refused=_refusal(done))
        locked = tomllib.loads((Path(folder) / "pylock.toml").read_text(encoding="utf-8"))
    found = [(_locked(entry), bool(entry.get("wheels"))) for entry in locked.get("packages", [])]
    return Answer(
        packages=tuple(package for package, _ in found),
        source_only=tuple(package.name for package, wheels in found if not wheels),
    )


def _refusal(done: child.Done) -> refusal.Refusal:
    if done.ended == "timed_out":
        return refusal.understand(f"error: timed out after {done.elapsed_s:.0f} s")
    if done.ended == "not_started":
        return refusal.understand(done.reason)
    return refusal.understand(done.stderr or done.stdout or f"uv ended with {done.signal or done.rc}")


def _locked(entry: Mapping[str, Any]) -> LockedPackage:
    """One [[packages]] entry of a pylock.toml; the size is that of its largest wheel, or of the sdist."""
    wheels = list(entry.get("wheels", ()))
    files = wheels or ([entry["sdist"]] if "sdist" in entry else [])
    hashes = [f"{kind}:{value}" for file in files for kind, value in file.get("hashes", {}).items()]
    size = None
    if files:
        chosen = max(files, key=lambda file: file.get("size") or 0)
        size = chosen.get("size") or _size_on_disk(str(chosen.get("url") or chosen.get("path") or ""))
    return LockedPackage(
        name=canonicalize_name(entry["name"]),
        version=entry.get("version", "0"),
        hashes=tuple(hashes),
        download_bytes=size,
    )


def _size_on_disk(place: str) -> int | None:
    parsed = urlparse(place)
    path = Path(unquote(parsed.path)) if parsed.scheme == "file" else Path(place)
    return path.stat().st_size if place and parsed.scheme in ("", "file") and path.is_file() else None


def changes(
    plan: InstallPlan, settings: PackageSettings, python_path: str, progress: Progress
) -> tuple[Replaced, ...] | None:
    """What installing PLAN would take away in the environment of PYTHON_PATH (uv's dry run, which keeps what still fits).

    None where uv could not say.
    """
    words = ["pip", "install", "--dry-run", "--python", python_path, *uv.arguments(settings)]
    for url in dict.fromkeys(p.index_url for p in plan.packages if p.index_url):
        words += ["--index", url, "--index-strategy", "unsafe-best-match"]
    words += [str(checked(p.requirement)) for p in plan.packages]
    done = uv.run(words, settings, cancelled=progress.cancelled)
    if done.ended == "cancelled":
        raise Cancelled
    if done.rc != 0:
        return None
    signs = re.findall(r"(?m)^ ([-+~]) ([A-Za-z0-9._-]+)==(\S+)", done.stderr)
    gone = {canonicalize_name(name): version for sign, name, version in signs if sign == "-"}
    come = {canonicalize_name(name): version for sign, name, version in signs if sign == "+"}
    return tuple(Replaced(name=n, version=v, becomes=come.get(n)) for n, v in sorted(gone.items()))


def ask_pip(
    packages: Sequence[PlannedPackage], python: Interpreter, *, cancelled: Callable[[], bool] | None = None
) -> Answer | None:
    """pip's own answer (dry run, obeying its own configuration); None where that Python has no pip.

    Packages with an index of their own are asked for with it as pip's one index, as the printed commands do.
    """
    import os

    environment = {**uv.inherited(), **{k: v for k, v in os.environ.items() if k.startswith("PIP_")}}
    environment |= {"PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_REQUIRE_VIRTUALENV": "0"}
    for name in ("XDG_CONFIG_HOME", "XDG_CONFIG_DIRS"):
        if os.environ.get(name):
            environment[name] = os.environ[name]
    # -P, not -I: isolated mode would hide pip's own user site, and PYTHON* variables are already gone.
    known = child.run([python.path, "-s", "-m", "pip", "--version"], limit_s=20, environment=environment)
    if known.rc != 0:
        return None
    groups: dict[str | None, list[str]] = {}
    for package in packages:
        groups.setdefault(package.index_url, []).append(str(checked(package.requirement)))
    merged: dict[str, LockedPackage] = {}
    for index, requirements in groups.items():
        with tempfile.TemporaryDirectory(prefix="stackfit-pip-") as folder:
            report = Path(folder) / "report.json"
            words = [python.path, "-s", "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet"]
            words += ["--retries", "0", "--only-binary", ":all:", "--report", str(report)]
            words += ["--index-url", index] if index else []
            done = child.run(
                [*words, *requirements],
                limit_s=uv.RESOLVE_LIMIT_S,
                environment=environment,
                folder=folder,
                cancelled=cancelled,
            )
            if done.ended == "cancelled":
                raise Cancelled
            if done.rc != 0 or not report.is_file():
                return Answer(refused=_refusal(done))
            for item in json.loads(report.read_text(encoding="utf-8")).get("install", []):
                about, origin = item["metadata"], item.get("download_info", {})
                hashes = origin.get("archive_info", {}).get("hashes", {})
                name = canonicalize_name(about["name"])
                merged.setdefault(
                    name,
                    LockedPackage(
                        name=name,
                        version=about["version"],
                        hashes=tuple(f"{kind}:{value}" for kind, value in hashes.items()),
                        download_bytes=_size_on_disk(origin.get("url", "")),
                    ),
                )
    return Answer(packages=tuple(merged[name] for name in sorted(merged)))
