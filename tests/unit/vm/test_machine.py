# SPDX-License-Identifier: Apache-2.0
"""How QEMU is started, and which failures are those of the emulator and not of the guest."""

import os
from pathlib import Path

import pytest

from vm.accel import Accel
from vm.machine import Machine

OOPS = "[    1.358032] Oops: int3: 0000 [#1] SMP NOPTI\n"
TIMER = "[    0.060000] Kernel panic - not syncing: IO-APIC + timer doesn't work!  Boot with apic=debug\n"
UNIT = "[[0;32m  OK  [0m] Started systemd-journald.service\n"


def test_machine_is_a_process_group_in_the_session_of_its_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C does not reach it; in a session of its own its priority would have no effect."""
    monkeypatch.setattr(Machine, "_connect", lambda _: True)
    with Machine("box", tmp_path, Accel("tcg"), lambda _: ["sleep", "60"]) as machine:
        machine.start()
        assert os.getpgid(machine.pid) == machine.pid
        assert os.getsid(machine.pid) == os.getsid(0)


@pytest.mark.parametrize(
    ("accel", "console", "fell"),
    [
        ("tcg", OOPS, True),
        ("tcg", TIMER, True),
        ("kvm", OOPS, False),
        ("tcg", UNIT + OOPS, False),
        ("tcg", "[    1.3] Oops: general protection fault\n", False),
        ("tcg", "", False),
    ],
)
def test_only_early_faults_under_emulation_are_restarted(tmp_path: Path, accel: str, console: str, fell: bool) -> None:
    machine = Machine("box", tmp_path, Accel(accel), lambda files: [])
    machine.files.console.write_text(console)
    assert machine._emulator_fell() is fell
