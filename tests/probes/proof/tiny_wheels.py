"""Tiny wheels and simple indexes made on the spot, so that a real resolver can be asked without a network."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path


def make(
    folder: Path,
    name: str,
    version: str = "1.0",
    *,
    needs: tuple[str, ...] = (),
    tag: str = "py3-none-any",
    code: str = "",
) -> Path:
    """A wheel of NAME in FOLDER with one module of CODE."""
    folder.mkdir(parents=True, exist_ok=True)
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + "".join(
        f"Requires-Dist: {n}\n" for n in needs
    )
    files = {
        f"{module}/__init__.py": f"__version__ = {version!r}\n{code}",
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    record = ""
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(text.encode())}\n"
    path = folder / f"{module}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for inner, text in files.items():
            archive.writestr(inner, text)
        archive.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")
    return path


def index(folder: Path, *wheels: Path) -> str:
    """A simple index in FOLDER over WHEELS; its file:// address."""
    pages: dict[str, list[Path]] = {}
    for wheel in wheels:
        pages.setdefault(wheel.name.split("-")[0].replace("_", "-"), []).append(wheel)
    for name, found in pages.items():
        page = folder / name
        page.mkdir(parents=True, exist_ok=True)
        links = "".join(
            f'<a href="{w.as_uri()}#sha256={hashlib.sha256(w.read_bytes()).hexdigest()}">{w.name}</a>\n' for w in found
        )
        (page / "index.html").write_text(f"<html><body>{links}</body></html>")
    return folder.as_uri()
