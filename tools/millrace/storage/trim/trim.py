# SPDX-License-Identifier: Apache-2.0
"""Trim the file system slice by slice, with a pause after each, until its end or until something is more important.

md passes a discard on through its stripe cache, 4 KiB of each member at a time (kernel 7.2: drivers/md/raid5.c
make_discard_request), so that one FITRIM over a large pool keeps all arrays busy for hours. XFS takes a range in bytes
of the data device; it searches an allocation group by block number where the range is a part of it, and may trim all of
the last group of a range over several (fs/xfs/xfs_discard.c xfs_trim_datadev_extents): no slice leaves its group.
FITRIM returns when md has taken the last discard, as much as its stripe cache holds before the drives have it: that is
waited for, and counts as the time of the slice.
"""

import re
from dataclasses import dataclass
from datetime import datetime

from millrace.plan.discard import SLICE_SECONDS, TRIM_SHARE
from millrace.plan.model import Role
from millrace.plan.policy.model import Policy
from millrace.storage.array.devices import array_device, backend_drives, block
from millrace.storage.record.model import Pool
from millrace.storage.record.pool_file import load_pool
from millrace.storage.record.scrub_record import By, stamp
from millrace.storage.scrub import scrub_due
from millrace.storage.scrub.scrub_watch import CheckContext, now_here
from millrace.storage.trim import trim_due as due
from millrace.storage.trim.trim_record import Trimmed, TrimRecord, TrimRound, TrimStop, change, load
from millrace.system import ages, sysfs
from millrace.system.errors import Failed, MillraceError, Refused
from millrace.system.jobs import kinds
from millrace.system.jobs import record as job_record
from millrace.system.jobs.job import Glance, Job, stop_unit
from millrace.system.run import Runner, last_words, must
from millrace.system.text import GIB, MIB

FIRST, LEAST = GIB, 64 * MIB
# A border may cut a free stripe in two, and neither part is trimmed: one in 64 at most.
LEAST_STRIPES = 64
KEEP_SECONDS = 30.0
"""How often the position is written: what a power cut loses of it."""
POLL_SECONDS, MOST_POLLS = 0.05, 200
DISCARDS = 11
"""The field of /sys/class/block/*/stat that counts completed discards (Documentation/block/stat)."""
ASK_SECONDS = 1.0
"""How often a trim verifies that nothing is more important: each time a tool starts."""
WHAT = "free space of the pool"


@dataclass(frozen=True)
class FilesystemGeometry:
    """Bytes of the file system, of an allocation group and of a full stripe, 0 without stripes."""

    size: int
    group: int
    stripe: int


def carry_on(pool: Pool, policy: Policy, context: CheckContext) -> TrimRecord:
    """Trim what is due, and return what is kept afterwards. Failed: xfs_spaceman does not report the geometry."""
    uuid = pool.filesystem_uuid
    record = load(uuid)
    # a shutdown stops the service only
    waits = record.stopped is not None and record.stopped.by != "service"
    by_hand = record.round is not None and record.round.by == "administrator" and not waits
    now = context.now()
    if why := due.hindrance(pool, policy):
        return _end_round(uuid, why, now) if record.round is not None else record
    if not by_hand and not due.is_due(policy, record, now):
        return record
    closes = None if by_hand else scrub_due.until(policy.scrub, now)
    if obstacle := due.obstacle(pool, policy, context.run, now):
        return _stop(uuid, record.round, obstacle)
    shape = geometry(pool, context.run)
    by: By = "administrator" if by_hand else "policy"
    if record.round is not None and record.round.size == shape.size:
        # one that began in a year to come would be due again at its end
        started = stamp(now) if ages.is_ahead(record.round.started, now) else record.round.started
        begun = record.round.model_copy(update={"by": by, "started": started})
    else:
        begun = _new(shape, now, by)
    change(uuid, lambda old: old.model_copy(update={"round": begun, "stopped": None}))
    with JOB.execution(WHAT):
        return _Trim(pool, policy, shape, closes, context).run(begun)


def start(pool: Pool, policy: Policy, run: Runner) -> None:
    """Start a trim now, or go on with one that was stopped. Refused: as `begin`, or another job runs.

    Failed: as `begin`, or the unit does not start.
    """
    # one that runs in its window goes on without it
    stop_unit(kinds.TRIM, run)
    with JOB.starting(run, WHAT):
        begin(pool, policy, run)


def end(run: Runner) -> None:
    """Stop the trim and record that an administrator did; the window after this one, or `start`, goes on with it.

    Failed: the unit does not end.
    """
    stop_unit(kinds.TRIM, run)
    stop(load_pool())


def begin(pool: Pool, policy: Policy, run: Runner) -> TrimRecord:
    """Ask for a trim outside of the window, or for the rest of one that was stopped.

    Refused: the pool is not trimmed, an array is degraded or busy, or a benchmark runs. Failed: xfs_spaceman does not
    report the geometry.
    """
    now = now_here()
    if why := due.hindrance(pool, policy):
        raise Refused(f"free space is not trimmed: {why}")
    if obstacle := due.obstacle(pool, policy, run, now):
        raise Refused(f"nothing is trimmed now: {obstacle.reason}; see `millrace pool show`")
    new = _new(geometry(pool, run), now, "administrator")

    def by_hand(old: TrimRecord) -> TrimRecord:
        begun = old.round.model_copy(update={"by": "administrator"}) if old.round else new
        return old.model_copy(update={"round": begun, "stopped": None})

    return change(pool.filesystem_uuid, by_hand)


def stop(pool: Pool) -> TrimRecord:
    """Record that an administrator has stopped the trim; the window after this one goes on with it."""
    record = load(pool.filesystem_uuid)
    if record.round is None:
        return record
    why = due.stopped("administrator", "an administrator stopped it", now_here())
    return _stop(pool.filesystem_uuid, record.round, why)


def geometry(pool: Pool, run: Runner) -> FilesystemGeometry:
    """Return the geometry of the mounted file system. Failed: xfs_spaceman does not report it."""
    out = must(run, ["xfs_spaceman", "-c", "info", pool.filesystem.mountpoint])
    group = re.search(r"agsize=(\d+) blks", out)
    data = re.search(r"^data +=.*\bbsize=(\d+) +blocks=(\d+),", out, re.MULTILINE)
    if group is None or data is None:
        raise Failed(f"xfs_spaceman did not report the geometry of {pool.filesystem.mountpoint}; nothing was trimmed")
    block, stripe = int(data[1]), pool.filesystem.stripe_unit * pool.filesystem.stripe_width
    return FilesystemGeometry(int(data[2]) * block, int(group[1]) * block, stripe)


def slice_at(offset: int, wanted: int, shape: FilesystemGeometry) -> int:
    """Return the bytes of the slice at `offset`: about as many as wanted, to a border of a stripe or of the group."""
    group_end = min((offset // shape.group + 1) * shape.group, shape.size)
    end = offset + wanted
    if shape.stripe:
        end = max(end // shape.stripe, offset // shape.stripe + 1) * shape.stripe
    # no rest that is smaller than what can be trimmed
    return (end if end + max(shape.stripe, LEAST) <= group_end else group_end) - offset


def next_length(length: int, trimmed: int, seconds: float, shape: FilesystemGeometry) -> int:
    """Return how long the next slice is to be.

    It grows as far as a slice without any file would still take `SLICE_SECONDS`: the next one may have none.
    """
    if seconds > SLICE_SECONDS:
        shorter = int(length * SLICE_SECONDS / seconds)
        return max(shorter, LEAST, LEAST_STRIPES * shape.stripe)
    fits = int(trimmed / max(seconds, 0.001) * SLICE_SECONDS)
    return max(length, min(2 * length, fits))


def discards(pool: Pool) -> int:
    """Return how many discards the members, or the external device, have completed; clients cause none."""
    devices = [array_device(one.array.name) for one in pool.arrays]
    members = [block(one) / "slaves" / name for one in devices if one for name in sysfs.names(block(one) / "slaves")]
    members += [block(one) for one in backend_drives(pool, Role.DATA)]
    counters = [(sysfs.text(one / "stat") or "").split() for one in members]
    return sum(int(one[DISCARDS]) for one in counters if len(one) > DISCARDS)


def _new(shape: FilesystemGeometry, now: datetime, by: By) -> TrimRound:
    started = stamp(now)
    return TrimRound(started=started, by=by, size=shape.size, offset=0, slice=FIRST, bytes=0, seconds=0, longest=0)


def _stop(uuid: str, at: TrimRound | None, why: TrimStop) -> TrimRecord:
    """A trim that went on outside of the window goes on in one."""
    return change(uuid, lambda old: old.model_copy(update={"round": at, "stopped": why}))


def _end_round(uuid: str, why: str, now: datetime) -> TrimRecord:
    """End a trim that nothing goes on with, and record why."""
    job_record.cancel_open(kinds.TRIM.name, why)
    return _stop(uuid, None, due.stopped("plan", why, now))


def _glance() -> Glance | None:
    try:
        record = load(load_pool().filesystem_uuid)
    except MillraceError:
        return None
    if record.round is None:
        return None
    what = f"{WHAT}, stopped: {record.stopped.reason}" if record.stopped else WHAT
    return Glance(what, record.round.offset / max(record.round.size, 1))


JOB = Job(
    kind=kinds.TRIM,
    busy="the pool is being trimmed; wait for the end, or stop it: millrace pool trim stop",
    stop=end,
    glance=_glance,
)


class _Trim:
    """A trim from where it was until its end or until something stops it."""

    def __init__(
        self, pool: Pool, policy: Policy, shape: FilesystemGeometry, closes: datetime | None, context: CheckContext
    ) -> None:
        self._pool, self._policy, self._shape, self._closes, self._context = pool, policy, shape, closes, context
        self._ended = False
        self._uuid = pool.filesystem_uuid
        self._kept = self._asked = context.clock()

    def run(self, at: TrimRound) -> TrimRecord:
        """Return what is kept when it ends."""
        while at.offset < at.size:
            before = self._context.clock()
            length = slice_at(at.offset, at.slice, self._shape)
            trimmed, problem = self._trim(at.offset, length)
            if trimmed:
                self._settle()
            seconds = self._context.clock() - before
            if problem is not None:
                return self._stopped(at, due.stopped("refused", problem, self._context.now()))
            at = at.model_copy(
                update={
                    "offset": at.offset + length,
                    "slice": next_length(length, trimmed, seconds, self._shape),
                    "bytes": at.bytes + trimmed,
                    "seconds": at.seconds + seconds,
                    "longest": max(at.longest, seconds),
                }
            )
            self._keep(at)
            if at.offset < at.size and (why := self._reason(seconds)) is not None:
                return self._stopped(at, why)
        return self._finish(at)

    def _trim(self, offset: int, length: int) -> tuple[int, str | None]:
        """Return the bytes that were trimmed, and why none could be."""
        where = self._pool.filesystem.mountpoint
        least = [f"--minimum={self._shape.stripe}"] if self._shape.stripe else []
        result = self._context.run(["fstrim", "--verbose", f"--offset={offset}", f"--length={length}", *least, where])
        found = re.search(r"\((\d+) bytes\) trimmed", result.out)
        if result.status != 0 or found is None:
            return 0, f"fstrim fails: {last_words(result)}"
        return int(found[1]), None

    def _settle(self) -> None:
        """Wait until the drives have the discards that md took."""
        before = -1
        for _ in range(MOST_POLLS):
            now = discards(self._pool)
            if now == before or self._ended:
                return
            before, self._ended = now, self._context.wait(POLL_SECONDS)

    def _reason(self, seconds: float) -> TrimStop | None:
        """Pause after a slice of so many seconds; return what stops the trim then."""
        asked = self._ended or self._context.wait(seconds * (1 / TRIM_SHARE - 1))
        now = self._context.now()
        if asked:
            return due.stopped("service", "the service was stopped", now)
        if scrub_due.has_closed(self._policy.scrub, self._closes, now):
            return due.stopped("window", "its window has ended", now)
        if self._context.clock() - self._asked < ASK_SECONDS:
            return None
        self._asked = self._context.clock()
        return due.obstacle(self._pool, self._policy, self._context.run, now)

    def _keep(self, at: TrimRound) -> None:
        if self._context.clock() - self._kept >= KEEP_SECONDS:
            self._kept = self._context.clock()
            change(self._uuid, lambda old: old.model_copy(update={"round": at}))

    def _stopped(self, at: TrimRound, why: TrimStop) -> TrimRecord:
        return _stop(self._uuid, at, why)

    def _finish(self, at: TrimRound) -> TrimRecord:
        last = Trimmed(
            started=at.started,
            ended=stamp(self._context.now()),
            bytes=at.bytes,
            seconds=at.seconds,
            longest=at.longest,
        )
        return change(self._uuid, lambda _: TrimRecord(uuid=self._uuid, last=last))
