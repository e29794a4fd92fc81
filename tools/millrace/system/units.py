# SPDX-License-Identifier: Apache-2.0
"""The state of systemd units."""

import socket

from millrace.system.run import Runner


def is_active(unit: str, run: Runner) -> bool:
    """Whether systemd has the unit up."""
    return run(["systemctl", "is-active", "--quiet", unit]).status == 0


def is_working(unit: str, run: Runner) -> bool:
    """Whether a oneshot unit runs at the moment, or is about to: systemd calls it "activating", and never active."""
    shown = run(["systemctl", "show", "--property=ActiveState,Job", unit]).out.split()
    return "ActiveState=activating" in shown or any(
        one.startswith("Job=") and one not in ("Job=", "Job=0") for one in shown
    )


def is_under_way(unit: str, run: Runner) -> bool:
    """Whether a unit of a job begins, runs or ends: it has not ended while what it runs after a kill is not done."""
    state = run(["systemctl", "show", "--property=ActiveState", "--value", unit]).out.strip()
    return state in ("active", "activating", "deactivating", "reloading")


def notify_ready(address: str | None) -> None:
    """Tell systemd at $NOTIFY_SOCKET that the service is up (sd_notify(3)); nothing where nobody waits for it.

    OSError: systemd does not take it.
    """
    if not address:
        return
    # a socket without a file has a null byte where systemd writes @
    place = f"\0{address[1:]}" if address.startswith("@") else address
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.sendto(b"READY=1", place)
