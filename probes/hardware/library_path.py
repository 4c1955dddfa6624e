"""Variables that put other libraries before those that packages bring: LD_LIBRARY_PATH with CUDA's or cuDNN's."""

from __future__ import annotations

import re

from knowledge.facts import Remedy
from knowledge.text import Text
from probes.hardware.notes import Notes
from probes.host import Host

_SHADOWING = re.compile(r"lib(?:cudnn|cublas|cudart|nccl|cusparse)[\w]*\.so")


def read(host: Host) -> Notes:
    """A finding where LD_LIBRARY_PATH names a folder with CUDA libraries; no facts."""
    notes = Notes("software")
    value = host.env("LD_LIBRARY_PATH")
    if host.os != "linux" or not value.ok:
        return notes
    for folder in [part for part in value.text.split(":") if part.startswith("/")][:32]:
        if "/wsl/" in folder or "/nvidia/lib" in folder:
            continue  # where the driver's own library is handed in
        names = [name for name in host.list(folder).names if _SHADOWING.match(name)]
        if not names:
            continue
        notes.find(
            "package.conflict", "warning", "LD_LIBRARY_PATH",
            Text(f"LD_LIBRARY_PATH puts {names[0]} and others of {folder} before the libraries that PyTorch and other packages bring "
                 "themselves. Unset it for these environments; no toolkit is needed.",
                 f"LD_LIBRARY_PATH 让 {folder} 中的 {names[0]} 等库优先于 PyTorch 等软件包自带的库。请在这些环境中取消该变量；"
                 "不需要安装工具包。"),
            (f"LD_LIBRARY_PATH={value.text}", value.source), (", ".join(names[:6]), folder),
            remedies=(Remedy(code="set_env", params={"variable": "LD_LIBRARY_PATH", "value": ""}, text=Text(
                "Unset LD_LIBRARY_PATH in the shell that starts the program.", "在启动程序的终端中取消 LD_LIBRARY_PATH。"),
                commands=("unset LD_LIBRARY_PATH",)),),
        )  # fmt: skip
        break
    return notes
