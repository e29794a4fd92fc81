# SPDX-License-Identifier: Apache-2.0
"""Where the drives of this server are."""

from millrace.inventory.model import Inventory
from millrace.inventory.present import present
from millrace.system import paths
from millrace.system.documents import read_model
from millrace.system.errors import MillraceError


def bays() -> dict[str, str]:
    """Return the bay, else the slot, of each drive by serial; for one that is gone, that of the last boot."""
    try:
        at_boot = read_model(paths.inventory_file(), Inventory).drives
    except MillraceError:
        at_boot = []
    return {one.serial: place for one in [*at_boot, *present()] if (place := one.bay or one.slot)}
