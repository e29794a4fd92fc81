# SPDX-License-Identifier: Apache-2.0
"""Only a breakpoint oops or a lost timer before the first unit, and only under emulation, is its own fault."""

from pathlib import Path

import pytest

from vm.accel import Accel
from vm.machine import Machine

OOPS = "[    1.358032] Oops: int3: 0000 [#1] SMP NOPTI\n"
TIMER = "[    0.060000] Kernel panic - not syncing: IO-APIC + timer doesn't work!  Boot with apic=debug\n"
UNIT = "[[0;32m  OK  [0m] Started systemd-journald.service\n"


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
def test_only_these_are_started_again(tmp_path: Path, accel: str, console: str, fell: bool) -> None:
    machine = Machine("box", tmp_path, Accel(accel), lambda files: [])
    machine.files.console.write_text(console)
    assert machine._emulator_fell() is fell
