# SPDX-License-Identifier: Apache-2.0
"""Do the schedules of snapshots run, is there room for them, and are any snapshots to be removed?

Whether a share's snapshots are late or failed is seen by the check `protection`. Read from records: no check opens the
pool.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.protect.snapshot.snapshot_schedule import PERIODS, shortest
from millrace.protect.snapshot.snapshot_schedule_model import (
    COUNTS,
    NEWS,
    RECORD,
    ScheduleRecord,
    ScheduleTry,
    SnapshotCounts,
)
from millrace.serve.config import files, history, store
from millrace.serve.config.history import RecordedChange
from millrace.serve.config.model import Config
from millrace.serve.config.schedule import SnapshotSchedule
from millrace.system import ages
from millrace.system.command import command
from millrace.system.text import duration, moment, one_line

NAME = "snapshots"

UNIT = "millrace-cleanup@schedule.service"
SILENT = timedelta(hours=1)
"""The timer starts the unit every quarter of an hour; after a boot it may take so long, too."""
LOST = timedelta(days=7)
"""For so long after its last snapshot a schedule that no longer exists is reported."""
SWITCH = "previous_versions"
"""The words of a change of this switch have its name."""
SET = "snapshot schedule "
"""The words of a change that sets or ends a schedule begin so."""


def check(host: Host) -> list[HealthFinding]:
    """Return what is wrong with scheduled snapshots, else one finding; nothing where no share has a schedule."""
    if host.pool is None:
        return []
    config = store.read().config
    now, record, held = datetime.now(UTC), RECORD.get(), COUNTS.get()
    shares = [(share.name, share.snapshots) for share in config.shares if share.snapshots is not None]
    # snapshots of a schedule that ended are removed for free space, too
    findings = [*_ordered(held), *_tighter(held), *_lost(config, held, now), *_shown(config, now), *_floor(record, now)]
    if not shares:
        return findings
    if host.uptime > SILENT.total_seconds():
        findings += _silent(host, record, now)
    for share, schedule in shares:
        findings += _slow(share, schedule, record.last(share) if record is not None else None)
    if findings:
        return findings
    what = "1 share has" if len(shares) == 1 else f"{len(shares)} shares have"
    locked = sum(each.locked for each in held.shares) if held is not None else 0
    also = f" {locked} snapshot{'s are' if locked > 1 else ' is'} locked." if locked else ""
    sentence = f"{what} scheduled snapshots, and the schedules run.{also}"
    return [HealthFinding(check=NAME, level=Level.OK, sentence=sentence)]


def _ordered(held: SnapshotCounts | None) -> list[HealthFinding]:
    """Removals that wait: one finding for each, so that the second one is an alert, too."""
    if held is None:
        return []
    findings = []
    for removal in held.removals:
        place = f"{removal.share}@{removal.name}"
        who, at = one_line(removal.by), moment(removal.at)
        sentence = f"Snapshot {place} will be removed at {moment(removal.due)}: {who} ordered it at {at}."
        todo = f"To keep it: {command('millrace snapshot keep', place)}"
        findings.append(_warning("removal", place, sentence, todo))
    if held.problem is not None:
        sentence = "It is not known which snapshots are locked or to be removed, and none is removed."
        findings.append(_warning("record", "", sentence, "See why: millrace snapshot list"))
    return findings


def _tighter(held: SnapshotCounts | None) -> list[HealthFinding]:
    """Schedules and a floor of free space that are to remove what those before keep."""
    findings = []
    for each in held.tighter if held is not None else ():
        if (tighter := each.tighter) is None:
            continue
        what = "1 snapshot" if tighter.removed == 1 else f"up to {tighter.removed} snapshots"
        sentence = (
            f"The schedule of share {each.share} keeps {tighter.wanted.words} snapshots from {moment(tighter.due)}, "
            f"and removes {what} then: {one_line(tighter.by)} changed it at {moment(tighter.at)}."
        )
        todo = f"To keep them: {_schedule_again(each.share, each.kept)}"
        findings.append(_warning("tighter", each.share, sentence, todo))
    floor = held.floor if held is not None else None
    if floor is not None and floor.raised is not None:
        sentence = (
            f"The floor of free space rises from {floor.percent} % to {floor.raised.percent} % at "
            f"{moment(floor.raised.due)}; the oldest scheduled snapshots below it are removed then."
        )
        todo = f"To keep them: millrace policy set snapshots.free={floor.percent}"
        findings.append(_warning("higher-floor", "", sentence, todo))
    return findings


def _schedule_again(share: str, schedule: SnapshotSchedule) -> str:
    options = [f"--{kind} {number}" for kind, number in schedule.kept.items() if number]
    return command("millrace snapshot schedule", share, options=[*options, *["--large"] * schedule.large])


def _silent(host: Host, record: ScheduleRecord | None, now: datetime) -> list[HealthFinding]:
    age = ages.age(record.checked, now) if record is not None else None
    if (age is not None and age <= SILENT) or host.active_state(UNIT) in ("active", "activating"):
        return []
    since = f"since {moment(record.checked)}" if record is not None and age is not None else "since the boot"
    sentence = f"No snapshot was made by a schedule {since}: {UNIT} did not run."
    return [_warning("stopped", "", sentence, f"systemctl status millrace-upkeep@snapshot.timer {UNIT}")]


def _slow(share: str, schedule: SnapshotSchedule, last: ScheduleTry | None) -> list[HealthFinding]:
    kind = shortest(schedule)
    if last is None or last.seconds is None or last.seconds <= PERIODS[kind].total_seconds():
        return []
    took = duration(last.seconds)
    sentence = f"The last snapshot of share {share} took {took}, which is longer than the period of {kind} snapshots."
    less = command("millrace snapshot schedule", share, options=[f"--{kind} 0"])
    return [_warning("slow", share, sentence, f"Keep those of a longer period only: {less}")]


def _lost(config: Config, held: SnapshotCounts | None, now: datetime) -> list[HealthFinding]:
    """Schedules that ended otherwise than by --off: a version that does not know them drops them at its next change."""
    without = [share.name for share in config.shares if share.snapshots is None]
    recent = [share for share in without if held is not None and _had_schedule(held.of(share).newest, now)]
    changes = history.changes(config.serial) if recent else []
    return [finding for share in recent for finding in _dropped(share, changes)]


def _had_schedule(newest: Mapping[str, str], now: datetime) -> bool:
    return any(kind in PERIODS and ages.is_recent(at, LOST, now) for kind, at in newest.items())


def _dropped(share: str, changes: Sequence[RecordedChange]) -> list[HealthFinding]:
    for change, before in pairwise(changes):
        known = before.config.share(share)
        if known is None or known.snapshots is None:
            continue
        if change.what.startswith(SET):
            return []
        sentence = f"Share {share} lost its schedule of snapshots in a change of {moment(change.when)}."
        again = _schedule_again(share, known.snapshots)
        return [
            _warning("lost", share, sentence, f"Earlier versions of Millrace drop schedules; set it again: {again}")
        ]
    return []


def _shown(config: Config, now: datetime) -> list[HealthFinding]:
    """Previous versions that SMB clients see since a version that does not know their switch changed something."""
    try:
        changed = ages.when(files.config_file().stat().st_mtime)
    except OSError:
        return []
    # old changes are no news, and nearly no server hides previous versions: its history is not parsed at each check
    if not ages.is_recent(changed, LOST, now) or not any(map(_hides, files.history_numbers())):
        return []
    findings = []
    changes = history.changes(config.serial)
    for share in config.shares:
        change = None if _is_hidden(config, share.name) else _shown_by(share.name, changes)
        if change is not None and not change.what.startswith("config ") and SWITCH not in change.what:
            sentence = f"SMB clients see the snapshots of share {share.name} since a change of {moment(change.when)}."
            again = command("millrace share set", share.name, options=["--no-previous-versions"])
            todo = f"Earlier versions of Millrace drop --no-previous-versions; set it again: {again}"
            findings.append(_warning("shown", share.name, sentence, todo))
    return findings


def _shown_by(share: str, changes: Sequence[RecordedChange]) -> RecordedChange | None:
    """The last change that showed the previous versions of a share to SMB clients again."""
    shown = (
        change
        for change, before in pairwise(changes)
        if _is_hidden(before.config, share) and not _is_hidden(change.config, share)
    )
    return next(shown, None)


def _is_hidden(config: Config, share: str) -> bool:
    known = config.share(share)
    return known is not None and not known.smb.previous_versions


def _hides(change: int) -> bool:
    with suppress(OSError):
        return b'"previous_versions": false' in files.history_file(change).read_bytes()
    return False


def _floor(record: ScheduleRecord | None, now: datetime) -> list[HealthFinding]:
    removal = record.floor if record is not None else None
    if removal is None or not ages.is_recent(removal.at, NEWS, now):
        return []
    what = "1 scheduled snapshot was" if removal.removed == 1 else f"{removal.removed} scheduled snapshots were"
    first, last = moment(removal.since), moment(removal.at)
    time = last if first == last else f"from {first} to {last}"
    left = "" if removal.is_enough else " There is still less."
    if removal.is_vain:
        left = " There is still less: the removal freed next to nothing, so the other snapshots stay for now."
    sentence = f"{what} removed {time}, as less than {removal.floor} % of the pool or its inodes was free.{left}"
    todo = "Remove files, keep fewer snapshots (millrace snapshot schedule), or set snapshots.free of the policy"
    return [_warning("floor", "", sentence, todo)]


def _warning(kind: str, subject: str, sentence: str, todo: str) -> HealthFinding:
    return HealthFinding(check=NAME, kind=kind, subject=subject, level=Level.WARN, sentence=sentence, todo=todo)
