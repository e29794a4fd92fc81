# SPDX-License-Identifier: Apache-2.0
"""What did the last check of each array and of XFS find, and how long ago was it?"""

from datetime import datetime, timedelta

from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.plan.model import Role
from millrace.plan.policy.model import ScrubPolicy
from millrace.plan.policy.policy_in_force import find
from millrace.storage.array.devices import array_device, block
from millrace.storage.record.model import ArrayRecord, Pool
from millrace.storage.record.scrub_record import (
    FilesystemScrub,
    Scrubbed,
    ScrubRecord,
    files_in_words,
    load,
    located_in_words,
    restorable,
)
from millrace.storage.scrub import scrub_due, scrub_pace
from millrace.system import ages, sysfs
from millrace.system.command import command
from millrace.system.text import moment

NAME = "scrub"
REPAIR = "millrace pool scrub repair"
CLOCK = "Nothing, if the clock is right (timedatectl)"
XFS_UNIT = "millrace-xfs-scrub.service"

PERIODS = {"week": timedelta(days=7), "month": timedelta(days=31), "quarter": timedelta(days=92)}
LATE = 2
"""A check that did not happen for so many periods of the policy is late."""
XFS_LATE = timedelta(days=16)
"""Two periods of millrace-upkeep@xfs-scrub.timer, and the time that a check takes."""


def check(host: Host) -> list[HealthFinding]:
    """Return one finding for each array and for XFS where its check is late or found something, else one for all."""
    if host.pool is None:
        return []
    policy, now = find().policy.scrub, datetime.now().astimezone()
    record, findings, checked = load(), list[HealthFinding](), list[str]()
    pace, problem = scrub_pace.seen(host.pool, policy, record)
    for array in scrub_due.arrays(host.pool):
        last = record.of(array.uuid, array.array.name).last
        if last is not None:
            checked.append(last.ended)
            findings += _mismatch(host, array, record, last)
        findings += _late(host.pool, policy, array, last, now, pace.days or 0)
    if problem and scrub_due.arrays(host.pool):
        findings.append(_period(host.pool, problem, pace.todo))
    if record.filesystem is not None and record.filesystem.problem:
        findings.append(_filesystem(host.pool, record.filesystem))
    findings += _filesystem_late(host, host.pool, record.filesystem, now)
    if findings or not scrub_due.arrays(host.pool):
        return findings
    ended = moment(min(checked)) if checked else None
    since = f"The last check of all arrays ended {ended}." if ended else "No array has been checked yet."
    if ended and len(checked) < len(scrub_due.arrays(host.pool)):
        arrays = f"{len(checked)} of {len(scrub_due.arrays(host.pool))} arrays"
        since = f"The last check of {arrays} ended {ended}; the others have not been checked yet."
    return [HealthFinding(check=NAME, level=Level.OK, sentence=since)]


def _mismatch(host: Host, array: ArrayRecord, record: ScrubRecord, last: Scrubbed) -> list[HealthFinding]:
    """A repair by hand, of which md keeps no count, ends it until the next boot; the next check counts again."""
    device, kept = array_device(array.array.name), record.of(array.uuid, "")
    known = sysfs.text(block(device) / "md/last_sync_action") if device else None
    if not last.mismatches or (known == "repair" and kept.repair is None):
        return []
    # md(4): a mirror may differ where memory changed while it was written, which is not read back
    what = (
        "sectors in which the copies differ, which on a mirror may be harmless"
        if array.array.level == "raid1"
        else "sectors where data and parity do not match: a power cut or a drive that returns wrong data"
    )
    files = "" if array.array.role is Role.LOG else f"; {files_in_words(record, kept)}"
    # of other levels no drive can be named, which is no news at each check
    drives = "".join(f"; {each}" for each in located_in_words(last, host.bays)) if array.array.level == "raid6" else ""
    sentence = (
        f"{_title(array)}: the check that ended {moment(last.ended)} found {last.mismatches} {what}{drives}{files}."
    )
    repair = command(REPAIR, array.array.name)
    todo = f"Compare the files with a backup, then: {repair}"
    if restorable(last) == last.mismatches:
        todo = f"Restore the blocks from the other drives: {repair}"
    if array.array.role is Role.LOG:
        todo = repair
    if kept.repair is not None:
        sentence = f"{sentence[:-1]}; a repair is under way."
        todo = "See what stops it if it does not end: millrace pool scrub status"
    return [_finding(array, sentence, todo, "mismatch")]


def _period(pool: Pool, problem: str, todo: str | None) -> HealthFinding:
    """That checks take longer than their period is one finding that the policy can mend, and none of each array."""
    sentence, where = problem.removesuffix(f" {todo}."), pool.filesystem.mountpoint
    return HealthFinding(check=NAME, kind="period", subject=where, level=Level.WARN, sentence=sentence, todo=todo)


def _late(
    pool: Pool, policy: ScrubPolicy, record: ArrayRecord, last: Scrubbed | None, now: datetime, days: int
) -> list[HealthFinding]:
    """`days` is in how many days checks come round at the rate of now."""
    if policy.every == "never":
        return []
    at = last.ended if last else pool.created
    age = ages.age(at, now)
    if age is not None and age <= LATE * max(PERIODS[policy.every], timedelta(days=days)):
        return []
    when = _when(last is not None, at, age, now)
    sentence = f"{_title(record)} {when}; the policy wants it every {policy.every} ({policy.window})."
    if age is None:
        sentence = f"{_title(record)} {when}; the next check is due now ({policy.window})."
        return [_finding(record, sentence, f"{CLOCK}, or check it now: millrace pool scrub start", "late")]
    return [_finding(record, sentence, "See what stops it: millrace pool scrub status", "late")]


def _filesystem(pool: Pool, last: FilesystemScrub) -> HealthFinding:
    where = pool.filesystem.mountpoint
    sentence = f"The check of XFS on {where} that ended {moment(last.ended)} has a finding: {last.problem}."
    todo = f"xfs_scrub -v -n {where} shows all findings"
    return HealthFinding(check=NAME, kind="filesystem", subject=where, level=Level.WARN, sentence=sentence, todo=todo)


def _filesystem_late(host: Host, pool: Pool, last: FilesystemScrub | None, now: datetime) -> list[HealthFinding]:
    at = last.ended if last else pool.created
    age = ages.age(at, now)
    if age is not None and age <= XFS_LATE:
        return []
    where, kind = pool.filesystem.mountpoint, "filesystem-late"
    when = _when(last is not None, at, age, now)
    sentence = f"XFS on {where} {when}; it is checked every week, on Sunday or when the server is up again."
    todo = "Check it now: millrace pool scrub filesystem"
    if host.active_state(XFS_UNIT) in ("active", "activating"):
        sentence, todo = f"XFS on {where} {when}; a check is under way.", f"systemctl status {XFS_UNIT}"
    return [HealthFinding(check=NAME, kind=kind, subject=where, level=Level.WARN, sentence=sentence, todo=todo)]


def _when(checked: bool, at: str, age: timedelta | None, now: datetime) -> str:
    if age is not None:
        return f"was last checked {age.days} days ago" if checked else f"has not been checked in {age.days} days"
    why = ages.why_unknown(at, now)
    return f"was last checked {moment(at)}: {why}" if checked else f"was created {moment(at)}: {why}"


def _title(one: ArrayRecord) -> str:
    return f"Array {one.array.name} ({one.array.level.upper()})"


def _finding(one: ArrayRecord, sentence: str, todo: str, kind: str) -> HealthFinding:
    return HealthFinding(check=NAME, kind=kind, subject=one.array.name, level=Level.WARN, sentence=sentence, todo=todo)
