# SPDX-License-Identifier: Apache-2.0
"""Whether a drive can keep up with others, by what it is and how it is connected."""

from millrace.inventory.model import Drive, PcieLink


def slower(log: Drive, data: list[Drive]) -> bool:
    """Rotating, or on a link that carries less than half: one PCIe generation less is enough for a log."""
    if log.rotational and not any(drive.rotational for drive in data):
        return True
    slowest = min(_bandwidth(drive.link) for drive in data)
    return log.link is not None and 2 * _bandwidth(log.link) < slowest


def _bandwidth(link: PcieLink | None) -> float:
    # What the link can do, not what it does: the plan must not depend on a power-saving state.
    return link.max_speed * link.max_width if link else 0.0
