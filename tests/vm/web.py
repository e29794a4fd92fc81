# SPDX-License-Identifier: Apache-2.0
"""The web console of a server under test, for browsers of this host."""

from collections.abc import Sequence

from tests.browser.console import CHROMIUM, Console
from tests.vm.box import Box
from vm.accel import Accel
from vm.machine import Machine

# An emulated server is that much slower than a real one; what a page waits for is waited for at most 4 minutes.
EMULATED = 24.0
# Cockpit gives up after a minute where Python alone takes seconds to start, and ends sessions that only watch.
PATIENT = "IdleTimeout = 240\n\n[basic]\ntimeout = 280\n"


def make_patient(machine: Machine, accelerator: Accel) -> None:
    """Have Cockpit wait longer where the server is emulated."""
    if accelerator.name == "tcg":
        machine.run(
            "sed -i '/^IdleTimeout/d' /etc/cockpit/cockpit.conf; cat >> /etc/cockpit/cockpit.conf", stdin=PATIENT
        )


def console_of(box: Box, port: int, accelerator: Accel) -> Console:
    """Return the web console that is at a port of this host."""

    def run(argv: Sequence[str], stdin: str) -> str:
        return box.machine.run(argv, stdin=stdin, seconds=300).out

    slowness = EMULATED * accelerator.scale if accelerator.name == "tcg" else 1.0
    return Console(f"https://127.0.0.1:{port}", CHROMIUM, run, slowness)
