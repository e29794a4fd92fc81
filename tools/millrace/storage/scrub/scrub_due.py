# SPDX-License-Identifier: Apache-2.0
"""What may be checked now: the order of the arrays, the window of the policy, and what keeps a check from running."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from millrace.plan.policy.model import ScrubPolicy
from millrace.plan.policy.window import parse_window
from millrace.plan.scrub import DAYS, comparable, side_by_side
from millrace.storage.array import resync
from millrace.storage.array.devices import array_device, block
from millrace.storage.assemble import unclean
from millrace.storage.record.model import ArrayRecord, Pool
from millrace.storage.record.scrub_record import ArrayScrub, ScrubRecord, ScrubStop, StoppedBy, stamp
from millrace.system import ages, sysfs
from millrace.system.errors import BadInput, Failed
from millrace.system.jobs import pairs
from millrace.system.jobs.kinds import JobName
from millrace.system.jobs.pairs import JobObstacle
from millrace.system.run import Runner

# Summer time moves a window by an hour, and a round begins some minutes after it opens.
SLACK = timedelta(hours=12)


def arrays(pool: Pool) -> list[ArrayRecord]:
    """Return the arrays that a check can compare, the log first; a raid0 has nothing to compare."""
    by_name = {one.array.name: one for one in pool.arrays}
    return [by_name[one.name] for one in comparable([one.array for one in pool.arrays])]


def groups(pool: Pool) -> list[list[ArrayRecord]]:
    """Return these arrays in groups in their order; those of one group share no drive and are checked side by side."""
    by_name = {one.array.name: one for one in pool.arrays}
    return [[by_name[one.name] for one in group] for group in side_by_side([one.array for one in pool.arrays])]


def mended(record: ScrubRecord, now: datetime) -> ScrubRecord:
    """Return the record without times that are yet to come: what has begun began now, and nothing else is known.

    The last check of an array keeps its time, which health reports, until the next one has ended.
    """

    def of_array(one: ArrayScrub) -> ArrayScrub:
        begun = one.under_way
        if begun is not None and ages.is_ahead(begun.started, now):
            begun = begun.model_copy(update={"started": stamp(now)})
        clean = None if one.clean and ages.is_ahead(one.clean, now) else one.clean
        return one.model_copy(update={"under_way": begun, "clean": clean})

    round_, files = record.round, record.files
    if round_ is not None and ages.is_ahead(round_.started, now):
        round_ = round_.model_copy(update={"started": stamp(now)})
    if files is not None and ages.is_ahead(files.at, now):
        files = None
    return record.model_copy(update={"round": round_, "files": files, "arrays": list(map(of_array, record.arrays))})


def left(pool: Pool, record: ScrubRecord, now: datetime) -> list[ArrayRecord]:
    """Return the arrays that the round has still to check; all of them without a round."""
    begun = record.round.started if record.round else ""
    checked = {
        array.uuid
        for array in record.arrays
        if array.last and begun and array.last.started >= begun and not ages.is_ahead(array.last.started, now)
    }
    return [one for one in arrays(pool) if one.uuid not in checked or record.of(one.uuid, "").under_way]


def until(policy: ScrubPolicy, now: datetime) -> datetime | None:
    """Return when the window closes that is open now; None while none is."""
    found = parse_window(policy.window).open_at(now)
    return found[1] if found else None


def has_closed(policy: ScrubPolicy, closes: datetime | None, now: datetime) -> bool:
    """Whether the window has ended that closes then, also because the clock was put back; never without one."""
    return closes is not None and (now >= closes or until(policy, now) is None)


def is_due(policy: ScrubPolicy, pool: Pool, record: ScrubRecord, now: datetime) -> bool:
    """Whether the policy wants a check now: its window is open, and the last round began long enough ago.

    A round that was stopped goes on in the next window; one that an administrator stopped, not in the same.
    """
    window = parse_window(policy.window).open_at(now)
    if window is None or policy.every == "never":
        return False
    opened = window[0]
    if record.round is not None:
        held = record.stopped if record.stopped and record.stopped.by == "administrator" else None
        return held is None or is_before(held.at, opened, now)
    begun = [scrub.last.started for array in arrays(pool) if (scrub := record.of(array.uuid, "")).last]
    if len(begun) < len(arrays(pool)) or _started_unclean(pool, record, now):
        return True
    latest = opened - timedelta(days=DAYS[policy.every]) + SLACK
    return any(is_before(started, latest, now, exactly=True) for started in begun)


def is_before(stored: str, moment: datetime, now: datetime, exactly: bool = False) -> bool:
    """Whether something was before a moment, or `exactly` then; also where its time is not known."""
    age = ages.age(stored, now)
    return age is None or age > now - moment or (exactly and age == now - moment)


def _started_unclean(pool: Pool, record: ScrubRecord, now: datetime) -> bool:
    """Whether an array was started by force after its last check. No check is later than a start of a wrong clock."""
    try:
        started = unclean.latest()
    except BadInput:
        return False
    checked = {array.array.name: one.last for array in arrays(pool) if (one := record.of(array.uuid, "")).last}
    return any(ages.when(checked[one].started) < at <= now for one, at in started.items() if one in checked)


def next_window(policy: ScrubPolicy, pool: Pool, record: ScrubRecord, now: datetime) -> datetime | None:
    """Return when the policy begins or goes on with a check; None where it never does."""
    opening = now
    for _ in range(DAYS["quarter"] + 8 if policy.every != "never" else 0):
        if is_due(policy, pool, record, opening):
            return opening
        opening = parse_window(policy.window).next_opening(opening)
    return None


def is_by_hand(record: ScrubRecord) -> bool:
    """Whether a round of an administrator goes on, whatever the window is; a shutdown stops the service only."""
    waits = record.stopped is not None and record.stopped.by != "service"
    return record.round is not None and record.round.by == "administrator" and not waits


def never_goes_on(policy: ScrubPolicy, record: ScrubRecord) -> bool:
    """Whether a round has begun that neither an administrator nor the policy goes on with."""
    return record.round is not None and policy.every == "never" and not is_by_hand(record)


def is_wanted(policy: ScrubPolicy, pool: Pool, record: ScrubRecord, now: datetime) -> bool:
    """Whether there is anything to do: a repair that is confirmed, a round by hand, or one of the policy."""
    repairs = any(record.of(one.uuid, "").repair is not None for one in arrays(pool))
    return repairs or is_by_hand(record) or is_due(policy, pool, record, now)


def obstacle(
    pool: Pool, run: Runner, now: datetime, allowed: Sequence[str] = (resync.IDLE, resync.CHECK)
) -> ScrubStop | None:
    """Return what keeps any array from being checked now: a change of drives that is to begin or to go on, a benchmark,
    the tuner, or an array that is degraded or works. What md may do meanwhile is `allowed`.
    """
    if found := other_job("scrub", run):
        measures = found.kind.name in ("benchmark", "tuner")
        return _stopped("benchmark" if measures else "array", found.what, now)
    return busy_array(pool, now, allowed)


def other_job(job: JobName, run: Runner) -> JobObstacle | None:
    """Return the job that a check or a trim waits for.

    None also where systemd does not report its units: no check ends because systemd was slow.
    """
    with suppress(Failed):
        return pairs.obstacle(job, run)
    return None


def busy_array(pool: Pool, now: datetime, allowed: Sequence[str] = (resync.IDLE, resync.CHECK)) -> ScrubStop | None:
    """Return which array is degraded or works. What md may do meanwhile is `allowed`."""
    sentences = (_busy(one, allowed) for one in pool.arrays)
    return next((_stopped("array", sentence, now) for sentence in sentences if sentence), None)


def _busy(one: ArrayRecord, allowed: Sequence[str]) -> str | None:
    title, device = f"array {one.array.name}", array_device(one.array.name)
    if device is None or not (block(device) / "md").is_dir():
        return f"{title} is not running"
    if one.array.level == "raid0":
        return None
    if sysfs.number(block(device) / "md/degraded"):
        return f"{title} is degraded"
    doing = resync.action(device)
    return None if doing in allowed else f"{title} is busy: md reports {doing}"


def _stopped(by: StoppedBy, sentence: str, now: datetime) -> ScrubStop:
    return ScrubStop(at=stamp(now), by=by, reason=sentence)
