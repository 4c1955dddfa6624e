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
