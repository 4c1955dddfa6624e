"""Live samples with helpers that answer, hang, die, flood and babble."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from knowledge.facts import Accelerator
from probes import live
from probes.live import AcceleratorSample, LiveSample, Sampler

GPU = {
    "vendor": "nvidia",
    "pci_address": "0000:01:00.0",
    "uuid": "GPU-1",
    "name": "Card",
    "state": "ok",
    "load_percent": 37,
    "memory_used_bytes": 10,
    "memory_total_bytes": 100,
    "temperature_c": 61,
    "power_w": 212.5,
    "clock_mhz": 1800,
}


def helper(tmp_path: Path, body: str) -> tuple[str, ...]:
    """A helper program that runs BODY for each request; `number` counts them from 1."""
    path = tmp_path / "helper.py"
    path.write_text(
        "import json, os, sys, time\n"
        f"GPU = {GPU!r}\n"
        "def say(**more):\n    print(json.dumps({'devices': [GPU], 'errors': {}, 'cpu_s': 0.0, **more}), flush=True)\n"
        "number = 0\n"
        "for line in sys.stdin:\n    number += 1\n" + "".join(f"    {line}\n" for line in body.splitlines())
    )
    return (sys.executable, "-S", "-E", str(path))


def until(sampler: Sampler, accepted: object, limit_s: float = 8.0) -> LiveSample:
    """Samples until one is ACCEPTED by the function; fails where none is in time."""
    assert callable(accepted)
    began = time.monotonic()
    while time.monotonic() - began < limit_s:
        sample = sampler.sample()
        if accepted(sample):
            return sample
        time.sleep(0.02)
    pytest.fail(f"no such sample in {limit_s} s: {sample}")


def ours() -> set[int]:
    return {process.pid for process in psutil.Process().children(recursive=True)}


@pytest.fixture(autouse=True)
def _nothing_is_left() -> object:
    before, threads = ours(), set(threading.enumerate())
    yield
    assert ours() <= before
    assert set(threading.enumerate()) <= threads


def test_processor_and_memory_are_told() -> None:
    with Sampler(wanted=False) as sampler:
        first = sampler.sample()
        assert first.cpu_percent is None and "cpu_percent" in first.because  # a load needs two samples
        time.sleep(0.2)
        second = sampler.sample()
    assert second.cpu_percent is not None and len(second.cpu_percent) == psutil.cpu_count()
    assert all(0 <= load <= 100 for load in second.cpu_percent)
    assert second.memory_total_bytes == psutil.virtual_memory().total
    assert second.memory_used_bytes is not None and 0 < second.memory_used_bytes < second.memory_total_bytes
    assert second.because == {} and second.accelerators == ()
    assert second.taken_s > first.taken_s


def test_a_busy_core_is_seen_as_busy() -> None:
    with Sampler(wanted=False) as sampler:
        sampler.sample()
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            pass
        load = sampler.sample().cpu_percent
    assert load is not None and max(load) > 50


def test_a_device_is_told(tmp_path: Path) -> None:
    with Sampler(helper=helper(tmp_path, "say()"), wanted=True) as sampler:
        sample = until(sampler, lambda s: s.accelerators)
    one = sample.accelerators[0]
    assert one == AcceleratorSample(
        vendor="nvidia",
        name="Card",
        pci_address="0000:01:00.0",
        uuid="GPU-1",
        load_percent=37.0,
        memory_used_bytes=10,
        memory_total_bytes=100,
        temperature_c=61.0,
        power_w=212.5,
        clock_mhz=1800.0,
    )
    assert sample.of(Accelerator(vendor="nvidia", uuid="GPU-1")) is one
    assert sample.of(Accelerator(vendor="nvidia", pci_address="00000000:01:00.0")) is one
    assert sample.of(Accelerator(vendor="nvidia", pci_address="01:00.0")) is one
    assert sample.of(Accelerator(vendor="nvidia", pci_address="0000:02:00.0")) is None
    assert sample.of(Accelerator(vendor="nvidia")) is one
    assert sample.of(Accelerator(vendor="amd")) is None


def test_a_device_that_vanishes_is_told_as_gone_and_may_return(tmp_path: Path) -> None:
    body = "say() if number != 2 else say(devices=[{**GPU, 'state': 'gone', 'load_percent': None}])"
    with Sampler(helper=helper(tmp_path, body), wanted=True) as sampler:
        until(sampler, lambda s: s.accelerators and s.accelerators[0].state == "ok")
        gone = until(sampler, lambda s: s.accelerators[0].state == "gone").accelerators[0]
        assert gone.because is not None and gone.load_percent is None
        until(sampler, lambda s: s.accelerators[0].state == "ok")


def test_a_helper_that_hangs_never_holds_a_sample_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "ANSWER_LIMIT_S", 0.3)
    monkeypatch.setattr(live, "STALE_S", 0.2)
    with Sampler(helper=helper(tmp_path, "say() if number == 1 else time.sleep(60)"), wanted=True) as sampler:
        until(sampler, lambda s: s.accelerators)
        longest, states = 0.0, set()
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            began = time.monotonic()
            sample = sampler.sample()
            longest = max(longest, time.monotonic() - began)
            states |= {one.state for one in sample.accelerators}
            time.sleep(0.05)
    assert longest < 1.0  # 0.15 s of waiting; ending and starting a process take the rest on a busy machine
    assert states == {"ok", "unanswered"}


@pytest.mark.parametrize(
    "body",
    [
        "os._exit(3)",
        "os.abort()",
        "print('no answer', flush=True)",
        "sys.stdout.write('x' * 3000000); sys.stdout.flush()",
    ],
)
def test_a_helper_that_dies_babbles_or_floods_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    monkeypatch.setattr(live, "MAX_STARTS", 2)
    starts = tmp_path / "starts"
    command = helper(tmp_path, f"open({str(starts)!r}, 'a').write('x')\n{body}")
    with Sampler(helper=command, wanted=True) as sampler:
        sample = until(sampler, lambda s: "2" in s.because.get("accelerators", live._SILENT).en)
        time.sleep(0.1)
        assert sampler.sample().memory_total_bytes  # the rest goes on
    assert sample.accelerators == ()
    assert len(starts.read_text()) <= 2


def test_a_helper_that_cannot_be_started_is_a_reason() -> None:
    with Sampler(helper=("/no/such/program",), wanted=True) as sampler:
        assert "accelerators" in sampler.sample().because


def test_answers_that_are_no_devices_are_left_out(tmp_path: Path) -> None:
    body = "say(devices=[1, {'vendor': 5}, {}, {**GPU, 'load_percent': 'much'}, GPU, {**GPU, 'extra': 1}])"
    with Sampler(helper=helper(tmp_path, body), wanted=True) as sampler:
        sample = until(sampler, lambda s: s.accelerators)
    assert {one.name for one in sample.accelerators} == {"Card"}


def test_a_costly_answer_is_asked_for_less_often(tmp_path: Path) -> None:
    count = tmp_path / "count"
    with Sampler(
        helper=helper(tmp_path, f"open({str(count)!r}, 'a').write('x')\nsay(cpu_s=0.06)"), wanted=True
    ) as sampler:
        until(sampler, lambda s: s.accelerators)
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            assert sampler.sample().accelerators  # the last answer stays meanwhile
            time.sleep(0.02)
    assert len(count.read_text()) == 1  # 0.06 s of a core: at most one answer in some seconds


def test_closing_twice_and_sampling_again(tmp_path: Path) -> None:
    sampler = Sampler(helper=helper(tmp_path, "say()"), wanted=True)
    until(sampler, lambda s: s.accelerators)
    sampler.close()
    sampler.close()
    assert until(sampler, lambda s: s.accelerators).accelerators
    sampler.close()


def test_the_helper_ends_with_its_input() -> None:
    import subprocess

    process = subprocess.Popen(live.helper_command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(b"sample\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    assert set(answer) == {"devices", "errors", "cpu_s"}
    process.stdin.close()
    assert process.wait(timeout=5) == 0
    process.stdout.close()


def test_what_the_processor_does_not_tell_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied", "/proc/stat")

    monkeypatch.setattr(psutil, "cpu_times", refuse)
    with Sampler(wanted=False) as sampler:
        sample = sampler.sample()
    assert sample.cpu_percent is None and "PermissionError" in sample.because["cpu_percent"].en
    assert sample.memory_total_bytes


def test_a_sample_costs_less_than_a_hundredth_of_a_core() -> None:
    with Sampler(wanted=False) as sampler:
        sampler.sample()
        began = time.process_time()
        for _ in range(20):
            sampler.sample()
        cost = (time.process_time() - began) / 20
    assert cost < 0.01  # once a second


def test_no_driver_no_helper(tmp_path: Path) -> None:
    if os.name == "nt":
        pytest.skip("the folders are those of Linux")
    assert live.devices_to_ask(str(tmp_path)) is False
    card = tmp_path / "sys/class/drm/card0/device"
    card.mkdir(parents=True)
    (card / "vendor").write_text("0x1234\n")
    assert live.devices_to_ask(str(tmp_path)) is False
    (card / "vendor").write_text("0x1002\n")
    assert live.devices_to_ask(str(tmp_path)) is True
