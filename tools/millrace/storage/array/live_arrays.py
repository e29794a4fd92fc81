# SPDX-License-Identifier: Apache-2.0
"""The arrays of the pool in sysfs: members, missing members, progress of a rebuild."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from millrace.inventory import drives
from millrace.storage.array.devices import array_device, block
from millrace.storage.array.live_model import Action, LiveArray, Member, MemberState, Sync
from millrace.storage.array.md import LOST_MEMBERS
from millrace.storage.record import scrub_record
from millrace.storage.record.model import ArrayRecord, MemberRecord, Pool
from millrace.storage.record.scrub_record import Scrubbed
from millrace.system import sysfs
from millrace.system.text import KIB

SECTOR = 512
MISSING = "missing"

ACTIONS: Mapping[str, Action] = {
    "resync": "first synchronisation",
    "recover": "rebuild",
    "check": "check",
    "repair": "repair",
    "reshape": "reshape",
}


def live_arrays(pool: Pool, bays: Mapping[str, str]) -> list[LiveArray]:
    """Return every array of the pool as it is now; `bays` by serial."""
    scrubs = scrub_record.load()
    return [_array(record, bays, scrubs.of(record.uuid, record.array.name).last) for record in pool.arrays]


def sync(device: str) -> Sync | None:
    """Return what md does with a running array; None where it is idle."""
    md = block(device) / "md"
    action = ACTIONS.get(sysfs.text(md / "sync_action") or "")
    if action is None:
        return None
    done, _, total = (sysfs.text(md / "sync_completed") or "").partition(" / ")
    # "delayed" and "none": another array on the same drives goes first.
    if not (done.isdigit() and total.isdigit() and int(total)):
        return Sync(action=action, progress=None, bytes_per_second=None, seconds_left=None)
    speed = (sysfs.number(md / "sync_speed") or 0) * KIB
    left = (int(total) - int(done)) * SECTOR
    return Sync(
        action=action,
        progress=int(done) / int(total),
        bytes_per_second=speed or None,
        seconds_left=left / speed if speed else None,
    )


def member_states(live: Sequence[LiveArray]) -> dict[str, MemberState]:
    """Return the md state of each drive; of a drive in two arrays, the worse."""
    found: dict[str, MemberState] = {}
    for array in live:
        for member in array.members if not array.legs else []:
            found[member.serial] = worst([found.get(member.serial, "spare"), member.state])
    return found


def worst(states: Sequence[MemberState]) -> MemberState:
    """Return the worst of one or more states."""
    worst_first: list[MemberState] = ["faulty", "missing", "unknown", "rebuilding", "in-sync", "spare"]
    return min(states, key=worst_first.index)


def _array(record: ArrayRecord, bays: Mapping[str, str], last_scrub: Scrubbed | None) -> LiveArray:
    array = record.array
    device = array_device(array.name)
    directory = block(device) if device else None
    running = directory is not None and (directory / "md").is_dir()
    degraded = sysfs.number(directory / "md/degraded") if directory else None
    return LiveArray(
        name=array.name,
        level=array.level,
        role=array.role,
        uuid=record.uuid,
        device=device if running else None,
        state=(sysfs.text(directory / "md/array_state") if directory else None) or MISSING,
        size=drives.size(directory) if directory and running else None,
        chunk=array.chunk,
        legs=list(array.members) if array.over_arrays else [],
        degraded=degraded,
        may_fail=_may_fail(record, degraded),
        members=_legs(array.members) if array.over_arrays else _members(record, device, bays),
        sync=sync(device) if device and running else None,
        last_scrub=last_scrub,
    )


def _may_fail(record: ArrayRecord, degraded: int | None) -> int | None:
    array = record.array
    if degraded is None or array.level == "raid0":
        return None
    spare = len(array.members) - 1 if array.level == "raid1" else LOST_MEMBERS[array.level]
    return max(spare - degraded, 0)


def _legs(names: Sequence[str]) -> list[Member]:
    members = []
    for name in names:
        device = array_device(name)
        there = device is not None and (block(device) / "md").is_dir()
        members.append(
            Member(
                serial=name,
                label="",
                bay=None,
                device=device if there else None,
                state="in-sync" if there else "missing",
                errors=None,
                planned=True,
            )
        )
    return members


def _members(record: ArrayRecord, device: str | None, bays: Mapping[str, str]) -> list[Member]:
    """Those that were planned, in their order, then those that were put in later."""
    live = _live(device) if device else {}
    planned = [*record.members, *record.spares] or [_nameless(serial) for serial in record.array.members]
    found = [_member(one.serial, one.label, live.pop(one.serial, None), bays, True) for one in planned]
    return found + [_member(serial, "", entry, bays, False) for serial, entry in sorted(live.items())]


def _nameless(serial: str) -> MemberRecord:
    return MemberRecord(serial=serial, wwid="", partuuid="", label="")


def _member(serial: str, label: str, entry: Path | None, bays: Mapping[str, str], planned: bool) -> Member:
    return Member(
        serial=serial,
        label=label,
        bay=bays.get(serial),
        device=entry.name.removeprefix("dev-") if entry else None,
        state=_state(entry) if entry else "missing",
        errors=sysfs.number(entry / "errors") if entry else None,
        planned=planned,
    )


def _live(device: str) -> dict[str, Path]:
    """The directories of the members that md has, by the serial of their drive."""
    md = block(device) / "md"
    found = {}
    for name in sysfs.names(md):
        # md keeps the last member of a mirror whose drive was pulled, and calls it in sync; its device is gone.
        if name.startswith("dev-") and block(name.removeprefix("dev-")).exists():
            found[serial_of(name.removeprefix("dev-"))] = md / name
    return found


def serial_of(device: str) -> str:
    """Return the serial of the drive under a partition, or the kernel's name where it reports none."""
    directory = block(device)
    drive = directory.resolve().parent if (directory / "partition").exists() else directory.resolve()
    return drives.identify(drive).serial or device


def _state(entry: Path) -> MemberState:
    """md(4): a comma-separated list; a spare that has a place in the array is being rebuilt onto."""
    words = (sysfs.text(entry / "state") or "").split(",")
    if "faulty" in words:
        return "faulty"
    if "in_sync" in words:
        return "in-sync"
    if "spare" in words:
        return "spare" if sysfs.text(entry / "slot") == "none" else "rebuilding"
    return "unknown"
