# SPDX-License-Identifier: Apache-2.0
"""QEMU keeps Ctrl-C away from itself without being a session of its own, in which its priority would mean nothing."""

import os
from pathlib import Path

import pytest

from vm.accel import Accel
from vm.machine import Machine


def test_a_machine_is_a_process_group_in_the_session_of_its_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Machine, "_connect", lambda _: True)
    with Machine("box", tmp_path, Accel("tcg"), lambda _: ["sleep", "60"]) as machine:
        machine.start()
        assert os.getpgid(machine.pid) == machine.pid
        assert os.getsid(machine.pid) == os.getsid(0)
