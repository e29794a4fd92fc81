# SPDX-License-Identifier: Apache-2.0
"""When what is done by itself was done last: checks, the kept state, the certificate, updates; from their records."""

from typing import get_args

from millrace.lifecycle.keep import keeping
from millrace.lifecycle.update import records
from millrace.lifecycle.update.model import Outcome
from millrace.observe.metrics.family import Family, gauge, stateset
from millrace.serve.certificate import files
from millrace.storage.record import scrub_record
from millrace.storage.record.pool_file import known_pool
from millrace.system import ages


def families() -> list[Family]:
    """Return the times of a server; those of a pool only with one. BadInput: a record cannot be read."""
    return [*(_pool() if known_pool() else []), *_certificate(), *_update()]


def _pool() -> list[Family]:
    scrubs = scrub_record.load()
    kept = keeping.status()
    checked = [(scrub.last, {"array": scrub.array}) for scrub in scrubs.arrays]
    metadata = scrubs.filesystem
    # before the first attempt nothing is known
    complete = not (kept.problem or kept.unread) if kept.verified or kept.problem else None
    return [
        gauge(
            "array_scrub_timestamp_seconds",
            "Time at which the last check of an array ended.",
            *((_seconds(last.ended) if last else None, array) for last, array in checked),
        ),
        gauge(
            "array_scrub_bad_areas",
            "Areas in md's lists of bad blocks at the last check of an array.",
            *((last.bad_areas if last else None, array) for last, array in checked),
        ),
        gauge(
            "pool_scrub_timestamp_seconds",
            "Time at which the last check of the metadata of XFS ended.",
            (_seconds(metadata.ended) if metadata else None, {}),
        ),
        gauge(
            "pool_scrub_sound",
            "Whether the last check of the metadata of XFS found nothing.",
            (not metadata.problem if metadata else None, {}),
        ),
        gauge(
            "keep_verified_timestamp_seconds",
            "Time at which the state that is kept on the pool was last read back.",
            (_seconds(kept.verified), {}),
        ),
        gauge("keep_complete", "Whether the last attempt kept everything.", (complete, {})),
    ]


def _certificate() -> list[Family]:
    used = files.find_current()
    end = _seconds(used.certificate.not_after) if used else None
    return [gauge("certificate_end_timestamp_seconds", "Time at which the certificate ends.", (end, {}))]


def _update() -> list[Family]:
    last = records.last()
    outcomes = [(last.state, {"version": last.version})] if last else []
    return [
        stateset("update_outcome", "How the last update ended.", get_args(Outcome), *outcomes),
        gauge(
            "update_timestamp_seconds",
            "Time at which the last update ended.",
            (_seconds(last.at) if last else None, {}),
        ),
        gauge("update_on_trial", "Whether a version is installed and not accepted yet.", (bool(records.trial()), {})),
    ]


def _seconds(at: str | None) -> float | None:
    return None if at is None else ages.when(at).timestamp()
