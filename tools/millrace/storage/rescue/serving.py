# SPDX-License-Identifier: Apache-2.0
"""Whether NFS and SMB serve the pool once it is started again: millrace-serving.target only wants them."""

from millrace.storage.array.machine import System
from millrace.system import units
from millrace.system.errors import Failed

SERVERS = {"NFS": "nfs-server.service", "SMB": "smbd.service"}

LIMIT = 60
"""Seconds that all of them are waited for, as long as they are starting."""


def problem(system: System) -> str | None:
    """Return what does not serve, with where to look; None where all of it serves."""
    waited, lacking = 0, list[str]()
    for server, unit in SERVERS.items():
        state = _state(system, unit)
        while state.is_working and waited < LIMIT:
            system.wait(1)
            waited += 1
            state = _state(system, unit)
        if state.active not in ("active", "reloading"):
            shown = "still starting" if state.is_working else state.active or "in an unknown state"
            lacking.append(f"{server} does not serve: {unit} is {shown} (see: systemctl status {unit})")
    return "; ".join(lacking) or None


def _state(system: System, unit: str) -> units.UnitState:
    try:
        return units.state(unit, system.attempt)
    except Failed:
        return units.UnitState("", queued=False)
