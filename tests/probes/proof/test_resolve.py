"""Resolving with a real uv over indexes made on the spot: verified, refused, not asked, and honest fallbacks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import tiny_wheels as wheels

from knowledge.documents import BadInput
from knowledge.facts import MachineProfile, Package, System
from knowledge.plan import InstallPlan, PackageSettings, PlannedPackage, ResolveResult
from probes.progress import Cancelled, Progress
from probes.proof import lock, platforms, refusal, resolve, variants

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
NOWHERE = "https://torch-index.invalid/whl/cpu"


def planned(requirement: str, index_id: str = "pypi", url: str | None = None) -> PlannedPackage:
    return PlannedPackage(
        name=requirement.split("==")[0].split("[")[0], requirement=requirement, index_id=index_id, index_url=url
    )


def plan(*packages: PlannedPackage) -> InstallPlan:
    return InstallPlan(packages=packages, python=HERE)


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for wheels, and a uv with a cache of its own that must not use the network."""
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv-cache"))
    yield tmp_path


def local(folder: Path) -> PackageSettings:
    return PackageSettings(find_links=(str(folder),), no_index=True)


def ask(settings: PackageSettings, *packages: PlannedPackage, **options: object) -> ResolveResult:
    return resolve.resolve(plan(*packages), settings, **options)  # type: ignore[arg-type]


def test_verified_gives_a_lock_without_addresses(alone: Path) -> None:
    wheels.make(alone / "w", "core", "2.0", needs=("part>=1",))
    wheels.make(alone / "w", "part", "1.5")
    result = ask(local(alone / "w"), planned("core==2.0"))
    assert result.outcome == "verified" and result.because.zh
    assert result.lock is not None and "://" not in result.lock and str(alone) not in result.lock
    assert lock.pins(result.lock) == ("core==2.0", "part==1.5")
    assert all(p.hashes for p in result.packages)
    assert result.download_bytes and result.download_bytes > 500
    assert not result.fallback


def test_refused_says_why_in_one_sentence(alone: Path) -> None:
    wheels.make(alone / "w", "core", "2.0", needs=("part<1",))
    wheels.make(alone / "w", "part", "1.5")
    missing = ask(local(alone / "w"), planned("core==3.0"))
    assert missing.outcome == "refused" and "core==3.0" in missing.because.en
    conflict = ask(local(alone / "w"), planned("core==2.0"), planned("part==1.5"))
    assert conflict.outcome == "refused" and "part" in conflict.because.en and "part" in conflict.because.zh
    assert conflict.findings[-1].code == "package.conflict"
    assert "\n" not in conflict.because.en


def test_a_wheel_for_another_python_is_said_so(alone: Path) -> None:
    wheels.make(alone / "w", "core", "1.0", tag="cp36-cp36m-manylinux_2_17_x86_64")
    result = ask(local(alone / "w"), planned("core==1.0"))
    assert result.outcome == "refused"
    assert result.findings[-1].code in ("python.no_wheel", "package.refused", "os.unsupported")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="local CPU wheels of Linux")
def test_an_unreachable_index_falls_back_to_a_local_wheel_of_the_same_kind(alone: Path) -> None:
    wheels.make(alone / "w", "torch", "1.9.0+cpu")
    wheels.make(alone / "w", "torch", "1.9.9")  # would be CUDA: not of the kind that was planned
    wheels.make(alone / "w", "numpy", "1.0")
    settings = local(alone / "w")
    settings = msgspec.structs.replace(settings, no_index=False, index_url=wheels.index(alone / "empty"))
    result = ask(
        settings,
        planned("torch==2.0.0", "cpu", NOWHERE),
        planned("torchvision==0.9.0", "cpu", NOWHERE),
        planned("numpy==1.0"),
    )
    assert result.outcome == "verified" and result.fallback, result
    assert result.plan is not None
    assert [p.requirement for p in result.plan.packages] == ["torch==1.9.0+cpu", "numpy==1.0"]
    assert NOWHERE in result.because.en and "torchvision" in result.because.en and "torchvision" in result.because.zh
    assert [f.code for f in result.findings] == ["network.index_unreachable"]


def test_cuda_is_no_fallback_for_a_cpu_plan(alone: Path) -> None:
    cuda = wheels.make(alone / "i", "torch", "2.0.0", needs=("nvidia-cublas==13.0",))
    cublas = wheels.make(alone / "i", "nvidia-cublas", "13.0")
    settings = PackageSettings(index_url=wheels.index(alone / "index", cuda, cublas))
    result = ask(settings, planned("torch==2.0.0", "cpu", NOWHERE))
    assert result.outcome == "not_asked" and "cuda13" in result.because.en
    same_kind = ask(settings, planned("torch==2.0.0", "cu130", NOWHERE))
    assert same_kind.outcome == "verified" and same_kind.fallback


def test_an_index_of_the_plan_serves_its_packages_and_no_other(alone: Path) -> None:
    own = wheels.index(
        alone / "own", wheels.make(alone / "a", "torch", "2.0.0+cpu"), wheels.make(alone / "a", "helper", "9.0")
    )
    default = wheels.index(
        alone / "default", wheels.make(alone / "b", "torch", "2.0.0"), wheels.make(alone / "b", "other", "1.0")
    )
    settings = PackageSettings(index_url=default)
    result = ask(settings, planned("torch==2.0.0", "cpu", own), planned("other==1.0"))
    assert {p.name: p.version for p in result.packages} == {"torch": "2.0.0+cpu", "other": "1.0"}


def test_an_unreachable_default_index_is_not_asked(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = resolve.asking.ask_uv
    monkeypatch.setattr(resolve.asking, "ask_uv", lambda *a, **k: real(*a, **{**k, "retries": 0}))
    result = ask(PackageSettings(index_url="https://user:secret@mirror.invalid/simple"), planned("core==1.0"))
    assert result.outcome == "not_asked"
    assert "mirror.invalid" in result.because.en and "secret" not in str(result)


def test_what_an_environment_would_lose(alone: Path) -> None:
    wheels.make(alone / "w", "core", "2.0")
    existing = (Package(name="Core", version="1.0"), Package(name="other", version="1.0"))
    result = ask(local(alone / "w"), planned("core==2.0"), existing=existing)
    assert [(r.name, r.version, r.becomes) for r in result.replaced] == [("core", "1.0", "2.0")]


@pytest.mark.parametrize("bad", ["core @ https://evil/x.whl", "-r /etc/passwd", "./local", "--index-url=x"])
def test_a_plan_cannot_bring_a_url_a_path_or_an_option(alone: Path, bad: str) -> None:
    with pytest.raises(BadInput):
        ask(local(alone), planned(bad))


@pytest.mark.parametrize("url", ["http://h.example/s", "https://u:p@h.example/s", "-x", "ftp://h/s", "https://h/ s"])
def test_the_index_of_a_plan_is_https_without_a_login(alone: Path, url: str) -> None:
    with pytest.raises(BadInput):
        ask(local(alone), planned("core==1.0", "cpu", url))


def test_the_users_own_constraints_lead_to_another_plan(alone: Path) -> None:
    for version in ("1.0", "2.0"):
        wheels.make(alone / "w", "core", version)
    (alone / "constraints.txt").write_text("# ours\ncore<2\n")
    settings = msgspec.structs.replace(local(alone / "w"), constraints=(str(alone / "constraints.txt"),))
    result = ask(settings, planned("core==2.0"))
    assert result.outcome == "verified" and result.fallback
    assert result.plan is not None and result.plan.packages[0].requirement == "core==1.0"
    assert "core<2" in result.because.en and "core<2" in result.because.zh


def test_cancel(alone: Path) -> None:
    progress = Progress()
    progress.cancel()
    with pytest.raises(Cancelled):
        ask(local(alone), planned("core==1.0"), progress=progress)


def test_other_clients_and_empty_plans_are_not_asked(alone: Path) -> None:
    assert ask(local(alone), planned("core==1.0"), client="conda").outcome == "not_asked"
    assert ask(local(alone)).outcome == "not_asked"


@pytest.mark.parametrize(
    ("os", "arch", "libc", "version", "platform"),
    [
        ("linux", "x86_64", "glibc", "2.35", "x86_64-manylinux_2_35"),
        ("linux", "aarch64", "glibc", "2.43", "aarch64-manylinux_2_40"),
        ("linux", "x86_64", "musl", None, "x86_64-unknown-linux-musl"),
        ("windows", "x86_64", None, None, "x86_64-pc-windows-msvc"),
        ("macos", "aarch64", None, None, "aarch64-apple-darwin"),
        ("linux", "riscv64", "glibc", "2.39", None),
    ],
)
def test_platform_names(os: str, arch: str, libc: str | None, version: str | None, platform: str | None) -> None:
    machine = MachineProfile(system=System(os=os, arch=arch, libc=libc, libc_version=version))
    assert platforms.of(machine) == platform


@pytest.mark.parametrize(
    ("index_id", "variant"),
    [("cpu", "cpu"), ("cu126", "cuda12"), ("cu130", "cuda13"), ("rocm7.2", "rocm"), ("xpu", "xpu"), ("pypi", None),
     ("paddle-cu126", "cuda12")],
)  # fmt: skip
def test_the_variant_of_an_index(index_id: str, variant: str | None) -> None:
    assert variants.of_index(index_id) == variant


@pytest.mark.parametrize(
    ("said", "kind", "subject"),
    [
        ("error: Failed to fetch: https://u:p@h.example/s/torch/\n  cause: client error (Connect)\n  cause: dns error",
         "unreachable", "https://h.example/s/torch/"),
        ("error: cause: Because there is no version of torch==9.9 and you require torch==9.9, we can",
         "no_version", "torch==9.9"),
        ("Because onnxruntime==1.19.0 has no wheels with a matching Python ABI tag (e.g., `cp313`) and you require",
         "no_wheel_for_python", "onnxruntime==1.19.0"),
        ("Because a==1 has no wheels with a matching platform tag (e.g., `x`) and", "no_wheel_for_platform", "a==1"),
        ("Because flash-attn==2.8.3 has no usable wheels and you require flash-attn==2.8.3", "source_only",
         "flash-attn==2.8.3"),
        ("invalid peer certificate: UnknownIssuer for url (https://h.example/simple/x/)", "certificate",
         "https://h.example/simple/x/"),
        ("error: HTTP status client error (403 Forbidden) for url (https://h.example/x/)", "login", "https://h.example/x/"),
        ("error: failed to write: No space left on device (os error 28)", "disk_full", ""),
        ("error: Hash mismatch for `core==1.0`", "hash", "core==1.0"),
        ("Because nosuch was not found in the package registry and you require nosuch==1", "not_found", "nosuch"),
        ("Because a==1 depends on b<2 and you require b==3, we can conclude that your requirements are unsatisfiable.",
         "conflict", "a==1"),
        ("something quite new", "other", ""),
    ],
)  # fmt: skip
def test_what_a_resolver_means(said: str, kind: str, subject: str) -> None:
    found = refusal.understand(said)
    assert (found.kind, found.subject) == (kind, subject)
    assert found.text.en and found.text.zh and ":p@" not in found.detail
