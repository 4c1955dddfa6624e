"""Names of metadata folders as packages with their versions and builds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.software import packages
from tests.probes.software.memory_host import MemoryHost


@pytest.mark.parametrize(
    ("entry", "name", "version"),
    [
        ("torch-2.6.0+cu124.dist-info", "torch", "2.6.0+cu124"),
        ("flash_attn-2.7.4.post1+cu12torch2.6.dist-info", "flash-attn", "2.7.4.post1+cu12torch2.6"),
        ("PyYAML-6.0.2.dist-info", "pyyaml", "6.0.2"),
        ("ruamel.yaml-0.18.6.dist-info", "ruamel-yaml", "0.18.6"),
        ("zope.interface-5.4.0.egg-info", "zope-interface", "5.4.0"),
        ("numpy-1.24.2-py3.11.egg-info", "numpy", "1.24.2"),
        ("numpy-1.24.2-py3.11-linux-x86_64.egg", "numpy", "1.24.2"),
        ("jaxlib-0.4.30+cuda12.cudnn91.dist-info", "jaxlib", "0.4.30+cuda12.cudnn91"),
        ("typing_extensions-4.15.0.dist-info", "typing-extensions", "4.15.0"),
        ("old-style-name-1.0.dist-info", "old-style-name", "1.0"),
    ],
)
def test_a_folder_name_is_a_package(entry: str, name: str, version: str) -> None:
    assert packages.from_names([entry])[0] == {name: version}


@pytest.mark.parametrize(
    "entry",
    ["~orch-2.6.0.dist-info", "torch", "torch.dist-info", "-1.0.dist-info", "~umpy-1.0.egg-info", "ü-1.dist-info"],
)
def test_leftovers_and_code_are_no_packages(entry: str) -> None:
    found, bare = packages.from_names([entry])
    assert found == {}
    assert bare == []


def test_a_version_that_stands_inside_only_is_read() -> None:
    text = "Metadata-Version: 2.1\nName: proj\nVersion: 1.2.dev3\n\nVersion: 9\n"
    host = MemoryHost({"/s/proj.egg-info/PKG-INFO": text})
    assert packages.in_site_packages(host, "/s", host.list("/s").names, "/") == {"proj": "1.2.dev3"}


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("__version__ = '2.6.0+cu124'\ncuda: Optional[str] = '12.4'\nhip: Optional[str] = None\n", "2.6.0+cu124"),
        ('__version__ = "2.6.0"\ncuda = "12.4"\nhip = None\n', "2.6.0+cu124"),
        ("__version__ = '2.6.0'\ncuda = None\nhip = '6.2.41133-dd7f95766'\n", "2.6.0+rocm6.2"),
        ("__version__ = '2.6.0'\ncuda = None\nhip = None\nxpu = '20250000'\n", "2.6.0+xpu"),
        ("__version__ = '2.6.0'\ncuda = None\nhip = None\n", "2.6.0+cpu"),
        ("__version__ = '2.5.0+cu118'\ncuda = '11.8'\n", "2.6.0"),  # of another installation: the metadata decides
        ("", "2.6.0"),
        ("raise SystemExit", "2.6.0"),
        ("cuda = 'evil\\n'\n", "2.6.0"),
    ],
)
def test_the_module_tells_the_build_that_metadata_leaves_out(text: str, version: str) -> None:
    assert packages.built_version("2.6.0", text, has_cpu_tag=True) == version


def test_a_mac_has_one_build_and_no_tag() -> None:
    text = "__version__ = '2.6.0'\ncuda = None\nhip = None\n"
    files = {"/s/torch-2.6.0.dist-info/METADATA": "", "/s/torch/version.py": text}
    host = MemoryHost(files, os="macos")
    assert packages.in_site_packages(host, "/s", host.list("/s").names, "/") == {"torch": "2.6.0"}


@pytest.mark.parametrize(
    ("record", "name", "version"),
    [
        ("pytorch-2.5.1-py3.12_cuda12.4_cudnn9.1.0_0.json", "torch", "2.5.1+cu124"),
        ("pytorch-2.5.1-cuda126_py312h1_202.json", "torch", "2.5.1+cu126"),
        ("pytorch-2.5.1-cpu_generic_py312h0_1.json", "torch", "2.5.1+cpu"),
        ("tensorflow-base-2.15.0-cuda120py39h_3.json", "tensorflow-base", "2.15.0+cu120"),
        ("jaxlib-0.4.31-cpu_py312h_0.json", "jaxlib", "0.4.31+cpu"),
        ("numpy-1.26.4-py312heda63a1_0.json", "numpy", "1.26.4"),
        ("python-3.12.3-hab00c5b_0_cpython.json", "python", "3.12.3"),
        ("ca-certificates-2024.8.30-hbcca054_0.json", "ca-certificates", "2024.8.30"),
    ],
)
def test_a_conda_record_is_a_package_with_its_build(record: str, name: str, version: str) -> None:
    assert packages.conda_packages([record, "history"]) == {name: version}


def test_own_metadata_outranks_conda_but_takes_its_build_tag() -> None:
    own: dict[str, str | None] = {"torch": "2.5.1", "numpy": "2.0.0"}
    both = packages.with_conda(own, {"torch": "2.5.1+cu124", "numpy": "1.26.4", "mkl": "2024.0"})
    assert both == {"torch": "2.5.1+cu124", "numpy": "2.0.0", "mkl": "2024.0"}


def test_what_comes_first_on_the_path_hides_the_rest() -> None:
    merged = packages.merged([{"a": "1"}, {"a": "2", "b": None}, {"b": "3"}])
    assert [(one.name, one.version) for one in merged] == [("a", "1"), ("b", "3")]


endings = st.sampled_from([".dist-info", "1.0.dist-info", "-py3.egg-info", ".egg", ".json", "-1-2.json"])
middles = st.sampled_from(["-", "--", "~", "", ".", "_"])
names = st.lists(st.text(max_size=40) | st.builds("{}{}{}".format, st.text(max_size=12), middles, endings), max_size=30)


@given(names, st.text(max_size=200))
def test_no_names_and_no_file_raise(entries: list[str], text: str) -> None:
    host = MemoryHost({"/s/torch/version.py": text, "/s/x.egg-info/PKG-INFO": text})
    found = packages.in_site_packages(host, "/s", [*entries, "torch-2.0.dist-info", "x.egg-info"], "/")
    assert "torch" in found
    assert all(name and name == packages.normal(name) for name in found)
    packages.merged([found, dict(packages.conda_packages(entries))])
