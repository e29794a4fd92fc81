# SPDX-License-Identifier: Apache-2.0
"""Hot spares."""

from millrace.inventory.model import Drive


def dealt(spares: list[Drive], arrays: int) -> list[list[Drive]]:
    """Spares of each array, dealt in turn.

    An md spare belongs to one array. `spare-group` could move it to another one, but only while `mdadm --monitor`
    runs and finds both in mdadm.conf; an array with a spare of its own needs nobody to start a rebuild.
    """
    return [spares[number::arrays] for number in range(arrays)]
