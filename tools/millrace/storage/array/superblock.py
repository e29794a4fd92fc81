# SPDX-License-Identifier: Apache-2.0
"""The md superblock of one member, as `mdadm --examine` prints it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from millrace.storage.array.machine import System
from millrace.storage.array.signature import exported

SECONDS = re.compile(r"[0-9]{1,13}")
END_OF_TIME = 1 << 33
"""Seconds since 1970, in the year 2242."""
RECOVERY_BITMAP = 0x80
"""Bit of the feature map: the member is filled by the bitmap (md_p.h, MD_FEATURE_RECOVERY_BITMAP)."""
FEATURES = re.compile(r"0x[0-9a-fA-F]{1,8}")
ROLE = re.compile(r"Active device ([0-9]{1,5})")
EVENTS = re.compile(r"[0-9]{1,20}")
"""64 bits. The name of an array may have a line break, so any line may be of who made it."""


@dataclass(frozen=True)
class Superblock:
    """`slot` is None for a spare. `states` has a letter for each slot, A where its member was in sync.

    `clean` is false where something was being written. `recovering`: it was not filled itself yet, `by_bitmap` with
    what it missed only. `has_bad`: its list of bad blocks has entries.
    """

    name: str
    slot: int | None
    events: int
    clean: bool
    recovering: bool
    states: str
    has_bad: bool = False
    by_bitmap: bool = False


def examine(system: System, name: str) -> Superblock | None:
    """Return the superblock of a partition or drive; None where mdadm finds none or cannot read it."""
    texts = fields(system, name)
    if not EVENTS.fullmatch(texts.get("Events", "")):
        return None
    return Superblock(
        name=name,
        slot=slot_of(texts),
        events=int(texts["Events"]),
        clean=texts.get("State") == "clean",
        recovering="Recovery Offset" in texts,
        states=texts.get("Array State", "").partition(" ")[0],
        has_bad="bad blocks present" in texts.get("Bad Block Log", ""),
        by_bitmap=bool(_features(texts) & RECOVERY_BITMAP),
    )


def fields(system: System, name: str) -> dict[str, str]:
    """Return the lines of a superblock by their titles; none where mdadm finds none or cannot read it."""
    result = system.attempt(["mdadm", "--examine", f"/dev/{name}"])
    lines = (line.partition(" : ")[::2] for line in result.out.splitlines())
    return {key.strip(): value.strip() for key, value in lines} if result.status == 0 else {}


def slot_of(found: Mapping[str, str]) -> int | None:
    """Return the slot of a member; None for a spare."""
    role = ROLE.fullmatch(found.get("Device Role", ""))
    return int(role[1]) if role else None


def _features(found: Mapping[str, str]) -> int:
    """The bits of what a superblock has beside the basic format; 0 where mdadm does not show them."""
    features = found.get("Feature Map", "")
    return int(features, 16) if FEATURES.fullmatch(features) else 0


def updated(system: System, name: str) -> int | None:
    """Return when the superblock was last written, in seconds since 1970.

    None where mdadm does not show it, or where it is no time that a sentence can have: 40 bits of a drive may be any.
    """
    said = exported(system.attempt(["mdadm", "--examine", "--export", f"/dev/{name}"]).out).get("MD_UPDATE_TIME", "")
    return int(said) if SECONDS.fullmatch(said) and 0 < int(said) < END_OF_TIME else None
