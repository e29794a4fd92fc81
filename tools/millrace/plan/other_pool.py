# SPDX-License-Identifier: Apache-2.0
"""Drives that carry a pool of Millrace: no sentence ever proposes to erase them."""

import re
from collections.abc import Sequence

from millrace.inventory.model import Drive, DriveState
from millrace.plan.finding import place_of
from millrace.plan.model import DriveName, PlanObstacle

DO_NOT_ERASE = "Belongs to another Millrace pool: do not erase it."
# Our partition labels beside those of others, and our arrays by the name in an md superblock: a member that was added
# by hand has no partition of ours.
TRACES = re.compile(r"'millrace-(data|log)-\d\d'|\bmillrace:millrace-")
# as blkid, udev and mdadm print them (inventory/signatures.py, inventory/probe.py)
ARRAY = re.compile(r"\bmillrace:(millrace-[\w-]+)(?:, UUID ([0-9a-fA-F:-]{35,36}))?")


def belongs_to_pool(drive: Drive) -> bool:
    """Whether a drive that is no part of this server's pool belongs to another one."""
    if drive.state is DriveState.BOOT:
        return False
    return drive.state is DriveState.OURS or any(TRACES.search(item.finding) for item in drive.evidence)


def other_pool(drives: Sequence[Drive], rescan: str) -> list[PlanObstacle]:
    """Return one obstacle for all drives of other pools, with bays; `rescan` is the command that plans again."""
    members = sorted(
        (drive for drive in drives if belongs_to_pool(drive)), key=lambda drive: (drive.serial, drive.wwid)
    )
    if not members:
        return []
    what = DO_NOT_ERASE
    if len(members) > 1:
        what = f"{len(members)} drives belong to another Millrace pool: do not erase them."
    if arrays := _arrays(members):
        what += f" Arrays: {', '.join(arrays)}."
    them = "it" if len(members) == 1 else "them"
    return [
        PlanObstacle(
            drives=[DriveName(bay=place_of(drive), name=drive.name, serial=drive.serial) for drive in members],
            what=what,
            todo=f"Keep {them} unchanged. `millrace pool find` shows the pool, `millrace pool adopt` brings it back on "
            f"this server. To create a new pool, remove {them} from this server, {rescan}, or exclude {them} by policy "
            "([drives] exclude).",
        )
    ]


def _arrays(drives: Sequence[Drive]) -> list[str]:
    """The arrays that the drives belong to, with the UUIDs that `mdadm --examine` prints, by which a pool is known."""
    named: dict[tuple[str, str], set[int]] = {}
    for number, drive in enumerate(drives):
        for match in (match for item in drive.evidence for match in ARRAY.finditer(item.finding)):
            named.setdefault((match[1], _mdadm_form(match[2] or "")), set()).add(number)
    # what one tool names without the UUID another has named with it
    known = {name for name, uuid in named if uuid}
    return [
        f"{name} ({f'UUID {uuid}, ' if uuid else ''}{len(on)} drive{'s' * (len(on) > 1)})"
        for (name, uuid), on in sorted(named.items())
        if uuid or name not in known
    ]


def _mdadm_form(uuid: str) -> str:
    """Four groups of eight digits; libblkid prints the same digits as other UUIDs are written."""
    digits = re.sub(r"[:-]", "", uuid).lower()
    return ":".join(digits[start : start + 8] for start in range(0, len(digits), 8))
