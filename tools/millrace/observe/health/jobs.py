# SPDX-License-Identifier: Apache-2.0
"""Jobs that run by themselves: building the pool, rebuilds, changes and tests of drives, rescue, benchmarks, tuner."""

import time
from typing import Literal

from millrace.storage.array import live_arrays
from millrace.storage.array.devices import array_device, block
from millrace.storage.record.model import Pool, Transaction
from millrace.system import paths
from millrace.system.documents import Contract, read_model
from millrace.system.errors import MillraceError
from millrace.system.run import quickly
from millrace.system.text import moment

JobName = Literal[
    "provision",
    "first synchronisation",
    "rebuild",
    "check",
    "repair",
    "reshape",
    "drive change",
    "drive test",
    "rescue",
    "benchmark",
    "tuner",
]

SILENT_SECONDS = 60
"""A run says something every second; under emulation it may be late."""


class Job(Contract):
    """One job: what it is about, how far it is from 0 to 1, and the seconds that it still takes; null is not known.

    `bytes_per_second` is the rate of a rebuild or check on each drive.
    """

    name: JobName
    what: str
    progress: float | None
    seconds_left: float | None
    bytes_per_second: int | None = None


def jobs(pool: Pool | None) -> list[Job]:
    """Return the running jobs; needs no privileges."""
    if pool is None:
        return [*_provisioning(), *_testing()]
    return [*_synchronising(pool), *_changing(), *_testing(), *_rescuing(), *_benchmark(), *_tuner()]


def _provisioning() -> list[Job]:
    if not paths.transaction_file().exists():
        return []
    try:
        steps = read_model(paths.transaction_file(), Transaction).steps
    except MillraceError:
        # The check of the pool says what is wrong with it.
        return []
    done = sum(step.state == "done" for step in steps)
    current = next((step.name for step in steps if step.state != "done"), "finishing")
    progress = done / len(steps) if steps else None
    return [Job(name="provision", what=current, progress=progress, seconds_left=None)]


def _changing() -> list[Job]:
    if not paths.drive_change_file().exists():
        return []
    # like a benchmark: there is hardly ever one
    from millrace.storage.record import change_journal

    try:
        change = change_journal.running()
    except MillraceError:
        return []
    if change is None:
        return []
    done = sum(step.state == "done" for step in change.steps)
    what = change_journal.in_words(change.plan)
    return [Job(name="drive change", what=what, progress=done / len(change.steps), seconds_left=None)]


def _testing() -> list[Job]:
    """The tests of drives, which one order began: one job, as long as the longest of them."""
    if not paths.drive_test_progress_file().exists():
        return []
    # like a benchmark: there is hardly ever one
    from millrace.storage.record.test_order import under_way

    found = under_way()
    if not found:
        return []
    total = sum(one.total for one in found.values())
    progress = sum(one.done for one in found.values()) / total if total else None
    left = [one.seconds_left for one in found.values() if one.seconds_left is not None]
    return [
        Job(name="drive test", what=", ".join(sorted(found)), progress=progress, seconds_left=max(left, default=None))
    ]


def _rescuing() -> list[Job]:
    if not paths.rescue_step_file().exists():
        return []
    # like a benchmark: there is hardly ever one
    from millrace.storage.rescue import rescue_job
    from millrace.storage.rescue.rescue_text import TITLES

    work = rescue_job.running(quickly)
    return [Job(name="rescue", what=TITLES[work.step], progress=work.progress, seconds_left=None)] if work else []


def _benchmark() -> list[Job]:
    if not paths.progress_file().exists():
        return []
    # A tenth of what a status costs, for a run that there is hardly ever.
    from millrace.measure.bench.result import live
    from millrace.measure.bench.result.model import State

    try:
        last = live.latest()
    except ValueError:
        # It is being written this moment.
        return []
    # A run that died has said nothing since, and nothing of its end.
    if last is None or last.state is not State.RUNNING or time.time() - last.time > SILENT_SECONDS:
        return []
    return [Job(name="benchmark", what=last.what, progress=last.progress, seconds_left=last.seconds_left)]


def _tuner() -> list[Job]:
    if not paths.tuner_progress_file().exists():
        return []
    # like a benchmark: there is hardly ever one
    from millrace.measure.tuner.model import State
    from millrace.measure.tuner.run import live, order

    last = live.latest()
    # a test may take minutes, in which nothing is reported: the unit is asked
    if last is None or last.state is not State.RUNNING or not order.active(quickly):
        return []
    since = f", since {moment(last.started)}" if last.started else ""
    return [Job(name="tuner", what=f"{last.doing}{since}", progress=last.progress, seconds_left=last.seconds_left)]


def _synchronising(pool: Pool) -> list[Job]:
    found = []
    for record in pool.arrays:
        device = array_device(record.array.name)
        sync = live_arrays.sync(device) if device and (block(device) / "md").is_dir() else None
        if sync:
            what = f"array {record.array.name}"
            rate, left = sync.bytes_per_second, sync.seconds_left
            job = Job(name=sync.action, what=what, progress=sync.progress, seconds_left=left, bytes_per_second=rate)
            found.append(job)
    return found
