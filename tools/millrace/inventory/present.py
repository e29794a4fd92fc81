# SPDX-License-Identifier: Apache-2.0
"""The drives that the kernel has now, from sysfs alone: no command is sent to a drive, and no privileges are needed.

Temperatures are omitted: reading them from sysfs (hwmon) sends a command to the drive, and one that hangs holds its
reader in the kernel until the controller is given up: minutes, the health check included (seen on a booted server).
"""

from millrace.inventory import pci
from millrace.inventory.drives import BayPlaces, DriveVerdict, describe, drive_names
from millrace.inventory.enclosures import bays
from millrace.inventory.model import Drive, DriveState
from millrace.system import paths


def present() -> list[Drive]:
    """Return every drive, without what only the drive itself can report; its state is UNKNOWN."""
    unknown = DriveVerdict(DriveState.UNKNOWN, [])
    places = BayPlaces(pci.slots(paths.ROOT), bays(paths.ROOT))
    return [describe(paths.ROOT, name, unknown, places, run=None) for name in drive_names(paths.ROOT)]
