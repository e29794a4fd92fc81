# SPDX-License-Identifier: Apache-2.0
"""What is kept of the last job of each kind (`/var/lib/millrace/jobs/KIND.json`)."""

import uuid
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from millrace.system import paths
from millrace.system.boot import boot_id
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import BadInput
from millrace.system.jobs.kinds import JobName

JobState = Literal["running", "waiting", "done", "failed", "cancelled", "interrupted"]


class JobRecord(Contract):
    """A job as it began and ended. `what` is its object, `by` who ordered it, `boot` the boot in which it began.

    `began` and `ended` are ISO 8601 in UTC; `ended` and `reason` are null while it runs. A process that was killed
    leaves "running" behind: see `Job.last`.
    """

    schema_version: Literal[1] = 1
    name: JobName
    id: str
    what: str
    by: str
    boot: str
    state: JobState
    began: str
    ended: str | None = None
    reason: str | None = None


def file(name: JobName) -> Path:
    """The record of a kind."""
    return paths.state_dir() / "jobs" / f"{name}.json"


def load(name: JobName) -> JobRecord | None:
    """Return the last job of a kind; None where there is none, or none that can be read: it is history."""
    with suppress(BadInput, OSError):
        if file(name).exists():
            return read_model(file(name), JobRecord)
    return None


def begin(name: JobName, what: str, by: str) -> JobRecord:
    """Record that a job begins."""
    found = JobRecord(name=name, id=uuid.uuid4().hex, what=what, by=by, boot=boot_id(), state="running", began=_now())
    _save(found)
    return found


def end(found: JobRecord, state: JobState, reason: str | None = None) -> JobRecord:
    """Record how a job ended."""
    ended = found.model_copy(update={"state": state, "reason": reason, "ended": _now()})
    if not _save(ended):
        # one that says "running" for ever is worse than none
        with suppress(OSError):
            file(found.name).unlink(missing_ok=True)
    return ended


def cancel_open(name: JobName, reason: str) -> None:
    """Record the last job of a kind as cancelled for this reason; nothing changes where it has ended."""
    job_record = load(name)
    if job_record is not None and job_record.state == "running":
        end(job_record, "cancelled", reason)


def _save(record: JobRecord) -> bool:
    # No job is refused, and none fails, because its record has no room on the boot drive.
    with suppress(OSError):
        directory = file(record.name).parent
        if not directory.exists():
            directory.mkdir(parents=True)
            # the umask of some units lets root alone read it
            directory.chmod(0o755)
        write_model(file(record.name), record)
        return True
    return False


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
