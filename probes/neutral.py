"""What is personal in a machine's answers, and the neutral words that take its place in a recording."""

from __future__ import annotations

import re
from collections.abc import Callable

# What may stand in the user's own folders under its own name: the shapes that tools and Python itself give.
_STRUCTURE = re.compile(
    r"(?:\.?v?envs?\d*|\.?virtualenvs?|\.venv-?[\w.]*|bin|Scripts|Library|libexec|lib|lib64|Lib|include|share|opt|usr|src|local|etc"
    r"|\.local|\.cache|\.config|\.conda|\.pyenv|\.pixi|\.uv|\.asdf|\.mise|\.rye|\.nix-profile|\.poetry|\.condarc|\.mambarc|\.pip|\.docker"
    r"|(?:mini|ana)conda\d?|miniforge\d?|mambaforge|micromamba|conda|conda-meta|pkgs|pipx|pypoetry|hatch|virtualenv|installs|toolchains"
    r"|versions|shims|plugins|tools|uv|python|pip(?:\.conf|\.ini)?|uv(?:\.toml|-receipt\.json)|pyvenv\.cfg|pixi|rye|mise|site-packages|dist-packages"
    r"|AppData|Local|Roaming|Programs|Packages|Microsoft|WindowsApps|Documents|Desktop|Downloads|GitHub|Application Support"
    r"|projects?|Projects|code|Code|work|dev|Developer|git|repos|workspace|PycharmProjects|source|venvs|github"
    r"|python\d?(?:\.\d+)*t?(?:\.exe)?|pip\d?(?:\.\d+)*|cpython-[\w.+-]+|pypy[\w.-]*|Python\d*|[\w.+-]+\.(?:dist-info|egg-info)|METADATA|PKG-INFO"
    r"|direct_url\.json|INSTALLER|[\w.]+-[\w.!+]+-[\w.]+\.json|\d+\.\d+(?:\.\d+)?t?|default|base|history|daemon\.json|config|certs?)"
)
_UUID = re.compile(r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b")
_MAC = re.compile(r"(?<![0-9a-fA-F:-])[0-9a-fA-F]{2}(?:([:-])[0-9a-fA-F]{2})(?:\1[0-9a-fA-F]{2}){4}(?![0-9a-fA-F:-])")
_SERIAL = re.compile(
    r"(?i)((?:serial|asset[ _-]?tag|unique[ _-]?id|machine[ _-]?id|provisioning[ _-]?udid|board[ _-]?part|chassis[ _-]?sn|\bsn\b|guid)"
    r"[\w ()/.-]{0,30}(?:\"?\s*[:=>]\s*\"?|\t))([^\s\"<>,|]+)"
)
_USER_INFO = re.compile(r"(?<=://)[^/@\s\"']+@")
_ADDRESS = re.compile(r"(?<=://)([A-Za-z0-9.-]+)((?::\d+)?)")
_IP = re.compile(r"(?<![\w.])(?:10|127|169\.254|172\.(?:1[6-9]|2\d|3[01])|192\.168)(?:\.\d{1,3}){2,3}(?![\w.])")
# Sites that everybody uses; every other host in an address may be a company's own.
_PUBLIC = ("pytorch.org", "nvidia.com", "amd.com", "intel.com", "tsinghua.edu.cn", "aliyun.com", "ustc.edu.cn", "huaweicloud.com",
           "tencent.com", "github.com", "githubusercontent.com", "anaconda.org", "anaconda.com", "huggingface.co", "debian.org",
           "ubuntu.com", "microsoft.com", "paddlepaddle.org.cn", "bfsu.edu.cn", "sjtu.edu.cn", "douban.com")  # fmt: skip
_COMMON = {"root", "user", "users", "admin", "localhost", "computer", "home", "ubuntu", "debian", "python", "test", "public",
           "default", "runner", "app"}  # fmt: skip
NOT_KEPT = re.compile(r"(?i)token|secret|password|passwd|api_?key|credential|cookie|session")


class Neutral:
    """Replaces the personal details of one machine; equal originals get equal replacements."""

    def __init__(self, *, system: str, home: str | None, user: str | None, computer: str | None) -> None:
        self._windows = system == "windows"
        self._home = (home or "").rstrip("/\\")
        self._neutral_home = {"windows": "C:\\Users\\user", "macos": "/Users/user"}.get(system, "/home/user")
        self._words: dict[str, str] = {}
        for word, neutral in ((user, "user"), (computer, "computer"), ((computer or "").split(".")[0], "computer")):
            if word and len(word) > 2 and word.lower() not in _COMMON:
                self._words[word] = neutral
        self._known: dict[tuple[str, str], str] = {}
        self._names: dict[str, str] = {}
        self._word: re.Pattern[str] | None = None
        if self._words:
            ordered = sorted(self._words, key=len, reverse=True)
            self._word = re.compile(r"(?<![A-Za-z0-9])(?:" + "|".join(map(re.escape, ordered)) + r")(?![A-Za-z0-9])", re.IGNORECASE)
        separators = r"[\\/]" if self._windows else "/"
        rest = r"((?:[\\/][^\\/\s:;,'\"<>|=]+)*)" if self._windows else r"((?:/[^/\s:;,'\"<>|=]+)*)"
        plain = re.escape(self._home).replace(r"\\", separators) if self._home and self._home not in ("/", "\\") else None
        others = r"[A-Za-z]:[\\/]Users[\\/][^\\/\s:;,'\"]+" if self._windows else r"/(?:home|Users)/[^/\s:;,'\"]+"
        pattern = f"(?:{plain}|{others})" if plain else others
        self._home_path = re.compile(rf"({pattern})(?=[\\/\s:;,'\"]|$){rest}", re.IGNORECASE if self._windows else 0)

    def path(self, path: str) -> str:
        """PATH with the home folder and the user's own folder names replaced."""
        match = self._home_path.match(path)
        if match is not None:
            return self._neutral_home + self._inside(path[match.end(1) :])
        return self._said(path)

    def text(self, text: str) -> str:
        """TEXT without names, serial numbers, UUIDs, MAC addresses, user information and private hosts."""
        text = self._home_path.sub(lambda m: self._neutral_home + self._inside(m[2]), text)
        text = _USER_INFO.sub("", text)
        text = _ADDRESS.sub(lambda m: self._host(m[1]) + m[2], text)
        text = _SERIAL.sub(lambda m: m[1] + re.sub(r"[0-9A-Za-z]", "0", m[2]), text)
        text = _UUID.sub(lambda m: self._numbered("uuid", m[0].lower(), lambda n: f"00000000-0000-0000-0000-{n:012d}"), text)
        text = _MAC.sub(lambda m: self._numbered("mac", m[0].lower(), lambda n: m[1].join(["00"] * 5 + [f"{n % 256:02x}"])), text)
        text = _IP.sub("192.0.2.1", text)
        return self._said(text)

    def _said(self, text: str) -> str:
        if self._word is None:
            return text
        return self._word.sub(lambda m: next((v for k, v in self._words.items() if k.lower() == m[0].lower()), "user"), text)

    def _host(self, host: str) -> str:
        low = host.lower()
        if any(low == site or low.endswith("." + site) for site in _PUBLIC):
            return host
        return self._numbered("host", low, lambda n: f"host{n}.example")

    def _numbered(self, kind: str, value: str, make: Callable[[int], str]) -> str:
        key = (kind, value)
        if key not in self._known:
            self._known[key] = make(1 + sum(k == kind for k, _ in self._known))
        return self._known[key]

    def _inside(self, rest: str) -> str:
        """A path below the home folder: structure stays, the user's own names become folder1, folder2 …"""
        return re.sub(r"[^\\/]+", lambda m: m[0] if _STRUCTURE.fullmatch(m[0]) else self._numbered("name", m[0], lambda n: f"folder{n}"), rest)

    def name(self, folder: str, name: str) -> str:
        """One NAME in the listing of FOLDER."""
        separator = "\\" if self._windows else "/"
        whole = self.path(folder.rstrip("/\\") + separator + name)
        return whole.rsplit(separator, 1)[-1]
