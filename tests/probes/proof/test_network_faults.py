"""A package server that breaks off, hangs, or lies: a sentence each time, nothing half-made, cancel at once."""

from __future__ import annotations

import hashlib
import http.server
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import tiny_wheels as wheels

from knowledge.plan import InstallPlan, LockedPackage, PackageSettings, PlannedPackage
from probes.progress import Cancelled, Progress
from probes.proof import lock, resolve, sandbox


class Server(http.server.ThreadingHTTPServer):
    """A simple index of one wheel that misbehaves as MOOD says: breaks, hangs, lies."""

    daemon_threads = True
    mood = ""
    wheel: Path
    release = threading.Event()


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        content = self.server.wheel.read_bytes()
        if self.server.mood == "hangs":
            self.server.release.wait(20)
            return
        if self.path.endswith(".whl"):
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.server.mood == "breaks":
                self.wfile.write(content[: len(content) // 2])
                self.wfile.flush()
                self.connection.close()
            else:
                self.wfile.write(content.replace(b"core", b"evil"))
            return
        digest = hashlib.sha256(content).hexdigest()
        page = f'<a href="/{self.server.wheel.name}#sha256={digest}">{self.server.wheel.name}</a>'.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv-cache"))
    made = Server(("127.0.0.1", 0), Handler)
    made.wheel = wheels.make(tmp_path / "w", "core", "1.0", code="x = 1\n" * 20000)
    made.release.clear()
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.release.set()
    made.shutdown()
    made.server_close()
    thread.join()


def settings(server: Server) -> PackageSettings:
    return PackageSettings(index_url=f"http://127.0.0.1:{server.server_address[1]}/simple", timeout_s=15)


def locked(server: Server) -> str:
    digest = hashlib.sha256(server.wheel.read_bytes()).hexdigest()
    return lock.write([LockedPackage(name="core", version="1.0", hashes=(f"sha256:{digest}",))])


@pytest.mark.parametrize("mood", ["breaks", "lies"])
def test_a_broken_or_lying_download_is_refused_whole(
    tmp_path: Path, server: Server, mood: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = sandbox.uv.environment
    monkeypatch.setattr(sandbox.uv, "environment", lambda s, **k: real(s, **{**k, "retries": 0}))
    server.mood = mood
    with pytest.raises(sandbox.NotBuilt) as caught:
        sandbox.Sandboxes(tmp_path / "e").ensure(locked(server), sys.executable, settings(server))
    assert caught.value.text.en and caught.value.text.zh
    assert [p for p in (tmp_path / "e").iterdir() if p.is_dir()] == []


def test_cancel_while_a_server_hangs(tmp_path: Path, server: Server) -> None:
    server.mood = "hangs"
    progress = Progress()
    plan = InstallPlan(packages=(PlannedPackage(name="core", requirement="core==1.0", index_id="pypi"),))
    timer = threading.Timer(0.6, progress.cancel)
    timer.start()
    began = time.perf_counter()
    with pytest.raises(Cancelled):
        resolve.resolve(plan, settings(server), progress=progress)
    timer.join()
    assert time.perf_counter() - began < 1.4
