# SPDX-License-Identifier: Apache-2.0
"""Emulated guests are given the rate of their clock: beside other programs they would find a wrong one."""

import platform
from pathlib import Path

import pytest

from vm import appliance, tsc
from vm.accel import Accel
from vm.client import client_command
from vm.qemu import Files

x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="the counter is one of x86")


@x86
def test_two_measurements_agree() -> None:
    first, second = tsc.khz(), tsc.khz()
    assert first is not None and second is not None
    assert first > 100_000 and abs(first - second) < first / 500


def test_another_processor_has_no_such_counter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert tsc.khz() is None
    assert appliance.patience(Accel("tcg")) == list(appliance.PATIENCE)


def test_emulated_guest_gets_the_rate_and_one_under_kvm_does_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tsc, "khz", lambda: 2_300_000)
    files = Files(tmp_path, tmp_path)

    def lines(name: str) -> str:
        return " ".join([*client_command(tmp_path, [], Accel(name), files), *appliance.patience(Accel(name))])

    assert lines("tcg").count("tsc_early_khz=2300000") == 2
    assert "tsc_early_khz" not in lines("kvm")
