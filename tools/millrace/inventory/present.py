# SPDX-License-Identifier: Apache-2.0
"""The drives that the kernel has this moment, from sysfs alone: no drive is asked, and no rights are needed."""

from collections.abc import Sequence

from millrace import paths
from millrace.inventory import pci
from millrace.inventory.drives import Places, Verdict, describe, drive_names
from millrace.inventory.enclosures import bays
from millrace.inventory.model import Drive, DriveState
from millrace.system.run import Result


def present() -> list[Drive]:
    """Every drive; its state is UNKNOWN, since nobody looked at what is on it."""
    unknown = Verdict(DriveState.UNKNOWN, [])
    places = Places(pci.slots(paths.ROOT), bays(paths.ROOT))
    return [describe(paths.ROOT, name, unknown, places, _silent) for name in drive_names(paths.ROOT)]


def _silent(argv: Sequence[str], stdin: str | None = None) -> Result:
    return Result(127, "", f"{argv[0]} is not asked")
