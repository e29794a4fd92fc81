# SPDX-License-Identifier: Apache-2.0
"""Areas of a drive, of an array or of its members, in sectors."""

from collections.abc import Sequence
from dataclasses import dataclass

SECTOR = 512
"""Bytes."""


@dataclass(frozen=True)
class Area:
    """Sectors of 512 bytes: `end` is the first after it."""

    begin: int
    end: int


def merged(areas: Sequence[Area]) -> list[Area]:
    """Return areas in their order, those that touch as one."""
    found: list[Area] = []
    for one in sorted(areas, key=lambda area: area.begin):
        if found and one.begin <= found[-1].end:
            found[-1] = Area(found[-1].begin, max(found[-1].end, one.end))
        else:
            found.append(one)
    return found


def minus(areas: Sequence[Area], taken: Sequence[Area]) -> list[Area]:
    """Return what of the areas is not taken."""
    left = list(areas)
    for one in taken:
        left = [part for each in left for part in _without(each, one)]
    return left


def _without(area: Area, taken: Area) -> list[Area]:
    parts = [Area(area.begin, min(area.end, taken.begin)), Area(max(area.begin, taken.end), area.end)]
    return [one for one in parts if one.begin < one.end]
