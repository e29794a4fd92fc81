# SPDX-License-Identifier: Apache-2.0
"""Why no factory reset can begin now, in a sentence with the remedy."""

from millrace.lifecycle.reset import firmware
from millrace.lifecycle.update import obstacles
from millrace.system.run import Runner
from millrace.system.units import is_active, is_working

WORKING = {
    "millrace-update.service": "an update is being installed",
    "millrace-erase.service": "a drive is being erased",
    "millrace-drive.service": "drives are being changed",
}
"""The installer is a oneshot unit; the others are active as long as they run."""


def of_server(run: Runner) -> str | None:
    """Return why this server cannot be reset now; None where it can. What is under way would be lost halfway."""
    problem = firmware.obstacle() or obstacles.of_server(run, degraded=True)
    if problem:
        return problem
    busy = (what for unit, what in WORKING.items() if is_working(unit, run) or is_active(unit, run))
    return next((f"{what}; wait until that is done" for what in busy), None)
