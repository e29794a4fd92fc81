# SPDX-License-Identifier: Apache-2.0
"""Is every array there and healthy, with all its members and spares? Each drive is named with its bay and serial."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from millrace.observe.health.host import REPLACE, Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.plan.labels import array_path
from millrace.plan.model import Role
from millrace.storage.array.area import Area, minus
from millrace.storage.array.devices import block
from millrace.storage.array.live_arrays import live_arrays
from millrace.storage.array.live_model import LiveArray, Member
from millrace.storage.assemble import standstill
from millrace.storage.assemble.revival import REVIVE
from millrace.storage.record import scrub_record
from millrace.storage.record.model import ArrayRecord
from millrace.storage.scrub.damage import bad_blocks, beyond
from millrace.storage.scrub.scrub_status import RETIRE
from millrace.system import sysfs
from millrace.system.command import command
from millrace.system.names import several
from millrace.system.text import pace, size

NAME = "arrays"

RESCUE = "millrace pool rescue"
FILES = "Show the damaged files: millrace pool scrub files"

_DEAD = {"clear", "inactive", "broken"}
_GONE = ("missing", "faulty")


def check(host: Host) -> list[HealthFinding]:
    """Return one finding for the state of each array of the pool, and one for each further problem of it."""
    if host.pool is None:
        return []
    live = live_arrays(host.pool, {})
    return [
        finding for record, now in zip(host.pool.arrays, live, strict=True) for finding in _array(host, record, now)
    ]


def _array(host: Host, record: ArrayRecord, now: LiveArray) -> list[HealthFinding]:
    if now.device is None:
        return [_absent(host, record, now)]
    md = block(now.device) / "md"
    title, state = _title(now), _read(md, "array_state")
    # md calls a mirror broken only while nothing waits to be written (md.c array_state_show)
    if now.level == "raid1" and not any(member.state == "in-sync" for member in now.members):
        state = "broken"
    if state in _DEAD:
        gone = _behind(host, now) or _named(host, _gone(now)) or "too many of its drives are missing"
        return [_finding(now, Level.FAIL, f"{title} is {state}: {gone}.", _again(host, now))]
    if state == "readonly":
        todo = f"To make it writable: mdadm --readwrite {array_path(now.name)}; for the reason: journalctl -k | grep md"
        return [_finding(now, Level.FAIL, f"{title} is read-only.", todo)]
    # raid0 has no redundancy to lose: the kernel has no such files for it.
    if now.level == "raid0":
        return [_finding(now, Level.OK, f"{title} is running."), *_growth(host, now)]
    return [_redundant(host, record, now, int(_read(md, "degraded"))), *_bad_blocks(host, now), *_mismatch(now, md)]


def _growth(host: Host, now: LiveArray) -> list[HealthFinding]:
    """What a growth of its legs waits for; the drives were bought to be used."""
    waiting = host.pool.growth if host.pool else None
    if waiting is None or waiting.array != now.name:
        return []
    gain = size(waiting.gain)
    if waiting.started:
        sentence = f"{_title(now)} has grown, and the file system does not use {gain} of it yet."
        return [_finding(now, Level.WARN, sentence, "Grow it: millrace pool grow", "growth")]
    sentence = f"{_title(now)}: its legs have grown, and {gain} of them are used after the next restart."
    return [_finding(now, Level.WARN, sentence, "Restart the server: systemctl reboot", "growth")]


def _absent(host: Host, record: ArrayRecord, now: LiveArray) -> HealthFinding:
    present = {drive.serial for drive in host.drives}
    lost = [one for one in now.members if record.members and one.serial not in present]
    if record.members and not lost and (behind := _behind(host, now)):
        return host.absent(NAME, f"{_title(now)} does not run: {behind}.", _again(host, now), subject=now.name)
    named = f" {_named(host, lost)[:1].upper()}{_named(host, lost)[1:]}." if lost else ""
    todo = "Check that its drives are seated (millrace inventory), then: journalctl -u millrace-assemble"
    if len(lost) == len(now.members):
        todo = _put_back(now, todo)
    return host.absent(NAME, f"{_title(now)} is missing.{named}", todo, subject=now.name)


def _behind(host: Host, now: LiveArray) -> str:
    """What is there of an array whose drives are all present; empty where drives are missing, or nothing is known."""
    stopped = standstill.load().get(now.uuid)
    if stopped is None or stopped.missing or not _all_present(host, now):
        return ""
    if not stopped.behind:
        return "all drives are present again"
    which = several([host.place(serial) for serial in stopped.behind])
    number = len(stopped.behind)
    doubt = f"; {stopped.doubt}" if stopped.doubt else ""
    return f"all drives are present, {number} of them {'are' if number > 1 else 'is'} behind: {which}{doubt}"


def _all_present(host: Host, now: LiveArray) -> bool:
    present = {drive.serial for drive in host.drives}
    return all(one.serial in present for one in now.members if one.planned)


def _again(host: Host, now: LiveArray) -> str:
    """How an array whose drives were gone is started again: what is to be done by hand is never a reboot."""
    if _all_present(host, now):
        return f"Start it: {REVIVE}"
    return _put_back(now, f"Put the missing drives back in. If the array does not start by itself then: {REVIVE}")


def _put_back(now: LiveArray, todo: str) -> str:
    """The remedy, and for the log what is left if its drives do not come back."""
    return f"{todo}. If they do not come back: {RESCUE}" if now.role is Role.LOG else todo


def _redundant(host: Host, record: ArrayRecord, now: LiveArray, missing: int) -> HealthFinding:
    title, gone = _title(now), _gone(now)
    doing = _progress(now)
    if missing:
        who = _named(host, gone) or f"{missing} of {len(record.array.members)} members missing"
        left = now.may_fail or 0
        survives = f"it survives {left} more failure{'s' * (left > 1)}" if left else "the next failure loses data"
        rebuilt = sum(member.state == "rebuilding" for member in now.members) >= missing
        sentence = f"{title} is degraded: {who}; {survives}{doing}."
        return _finding(now, Level.WARN if left else Level.FAIL, sentence, None if rebuilt else _replace(host, gone))
    spares = sum(member.state == "spare" for member in now.members)
    if spares < len(record.spares):
        who = f": {_named(host, gone)}" if gone else ""
        sentence = f"{title} is healthy with {spares} of {len(record.spares)} hot spares{who}{doing}."
        return _finding(now, Level.WARN, sentence, _replace(host, gone), "spares")
    faulty = [member for member in now.members if member.state == "faulty"]
    if faulty:
        sentence = f"{title} is healthy, and {_named(host, faulty)}{doing}."
        # pool.json has no place of one that failed before it was in sync
        places = [member for member in faulty if member.planned]
        todo = (
            _replace(host, places) if places else f"Take it out: {command('millrace drive remove', faulty[0].serial)}"
        )
        return _finding(now, Level.WARN, sentence, todo)
    return _finding(now, Level.OK, f"{title} is healthy{doing}.")


def _bad_blocks(host: Host, now: LiveArray) -> list[HealthFinding]:
    """md(4): a rebuild that met sectors it could not read lists them and ends as if nothing were lost."""
    serials = {member.device: member.serial for member in now.members if member.device and member.state != "faulty"}
    listed = {serials[name]: areas for name, areas in bad_blocks(now.device or "").items() if name in serials and areas}
    lost = beyond(listed, now.may_fail or 0)
    # what XFS does not use any more harms nobody (millrace pool scrub retire)
    kept = scrub_record.load().of(now.uuid, now.name).retired
    used = minus(lost, [Area(row.begin, row.end) for row in kept])
    findings = [_lost(host, now, listed, used)] if used else []
    for serial, areas in listed.items():
        # what no drive has is not a drive's fault alone: the new one of a rebuild lists it, too
        readable = [bad_area for bad_area in areas if not any(_overlap(bad_area, area) for area in lost)]
        if readable:
            sentence = (
                f"{_title(now)}: {_areas(readable)} of {host.place(serial)} cannot be read (bad-block list of md)."
            )
            level = Level.WARN if now.may_fail else Level.FAIL
            (member,) = [member for member in now.members if member.serial == serial]
            findings.append(_finding(now, level, sentence, _replace(host, [member]), f"bad-blocks/{serial}"))
    return findings


def _lost(host: Host, now: LiveArray, listed: Mapping[str, Sequence[Area]], lost: Sequence[Area]) -> HealthFinding:
    drives = [
        host.place(serial) for serial, areas in listed.items() if any(_overlap(a, b) for a in areas for b in lost)
    ]
    sentence = f"{_title(now)}: {_areas(lost)} cannot be read or rebuilt: {several(drives)} have bad blocks there."
    if len(drives) == 1:
        sentence = f"{_title(now)}: {_areas(lost)} cannot be read or rebuilt: {drives[0]} has bad blocks there."
    if now.role is Role.LOG:
        return _finding(now, Level.FAIL, sentence, f"Replace the drive: {command(REPLACE, min(listed))}", "lost")
    # raid5.c handle_failed_stripe: a stripe without enough members is not written, and freed space is used again
    todo = f"{FILES}. Restore them under other names, then take the areas out of use: {RETIRE}"
    return _finding(now, Level.FAIL, sentence, todo, "lost")


def _areas(areas: Sequence[Area]) -> str:
    return f"{len(areas)} area{'s' * (len(areas) > 1)}"


def _overlap(one: Area, other: Area) -> bool:
    return one.begin < other.end and other.begin < one.end


def _mismatch(now: LiveArray, md: Path) -> list[HealthFinding]:
    """What another program's check found; what ours did is a finding of the checks, with its place."""
    sectors = int(_text(md / "mismatch_cnt") or 0)
    if not sectors or now.sync is not None or _text(md / "last_sync_action") != "check":
        return []
    if now.last_scrub is not None and now.last_scrub.mismatches:
        return []
    sentence = f"{_title(now)}: a check found {sectors} sectors that do not match; their place was not recorded."
    return [_finding(now, Level.WARN, sentence, "Check it to the end: millrace pool scrub start", "mismatch")]


def _finding(now: LiveArray, level: Level, sentence: str, todo: str | None = None, kind: str = "") -> HealthFinding:
    return HealthFinding(check=NAME, kind=kind, subject=now.name, level=level, sentence=sentence, todo=todo)


def _title(now: LiveArray) -> str:
    return f"Array {now.name} ({now.level.upper()})"


def _gone(now: LiveArray) -> list[Member]:
    return [one for one in now.members if one.planned and one.state in _GONE]


def _named(host: Host, members: Sequence[Member]) -> str:
    """`bay 4 (S3) and bay 6 (S5) are missing, bay 7 (S6) is faulty`, with what they share; empty without members."""
    parts = []
    for state in _GONE:
        which = [one.serial for one in members if one.state == state]
        if which:
            places = several([host.place(one) for one in which])
            parts.append(f"{places} {'are' if len(which) > 1 else 'is'} {state}{host.shared(which)}")
    return ", ".join(parts)


def _replace(host: Host, members: Sequence[Member]) -> str:
    """The remedy with its command, which takes one drive at a time."""
    if not members:
        return f"Find the drive with millrace drive list, then: {REPLACE} SERIAL"
    for one in members:
        if bay := host.refilled.get(one.serial):
            return f"A blank drive is in bay {bay}: {command(REPLACE, one.serial)}"
    which = "the drives one by one, first" if len(members) > 1 else "the drive"
    return f"Replace {which}: {command(REPLACE, members[0].serial)}"


def _progress(now: LiveArray) -> str:
    """`; rebuild at 12 %, 205 MB/s, 9 h 12 min left`, or nothing where md is idle."""
    if now.sync is None:
        return ""
    if now.sync.progress is None:
        return f"; {now.sync.action} is waiting"
    left = pace(now.sync.bytes_per_second, now.sync.seconds_left)
    return f"; {now.sync.action} at {int(100 * now.sync.progress)} %{left}"


def _text(path: Path) -> str:
    """An attribute that arrays of some levels do not have."""
    return sysfs.text(path) or ""


def _read(md: Path, attribute: str) -> str:
    return (md / attribute).read_text().strip()
