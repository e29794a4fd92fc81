# SPDX-License-Identifier: Apache-2.0
"""From the verbs, and from a timer that mostly finds nothing to do, to millrace-scrub.service."""

from collections.abc import Sequence

from millrace.plan.policy.model import ScrubPolicy
from millrace.storage.record.model import ArrayRecord, Pool
from millrace.storage.record.pool_file import load_pool
from millrace.storage.record.scrub_record import ScrubRecord, ScrubStop, change, load, stamp
from millrace.storage.scrub import scrub, scrub_repair
from millrace.storage.scrub import scrub_due as due
from millrace.storage.scrub.scrub_status import running
from millrace.storage.scrub.scrub_watch import CheckContext
from millrace.system.errors import MillraceError
from millrace.system.jobs import kinds
from millrace.system.jobs import record as job_record
from millrace.system.jobs.job import Glance, Job, stop_unit
from millrace.system.run import Runner

ROUND = "all arrays"
NEVER = 'the policy has every = "never" in [scrub]; to go on: millrace pool scrub start'
"""Why a round ends before its end."""


def stop(run: Runner) -> None:
    """Stop the check and record that an administrator did; the window after this one, or `start`, goes on with it.

    Failed: the unit does not end.
    """
    stop_unit(kinds.SCRUB, run)
    scrub.stop(load_pool())


def _glance() -> Glance | None:
    try:
        pool, record = load_pool(), load()
    except MillraceError:
        return None
    read = [
        (record.of(array.uuid, array.array.name), now)
        for array in due.arrays(pool)
        if (now := running(array.array.name))
    ]
    if not read:
        return Glance(f"{ROUND}, stopped: {record.stopped.reason}") if record.round and record.stopped else None
    names, action = ", ".join(kept.array for kept, _ in read), read[0][1].action
    progress = [
        kept.under_way.sector / max(kept.under_way.sectors, 1) if kept.under_way else now.progress for kept, now in read
    ]
    known = [fraction for fraction in progress if fraction is not None]
    left = [now.seconds_left for _, now in read if now.seconds_left is not None]
    rates = [now.bytes_per_second for _, now in read if now.bytes_per_second is not None]
    return Glance(
        f"array{'s' * (len(read) > 1)} {names}: {action}",
        min(known, default=None),
        max(left, default=None),
        min(rates, default=None),
    )


JOB = Job(
    kind=kinds.SCRUB,
    busy="arrays are being checked; wait for the end, or stop it: millrace pool scrub stop",
    stop=stop,
    glance=_glance,
)


def start(pool: Pool, run: Runner) -> None:
    """Start a round now, or go on with one that was stopped.

    Refused: an array is degraded or busy, or another job runs. Failed: the unit does not start.
    """
    # one that runs in its window goes on without it
    stop_unit(kinds.SCRUB, run)
    _forget_other_pool(pool)
    with JOB.starting(run, ROUND):
        scrub.begin(pool, run)


def repair(pool: Pool, arrays: Sequence[ArrayRecord], run: Runner, keep_data: bool) -> None:
    """Start the confirmed repair of these arrays; `keep_data` writes no data back. Refused, Failed: as `start`."""
    stop_unit(kinds.SCRUB, run)
    with JOB.starting(run, f"repair of {', '.join(one.array.name for one in arrays)}"):
        scrub_repair.ask(pool, arrays, run, keep_data)


def execute(pool: Pool, policy: ScrubPolicy, context: CheckContext) -> ScrubRecord:
    """Carry out what is due, and return what is kept afterwards; a look that finds nothing is no job.

    Refused: another process checks. Failed: md refuses a check or a repair.
    """
    _forget_other_pool(pool)
    record = scrub.settle(pool)
    if due.never_goes_on(policy, record):
        record = _end_round(policy, record, stamp(context.now()))
    if not due.is_wanted(policy, pool, record, context.now()):
        return record
    with JOB.execution(ROUND):
        return scrub.carry_on(pool, policy, context)


def _end_round(policy: ScrubPolicy, record: ScrubRecord, at: str) -> ScrubRecord:
    """End a round that nothing goes on with, and record why; each array keeps how far its check came."""
    stopped = record.stopped
    known = f"{stopped.reason}, and " if stopped and stopped.by not in ("window", "service") else ""
    stop = ScrubStop(at=at, by="administrator", reason=f"{known}{NEVER}")

    def ended(old: ScrubRecord) -> ScrubRecord:
        # an administrator may have started one just now
        return old.model_copy(update={"round": None, "stopped": stop}) if due.never_goes_on(policy, old) else old

    record = change(ended)
    if record.round is None and all(array.repair is None for array in record.arrays):
        job_record.cancel_open(kinds.SCRUB.name, stop.reason)
    return record


def _forget_other_pool(pool: Pool) -> None:
    """Remove what is kept of a pool that this server had before; a new pool has other arrays."""
    here = {array.uuid for array in pool.arrays}

    def is_of_another(record: ScrubRecord) -> bool:
        return bool(record.arrays) and not any(array.uuid in here for array in record.arrays)

    if is_of_another(load()):
        job_record.cancel_open(kinds.SCRUB.name, "the server has another pool now")
        # another process may have begun a round of this pool meanwhile
        change(lambda record: ScrubRecord() if is_of_another(record) else record)
