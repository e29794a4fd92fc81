# SPDX-License-Identifier: Apache-2.0
"""The jobs that run or wait: those of the engine of long work, and the synchronisations of md."""

from collections.abc import Iterator

from millrace.observe.jobs.job_list import CurrentJob, current
from millrace.storage.array import live_arrays
from millrace.storage.array.devices import array_device, block
from millrace.storage.record.model import Pool
from millrace.system.run import Runner, quickly


def jobs(pool: Pool | None, run: Runner = quickly) -> list[CurrentJob]:
    """Return the jobs that run or wait; needs no privileges."""
    # without what `job list` has besides: all entries of a status have the same keys
    found = [CurrentJob.model_validate(one.model_dump(include=set(CurrentJob.model_fields))) for one in current(run)]
    return [*_synchronising(pool), *found] if pool is not None else found


def _synchronising(pool: Pool) -> Iterator[CurrentJob]:
    for record in pool.arrays:
        device = array_device(record.array.name)
        sync = live_arrays.sync(device) if device and (block(device) / "md").is_dir() else None
        if sync:
            yield CurrentJob(
                name=sync.action,
                title=sync.action,
                what=f"array {record.array.name}",
                # md begins with one array when it has finished another on the same drives
                state="running" if sync.progress is not None else "waiting",
                progress=sync.progress,
                seconds_left=sync.seconds_left,
                bytes_per_second=sync.bytes_per_second,
                by=None,
                # md begins a check again from its start; a round of checks goes on where it was
                after_boot="continues in its window" if sync.action in ("check", "repair") else "continues",
                cancellable=False,
                why=None,
            )
