"""pip's, uv's and conda's settings, held against what pip and uv themselves make of the same files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.plan import PackageSettings
from probes.host import LocalHost
from probes.software import package_index
from tests.probes.software.memory_host import MemoryHost

HOME = "/home/ann"
USER_PIP = f"{HOME}/.config/pip/pip.conf"
USER_UV = f"{HOME}/.config/uv/uv.toml"
MIRROR = "https://mirror.example/simple"


def read(files: dict[str, str] | None = None, system: str = "linux", **variables: str) -> PackageSettings:
    home = {"USERPROFILE": r"C:\Users\ann", "APPDATA": r"C:\Users\ann\AppData\Roaming"}
    environment = {**(home if system == "windows" else {"HOME": HOME}), **variables}
    return package_index.settings(MemoryHost(files or {}, os=system, environment=environment))


def test_nothing_set_is_nothing() -> None:
    assert read() == PackageSettings()


def test_settings_name_their_source() -> None:
    have = read(
        {USER_PIP: f"[global]\nindex-url = {MIRROR}\ntimeout = 60\n"},
        PIP_EXTRA_INDEX_URL="https://a.example/s https://b.example/s",
    )
    assert have.index_url == MIRROR
    assert have.extra_index_urls == ("https://a.example/s", "https://b.example/s")
    assert have.timeout_s == 60.0
    assert have.sources == {
        "index_url": USER_PIP,
        "timeout_s": USER_PIP,
        "extra_index_urls": "PIP_EXTRA_INDEX_URL",
    }
    assert have.uv_index_url is None  # uv does not read pip's file


@pytest.mark.parametrize(
    ("files", "variables", "index"),
    [
        ({"/etc/pip.conf": "[global]\nindex-url=g", USER_PIP: "[global]\nindex-url=u"}, {}, "u"),
        ({"/etc/pip.conf": "[install]\nindex-url=g", USER_PIP: "[global]\nindex-url=u"}, {}, "g"),
        ({f"{HOME}/.pip/pip.conf": "[global]\nindex-url=old", USER_PIP: "[global]\nindex-url=new"}, {}, "new"),
        ({USER_PIP: "[global]\nindex-url=u", "/e/pip.conf": "[global]\nindex_url=e"}, {"VIRTUAL_ENV": "/e"}, "e"),
        ({USER_PIP: "[global]\nindex-url=u", "/c.conf": "[install]\nindex-url=c"}, {"PIP_CONFIG_FILE": "/c.conf"}, "c"),
        ({USER_PIP: "[global]\nindex-url=u", "/c.conf": "[global]\ntimeout=3"}, {"PIP_CONFIG_FILE": "/c.conf"}, None),
        ({USER_PIP: "[global]\nindex-url=u"}, {"PIP_CONFIG_FILE": "/gone.conf"}, "u"),
        ({USER_PIP: "[global]\nindex-url=u"}, {"PIP_CONFIG_FILE": "/dev/null"}, None),
        ({USER_PIP: "[install]\nindex-url=u"}, {"PIP_INDEX_URL": "v"}, "v"),
        ({USER_PIP: "[install]\nindex-url=\n[global]\nindex-url=u"}, {}, "u"),
        ({USER_PIP: "[download]\nindex-url=u"}, {}, None),
        ({"/x/pip/pip.conf": "[global]\nindex-url=x"}, {"XDG_CONFIG_HOME": "/x"}, "x"),
        ({"/y/pip/pip.conf": "[global]\nindex-url=y"}, {"XDG_CONFIG_DIRS": "/w:/y"}, "y"),
    ],
)
def test_which_setting_of_pip_wins(files: dict[str, str], variables: dict[str, str], index: str | None) -> None:
    assert read(files, **variables).index_url == index


def test_pip_on_windows_and_on_a_mac() -> None:
    roaming = r"C:\Users\ann\AppData\Roaming\pip\pip.ini"
    files = {r"C:\ProgramData\pip\pip.ini": "[global]\nindex-url=g\ntimeout=5", roaming: "[global]\nindex-url=u"}
    have = read(files, "windows")
    assert (have.index_url, have.timeout_s, have.sources["index_url"]) == ("u", 5.0, roaming)
    mac = f"{HOME}/Library/Application Support/pip/pip.conf"
    assert read({mac: "[global]\nindex-url=m", USER_PIP: "[global]\nindex-url=u"}, "macos").index_url == "m"
    assert read({USER_PIP: "[global]\nindex-url=u"}, "macos").index_url == "u"


def test_a_file_that_pip_cannot_read_is_named() -> None:
    have = read({USER_PIP: "index-url = without a section"})
    assert have.index_url is None
    assert have.refused == (f"{USER_PIP}: File contains no section headers.",)


def test_a_value_that_would_be_an_option_is_refused() -> None:
    have = read({USER_PIP: "[global]\nindex-url = --trusted-host\nfind-links = -e /ok\n"})
    assert have.index_url is None
    assert have.find_links == ("/ok",)
    assert have.refused == (f"{USER_PIP}: index-url", f"{USER_PIP}: find-links")


def test_certificates_and_proxies() -> None:
    have = read({USER_PIP: "[global]\ncert=/c.pem\nproxy=http://u:p@proxy.example:3128\n"}, REQUESTS_CA_BUNDLE="/r.pem")
    assert (have.certificate, have.proxy) == ("/c.pem", "http://u:p@proxy.example:3128")
    have = read(
        REQUESTS_CA_BUNDLE="/r.pem", SSL_CERT_FILE="/s.pem", HTTPS_PROXY="http://big:1", https_proxy="http://small:1"
    )
    assert (have.certificate, have.uv_certificate) == ("/r.pem", "/s.pem")
    assert (have.proxy, have.uv_proxy) == ("http://small:1", "http://small:1")
    assert read(NO_PROXY="localhost,.corp").no_proxy == "localhost,.corp"


@pytest.mark.parametrize(
    ("text", "proxy"),
    [
        ("127.0.0.1:7890", "http://127.0.0.1:7890"),
        ("http=a:1;https=b:2", "http://b:2"),
        ("http=a:1;socks=c:3", "http://a:1"),
        ("socks=c:3", None),
        ("http://proxy.example:8080", "http://proxy.example:8080"),
        ("", None),
        ("-e", None),
    ],
)
def test_the_systems_own_proxy(text: str, proxy: str | None) -> None:
    host = MemoryHost({}, os="windows", environment={}, calls={"system_proxy": text})
    have = package_index.settings(host)
    assert (have.proxy, have.uv_proxy) == (proxy, proxy)
    if proxy:
        assert have.sources == {"proxy": "system_proxy()", "uv_proxy": "system_proxy()"}
    with_variable = MemoryHost(
        {}, os="windows", environment={"HTTPS_PROXY": "http://v:1"}, calls={"system_proxy": text}
    )
    assert package_index.settings(with_variable).proxy == "http://v:1"


def test_offline_and_no_index_are_two_things() -> None:
    assert (read(PIP_NO_INDEX="1").no_index, read(PIP_NO_INDEX="1").offline) == (True, False)
    assert read(UV_OFFLINE="true").offline is True
    assert read(PIP_NO_INDEX="false").no_index is False
    assert package_index.network(read(PIP_NO_INDEX="1")).offline is True


UV_FILE = """
extra-index-url = ["https://extra.example/s"]
find-links = ["/links"]
[[index]]
url = "https://one.example/s"
[[index]]
name = "own"
url = "https://default.example/s"
default = true
[[index]]
name = "explicit"
url = "https://explicit.example/s"
explicit = true
[pip]
no-index = true
extra-index-url = ["https://pip.example/s"]
"""


def test_uv_reads_its_own_file() -> None:
    have = read({USER_UV: UV_FILE, "/etc/uv/uv.toml": 'offline = true\nindex-url = "https://system.example/s"\n'})
    assert have.uv_index_url == "https://default.example/s"
    assert have.uv_extra_index_urls == ("https://one.example/s", "https://pip.example/s", "https://extra.example/s")
    assert (have.uv_find_links, have.uv_no_index, have.offline) == (("/links",), True, True)
    assert have.sources["uv_index_url"] == USER_UV
    assert (have.index_url, have.extra_index_urls, have.find_links) == (None, (), ())


def test_variables_of_uv_win() -> None:
    have = read(
        {USER_UV: UV_FILE},
        UV_DEFAULT_INDEX="own=https://v.example/s",
        UV_INDEX="a=https://w.example/s",
        UV_FIND_LINKS="/p q,/r",
    )
    assert have.uv_index_url == "https://v.example/s"
    assert have.uv_extra_index_urls[:2] == ("https://w.example/s", "https://one.example/s")
    assert have.uv_find_links == ("/p q", "/r", "/links")
    assert read({USER_UV: UV_FILE}, UV_NO_CONFIG="1").uv_index_url is None
    assert read({USER_UV: UV_FILE, "/o.toml": "offline=true"}, UV_CONFIG_FILE="/o.toml").uv_index_url is None
    assert read({USER_UV: "offline = maybe"}).refused[0].startswith(f"{USER_UV}: ")


def test_each_client_obeys_its_own_settings() -> None:
    have = read(
        {USER_PIP: f"[global]\nindex-url={MIRROR}\nfind-links=/wheels"}, UV_DEFAULT_INDEX="https://uv.example/s"
    )
    assert package_index.for_client(have, "pip").index_url == MIRROR
    uv = package_index.for_client(have, "uv")
    assert (uv.index_url, uv.find_links) == ("https://uv.example/s", ())


@pytest.mark.parametrize(
    ("address", "bare"),
    [
        ("https://ann:secret@host.example/simple", "https://host.example/simple"),
        ("https://token@host.example/simple", "https://host.example/simple"),
        ("https://ann:p/w@x@host.example/simple", "https://host.example/simple"),
        ("http://ann:s@[::1]:8080/x?token=abc#y", "http://[::1]:8080/x"),
        ("ann:secret@proxy.example:3128", "proxy.example:3128"),
        ("socks5h://u:p@proxy:1080", "socks5h://proxy:1080"),
        ("git+https://u:p@host.example/x", "git+https://host.example/x"),
        ("https://host.example/simple", "https://host.example/simple"),
        ("/home/ann/wheels@work", "/home/ann/wheels@work"),
        ("file:///wheels", "file:///wheels"),
    ],
)
def test_what_is_shown_holds_no_login(address: str, bare: str) -> None:
    have = PackageSettings(index_url=address, extra_index_urls=(address,), proxy=address)
    clean = package_index.shown(have)
    assert (clean.index_url, clean.extra_index_urls, clean.proxy) == (bare, (bare,), bare)
    assert package_index.network(have).index_url == bare


secrets = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=20).map(lambda s: f"Q{s}Z")


@given(secrets, st.sampled_from(["https://u:{}@host.example/s", "http://{}@host:1/s?a=b", "https://host/s?token={}"]))
def test_no_secret_is_shown(secret: str, form: str) -> None:
    have = read(PIP_INDEX_URL=form.format(secret), HTTPS_PROXY=form.format(secret), UV_INDEX=form.format(secret))
    shown = package_index.shown(have)
    # A secret with a ? or # ends the address for every reader; what follows is a query and is taken out too.
    for value in (
        shown.index_url,
        shown.proxy,
        shown.uv_index_url,
        *shown.extra_index_urls,
        *shown.uv_extra_index_urls,
    ):
        assert secret not in (value or "")


def test_conda_channels() -> None:
    text = "channels:\n  - https://mirrors.example/anaconda/pkgs/main\n  - conda-forge\nssl_verify: true\n"
    have = read({f"{HOME}/.condarc": text})
    assert have.conda_channels == ("https://mirrors.example/anaconda/pkgs/main", "conda-forge")
    assert have.sources["conda_channels"] == f"{HOME}/.condarc"
    assert read({f"{HOME}/.condarc": "channels: [a: {b"}).refused == (f"{HOME}/.condarc: not YAML",)


config = st.one_of(
    st.text(max_size=120),
    st.lists(
        st.sampled_from(
            [
                "[global]",
                "[install]",
                "[x",
                "index-url = https://a.example/s",
                "index_url=https://b.example/s",
                "index-url =",
                "extra-index-url = https://c.example/s\n   https://d.example/s",
                "find-links = /w /v",
                "no-index = yes",
                "timeout = 7",
                "timeout = soon",
                "trusted-host = h.example",
                "cert = /c",
                "; note",
                "index-url",
                "no-index = maybe",
            ]
        ),
        max_size=8,
    ).map("\n".join),
)


@given(
    config, config, st.dictionaries(st.sampled_from(["PIP_NO_INDEX", "UV_INDEX", "PIP_TIMEOUT"]), st.text(max_size=9))
)
def test_no_content_raises(pip: str, other: str, variables: dict[str, str]) -> None:
    files = {"/etc/pip.conf": pip, USER_PIP: other, USER_UV: pip, f"{HOME}/.condarc": other}
    have = read(files, **variables)
    for value in (have.index_url, *have.extra_index_urls, *have.find_links, have.uv_index_url):
        assert value is None or (value and not value.startswith("-") and value.isprintable())
    package_index.network(have)


PIP_SAYS = """
import json, sys
from pip._internal.commands import create_command
for line in sys.stdin:
    import os
    os.environ["HOME"] = line.strip()
    command = create_command("install")
    options, _ = command.parse_args([])
    names = ("index_url", "extra_index_urls", "find_links", "no_index", "timeout")
    print(json.dumps([getattr(options, name) for name in names]))
    sys.stdout.flush()
"""


@pytest.mark.skipif("os.name == 'nt'", reason="HOME stands for the user's folder")
def test_pip_itself_agrees(tmp_path: Path) -> None:
    if subprocess.run([sys.executable, "-c", "import pip"], capture_output=True, check=False).returncode:
        pytest.skip("pip is not installed here")
    contents = [
        "[global]\nindex-url = https://a.example/s\n[install]\nindex-url = https://b.example/s\n",
        "[install]\nextra-index-url = https://a.example/s\n   https://b.example/s\nfind_links = /w /v\n",
        "[global]\nno-index = yes\ntimeout = 7\nindex-url =\n",
        "[global]\nINDEX_URL = https://a.example/s\n[list]\nindex-url = https://c.example/s\n",
        "[install]\nindex-url =\n[global]\nindex-url = https://g.example/s\npypi-url = https://p.example/s\n",
        "[global]\nextra-index-url = https://a.example/s\n[install]\nextra-index-url = https://b.example/s\n",
    ]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "XDG_")) and k != "VIRTUAL_ENV"}
    homes = []
    for number, text in enumerate(contents):
        folder = tmp_path / str(number) / ".config" / "pip"
        folder.mkdir(parents=True)
        (folder / "pip.conf").write_text(text)
        homes.append(str(tmp_path / str(number)))
    done = subprocess.run(
        [sys.executable, "-c", PIP_SAYS],
        input="\n".join(homes),
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    import json

    for home, line in zip(homes, done.stdout.splitlines(), strict=True):
        index, extra, links, no_index, timeout = json.loads(line)
        have = package_index.settings(LocalHost(environment={**environment, "HOME": home}))
        assert (have.index_url or index) == index
        assert have.index_url is not None or re.search(r"/simple/?$", index)
        assert (list(have.extra_index_urls), list(have.find_links)) == (extra, links)
        assert have.no_index == bool(no_index)
        assert (have.timeout_s or timeout) == timeout


@pytest.mark.skipif(
    shutil.which("uv") is None and not Path(sys.executable).with_name("uv").exists(), reason="no uv here"
)
@pytest.mark.parametrize(
    "variables", [{}, {"UV_INDEX": "a=https://w.example/s https://x.example/s", "UV_FIND_LINKS": "/p q,/r"}]
)
def test_uv_itself_agrees(tmp_path: Path, variables: dict[str, str]) -> None:
    folder = tmp_path / ".config" / "uv"
    folder.mkdir(parents=True)
    (folder / "uv.toml").write_text(UV_FILE)
    program = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
    environment = {"HOME": str(tmp_path), "PATH": "", **variables}
    done = subprocess.run(
        [program, "pip", "install", "--show-settings", "x"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    if "index_locations" not in done.stdout:
        pytest.skip("this uv does not show its settings")
    part = done.stdout[done.stdout.index("index_locations") : done.stdout.index("flat_index")]
    said = re.findall(r'given: Some\(\s*"([^"]+)",\s*\).*?explicit: (\w+),\s*default: (\w+)', part, re.DOTALL)
    have = package_index.settings(LocalHost(environment=environment))
    assert have.uv_index_url == next(address for address, _explicit, default in said if default == "true")
    assert list(have.uv_extra_index_urls) == [
        a for a, explicit, default in said if (explicit, default) == ("false", "false")
    ]
