"""Wheel names say which Pythons and platforms a release serves."""

from __future__ import annotations

from probes.proof import releases


def test_tags_of_file_names() -> None:
    pythons, platforms = releases.tags([
        "torch-2.15.0-cp311-cp311-manylinux_2_28_x86_64.whl", "torch-2.15.0-cp314-cp314t-win_amd64.whl",
        "torch-2.15.0-cp312-cp312-macosx_14_0_arm64.whl", "torch-2.15.0.tar.gz", "nonsense.whl",
    ])  # fmt: skip
    assert pythons == ("3.11", "3.12", "3.14t")
    assert platforms == ("linux-x86_64", "macos-aarch64", "windows-x86_64")


def test_one_wheel_for_all() -> None:
    assert releases.tags(["keras-3.15.1-py3-none-any.whl"]) == ((), ())
    pythons, platforms = releases.tags(["onnx-1.23-cp312-abi3-win_amd64.whl", "onnx-1.23-cp314-cp314t-win_amd64.whl"])
    assert (pythons, platforms) == ((), ("windows-x86_64",))


def test_uv_is_found_by_many_threads_at_once() -> None:
    """In a fresh process, where the first use of sysconfig once gave half a table to the second thread."""
    import subprocess
    import sys

    code = (
        "from concurrent.futures import ThreadPoolExecutor\nfrom probes.proof import uv\n"
        "with ThreadPoolExecutor(8) as pool: print(len(set(pool.map(lambda _: uv.find(), range(64)))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "1", done.stderr
