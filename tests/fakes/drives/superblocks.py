# SPDX-License-Identifier: Apache-2.0
"""What md does with the superblocks of members: who is taken at a start, who is not, and what is kept of it.

A superblock is the content of a partition or drive; keys in small letters are not shown by blkid. `role` is a slot or
`spare`, `states` has a letter for each slot, `bitmap` says whether the member can be re-added, `bad` is there where it
has a list of bad blocks with entries, `recovering` where it is not filled yet: `bitmap` where only with what it missed.
A leg of a RAID0 has the bytes of its `data`.
"""

from millrace.storage.array.machine import LiveMember
from millrace.storage.array.md import LOST_MEMBERS
from tests.fakes.drives.disks import Content


def new(uuid: str, level: str, count: int, role: int | None) -> Content:
    """A superblock as mdadm --create writes it."""
    return {
        "TYPE": "linux_raid_member",
        "UUID": uuid.replace(":", ""),
        "level": level,
        "count": str(count),
        "role": "spare" if role is None else str(role),
        "events": "1",
        "clean": "1",
        "states": "A" * count,
        "bitmap": "fits",
    }


def examined(device: str, held: Content) -> str:
    """The lines of mdadm --examine that are read, and some that are not."""
    role = held["role"] if held["role"] == "spare" else f"Active device {held['role']}"
    recovery = "Recovery Offset : 8192 sectors\n" if "recovering" in held else ""
    bad = " - bad blocks present." if "bad" in held else ""
    data = f" Avail Dev Size : {int(held['data']) >> 9} sectors (1.0 GiB 1.1 GB)\n" if "data" in held else ""
    # md_p.h: a bitmap; where the recovery is; that it is one by the bitmap
    features = 0x1 | 0x2 * ("recovering" in held) | 0x80 * (held.get("recovering") == "bitmap") | 0x8 * ("bad" in held)
    return (
        f"{device}:\n          Magic : a92b4efc\n    Feature Map : {features:#x}\n"
        f"     Array UUID : {held['UUID']}\n     Raid Level : {held['level']}\n"
        f"{data}{recovery}          State : {'clean' if held['clean'] == '1' else 'active'}\n"
        "    Update Time : Sat Nov 21 22:01:38 2026\n"
        f"  Bad Block Log : 512 entries available at offset 16 sectors{bad}\n"
        f"         Events : {held['events']}\n\n   Device Role : {role}\n"
        f"   Array State : {held['states']} ('A' == active, '.' == missing, 'R' == replacing)\n"
    )


def live(name: str, held: Content, faulty: bool = False) -> LiveMember:
    """The member as sysfs shows it."""
    if faulty:
        return LiveMember(name, None, frozenset({"faulty"}))
    if "replacement" in held:
        return LiveMember(name, int(held["role"]), frozenset({"spare", "replacement"}))
    if held["role"] == "spare":
        return LiveMember(name, None, frozenset({"spare"}))
    return LiveMember(name, int(held["role"]), frozenset({"spare" if "recovering" in held else "in_sync"}))


def start(held: dict[str, Content], force: bool) -> list[str] | str:
    """The devices that the kernel takes, or why mdadm starts nothing. Those that are not up to date are left out."""
    newest = max(held.values(), key=lambda superblock: int(superblock["events"]))
    count, level = int(newest["count"]), newest["level"]
    fresh = {
        device: superblock
        for device, superblock in held.items()
        if int(superblock["events"]) + 1 >= int(newest["events"])
        and (
            superblock["role"] == "spare"
            or newest["states"][int(superblock["role"])] == "A"
            or "recovering" in superblock
        )
    }
    old = {device: superblock for device, superblock in held.items() if device not in fresh}
    if force and old:
        fresh |= _forced(list(fresh.values()), old, needed(level, count))
    members = [
        superblock for superblock in fresh.values() if superblock["role"] != "spare" and "recovering" not in superblock
    ]
    assert len({superblock["role"] for superblock in members}) == len(members), "two members for one slot"
    if len(members) < needed(level, count):
        return "failed to RUN_ARRAY: Input/output error"
    dirty = level in ("raid5", "raid6") and any(superblock["clean"] == "0" for superblock in members)
    if dirty and len(members) < count and not force:
        return "Not enough devices to start the array while not clean - consider --force."
    write(list(fresh.values()), clean=True)
    return [device for device in held if device in fresh]


def needed(level: str, count: int) -> int:
    """How many members an array needs to start."""
    return 1 if level == "raid1" else count - LOST_MEMBERS[level]


def _forced(fresh: list[Content], old: dict[str, Content], least: int) -> dict[str, Content]:
    """Members that are out of date and count as current from now on (mdadm, force_array).

    mdadm takes as many as it gets; nobody asks for more than the array needs, or for one that was not filled.
    """
    members = [one for one in fresh if one["role"] != "spare" and "recovering" not in one]
    assert len(members) + len(old) == least, f"--force with members that are out of date: {old.keys()}"
    assert all(one["role"] != "spare" and "recovering" not in one for one in old.values())
    return old


def write(members: list[Content], clean: bool) -> None:
    """Something is written, or all is: every superblock is."""
    events = 1 + max(int(one["events"]) for one in members)
    slots = {int(one["role"]) for one in members if one["role"] != "spare" and "recovering" not in one}
    states = "".join("A" if slot in slots else "." for slot in range(int(members[0]["count"])))
    for one in members:
        one.update(events=str(events), clean="1" if clean else "0", states=states)


def join(members: list[Content], held: Content) -> None:
    """One more member, in sync."""
    write([*members, held], clean=members[0]["clean"] == "1")
