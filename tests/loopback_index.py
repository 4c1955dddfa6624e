"""A package index on 127.0.0.1 with metadata alone (PEP 503, PEP 658), made of the stored release facts.

It lets the real resolver judge plans whose vendor index cannot be reached; it proves tags, versions and pairs, not files.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.release_facts import Release, normal

# What each heart of an index asks of the default index, so that a clash with the rest of a plan is seen.
NEEDS = {
    "torch": ("filelock", "typing-extensions>=4.10", "networkx", "jinja2", "fsspec", "sympy>=1.13.3"),
    "torchvision": ("numpy", "pillow>=5.3"),
}


def tags(release: Release) -> list[str]:
    """Wheel tags that RELEASE stands for."""
    if release.platform == "any" and release.pythons:
        return ["py3-none-any"]
    system, _, arch = release.platform.partition("-")
    if system == "linux":
        last = f"manylinux_{(release.glibc_min or '2.17').replace('.', '_')}_{arch}"
    elif system == "windows":
        last = {"x86_64": "win_amd64", "aarch64": "win_arm64"}[arch]
    else:
        major, _, rest = (release.macos_min or "11.0").partition(".")
        last = f"macosx_{major}_{rest or '0'}_{'arm64' if arch == 'aarch64' else arch}"
    found = []
    for python in release.pythons:
        short = "cp" + python.rstrip("t").replace(".", "")
        found.append(f"{short}-{short}{'t' if python.endswith('t') else ''}-{last}")
    return found


def version(release: Release) -> str:
    """The version that the wheel itself bears: PyTorch's own indexes add the variant, save on macOS."""
    trio = release.package in ("torch", "torchvision", "torchaudio")
    variant = release.index_id == "cpu" or release.index_id.startswith(("cu1", "xpu", "rocm"))
    if not trio or not variant or "+" in release.version or release.platform.startswith("macos"):
        return release.version
    return f"{release.version}+{release.index_id}"


class Stubs:
    """Files of every index: index and package to file names, and file name to METADATA."""

    def __init__(self, releases: Iterable[Release], pairs: dict[tuple[str, str, str], str]) -> None:
        """PAIRS: (index, package, version) to the one version of torch that it belongs to."""
        self.files: dict[tuple[str, str], list[str]] = {}
        self.metadata: dict[tuple[str, str], str] = {}
        for release in releases:
            names = self.files.setdefault((release.index_id, release.package), [])
            for tag in tags(release):
                file = f"{release.package.replace('-', '_')}-{version(release)}-{tag}.whl"
                lines = ["Metadata-Version: 2.1", f"Name: {release.package}", f"Version: {version(release)}"]
                lines += [f"Requires-Dist: {need}" for need in NEEDS.get(release.package, ())]
                torch = pairs.get((release.index_id, release.package, release.version))
                lines += [f"Requires-Dist: torch=={torch}"] if torch else []
                if (release.index_id, file) not in self.metadata:
                    names.append(file)
                self.metadata[release.index_id, file] = "\n".join(lines) + "\n\n"

    def answer(self, path: str) -> tuple[str, str] | None:
        """Content and its type for /index/package/ and /index/package/file.whl.metadata; None for all else."""
        parts = path.strip("/").split("/")
        if len(parts) == 2 and (parts[0], normal(parts[1])) in self.files:
            rows = []
            for file in self.files[parts[0], normal(parts[1])]:
                digest = hashlib.sha256(file.encode()).hexdigest()
                rows.append(
                    f'<a href="{file}#sha256={digest}" data-core-metadata="true" data-dist-info-metadata="true">{file}</a>'
                )
            return f"<!DOCTYPE html><html><body>{''.join(rows)}</body></html>", "text/html"
        if (
            len(parts) == 3
            and (parts[0], parts[2].removesuffix(".metadata")) in self.metadata
            and path.endswith(".metadata")
        ):
            return self.metadata[parts[0], parts[2].removesuffix(".metadata")], "text/plain"
        return None


def torch_pairs(catalog: object) -> dict[tuple[str, str, str], str]:
    """(index, package, version) to torch's version for what one PyTorch build lists beside torch."""
    found: dict[tuple[str, str, str], str] = {}
    for build in catalog.frameworks["pytorch"].builds:  # type: ignore[attr-defined]
        torch = next((p.version for p in build.packages if p.name == "torch"), None)
        for package in build.packages:
            if torch and package.name in ("torchvision", "torchaudio"):
                found[package.index or build.index, normal(package.name), package.version] = torch
    return found


@contextmanager
def serve(stubs: Stubs) -> Iterator[str]:
    """The address of a running index ("http://127.0.0.1:PORT"); add "/" and the id of an index."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = stubs.answer(self.path)
            body = (found[0] if found else "no such file").encode()
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", found[1] if found else "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """The tests read answers, not a log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
