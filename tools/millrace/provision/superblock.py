# SPDX-License-Identifier: Apache-2.0
"""The md superblock of one member, as `mdadm --examine` prints it."""

import re
from dataclasses import dataclass

from millrace.provision.signature import exported
from millrace.provision.system import System

ROLE = re.compile(r"Active device (\d+)")


@dataclass(frozen=True)
class Superblock:
    """`slot` is None for a spare. `states` has a letter for each slot, A where its member was in sync.

    `clean` is false where something was being written. `recovering`: the member itself was not filled yet.
    """

    name: str
    slot: int | None
    events: int
    clean: bool
    recovering: bool
    states: str


def examine(system: System, name: str) -> Superblock | None:
    """Return the superblock of a partition or drive; None where mdadm finds none or cannot read it."""
    result = system.attempt(["mdadm", "--examine", f"/dev/{name}"])
    lines = (line.partition(" : ")[::2] for line in result.out.splitlines())
    fields = {key.strip(): value.strip() for key, value in lines}
    if result.status != 0 or not fields.get("Events", "").isdigit():
        return None
    role = ROLE.fullmatch(fields.get("Device Role", ""))
    return Superblock(
        name=name,
        slot=int(role[1]) if role else None,
        events=int(fields["Events"]),
        clean=fields.get("State") == "clean",
        recovering="Recovery Offset" in fields,
        states=fields.get("Array State", "").partition(" ")[0],
    )


def updated(system: System, name: str) -> int | None:
    """Return when the superblock was last written, in seconds since 1970; None where mdadm does not show it."""
    fields = exported(system.attempt(["mdadm", "--examine", "--export", f"/dev/{name}"]).out)
    return int(fields["MD_UPDATE_TIME"]) if fields.get("MD_UPDATE_TIME", "").isdigit() else None
