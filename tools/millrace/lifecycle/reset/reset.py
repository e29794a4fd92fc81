# SPDX-License-Identifier: Apache-2.0
"""Reset this server: the state is kept or its people are forgotten, then the next boot makes a new root file system."""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from itertools import repeat

from millrace.lifecycle.keep import forget, keeping
from millrace.lifecycle.keep.model import Forgotten
from millrace.lifecycle.reset import kept_state, obstacles, reset_request
from millrace.lifecycle.reset.model import ResetFailed
from millrace.lifecycle.reset.reset_job import JOB
from millrace.lifecycle.update import update_job
from millrace.serve.config import audit_log, reset_journal
from millrace.serve.config.reset_journal import Reset, What
from millrace.storage.record.model import Pool
from millrace.storage.record.pool_file import known_pool
from millrace.system import locks, paths, sysfs
from millrace.system.documents import read_model, write_model
from millrace.system.errors import BadInput, Failed, MillraceError, Refused
from millrace.system.files import describe, write_text
from millrace.system.run import Runner, must
from millrace.system.text import shown
from millrace.system.wait import wait_until

BUSY = "a pool or its drives are being worked on; `millrace status` shows it; wait until that is done"
REQUESTS = 3
"""Boots that are asked: one may start from another medium, which takes the request and does nothing."""
WORD = "FORGET"
"""What is typed beside the host name where people are forgotten, too."""


def host_name() -> str:
    """Return the host name of this server as the kernel has it."""
    return sysfs.text(paths.ROOT / "proc/sys/kernel/hostname") or ""


def confirm(host: str, word: str | None) -> None:
    """Verify what was typed; `word` is None where people are not forgotten. BadInput: it is something else."""
    if host.strip() != host_name():
        raise BadInput(f"the host name was typed as {shown(host)}, not {shown(host_name())}: nothing was reset")
    if word is not None and word.strip() != WORD:
        raise BadInput(f"the word was typed as {shown(word)}, not {WORD}: nothing was reset")


def start(what: What, by: str, run: Runner, pause: Callable[[float], None] | None = None) -> Reset:
    """Reset this server; returns when it is about to restart.

    Refused: something is under way, or the state cannot be kept; nothing was changed. Failed: it did not begin, and the
    server is as it was.
    """
    with locks.held(paths.provision_lock_file(), BUSY), update_job.JOB.alone():
        reset_journal.refuse_if_reset()
        problem = obstacles.of_server(run)
        if problem:
            raise Refused(f"{problem}; nothing was reset")
        pool = known_pool()
        paths.reset_failed_file().unlink(missing_ok=True)
        reset = Reset(what=what, by=by, at=_now(), pool=pool.filesystem_uuid if pool else None)
        _record(reset, pool, run, pause)
        try:
            with JOB.starting(run, host_name(), by):
                reset_journal.begin(reset)
                write_text(paths.reset_begun_file(), "")
        except (MillraceError, OSError):
            _abandon()
            raise
    # the restart ends this process, too, which says before that the reset has begun
    wait_until(lambda: reset_request.is_requested() or JOB.has_ended(run), bool, repeat(0.1), pause or time.sleep)
    failed = last_failure()
    if failed is not None:
        raise Failed(failed.problem)
    if not reset_request.is_requested():
        _abandon()
        raise Failed(f"the reset did not begin; journalctl -u {JOB.unit} shows the reason")
    return reset


def carry_out(run: Runner) -> Reset | None:
    """Go on with the reset in the journal, up to the restart; None without one. Repeated after a power cut.

    Refused, Failed, BadInput: it cannot be carried out; the journal is removed, and the server goes on as it was.
    """
    if not paths.reset_file().exists():
        return None
    with JOB.execution(host_name()):
        return _carry_out(run)


def _carry_out(run: Runner) -> Reset:
    try:
        reset = read_model(paths.reset_file(), Reset)
        if not paths.reset_begun_file().exists() and reset_request.is_carried_out(run):
            # this journal would be gone; another request would end like that one, again and again
            raise Failed(
                "the root file system was not made again in this boot and is the one of before: "
                "journalctl -b -u systemd-repart.service shows the reason"
            )
        if reset.requests >= REQUESTS:
            raise Failed(
                f"{REQUESTS} boots were asked to make the root file system again and did not: "
                "journalctl -b -u systemd-repart.service shows the reason"
            )
        # counted first: a server must not restart for ever, nor hang in each boot at a pool that does not answer
        reset_journal.begin(reset.model_copy(update={"requests": reset.requests + 1}))
        _forget(reset, run)
        audit_log.note(f"factory reset by {reset.by}: {_in_words(reset)}")
        reset_request.request(run)
    except (MillraceError, OSError) as error:
        _failed(describe(error))
        _abandon()
        raise
    try:
        reset_request.restart(run)
    except MillraceError as error:
        # the journal stays: what would be changed now is lost with the next boot
        _failed(str(error))
        raise
    return reset


def last_failure() -> ResetFailed | None:
    """Return why the last reset of this boot did not begin; None where it did. BadInput: the record is damaged."""
    return read_model(paths.reset_failed_file(), ResetFailed) if paths.reset_failed_file().exists() else None


def last() -> Reset | None:
    """Return the reset that this server came back from; None without one. BadInput: the record is damaged."""
    return read_model(paths.last_reset_file(), Reset) if paths.last_reset_file().exists() else None


def _record(reset: Reset, pool: Pool | None, run: Runner, pause: Callable[[float], None] | None) -> None:
    """Keep the state, with the record of who resets it."""
    before = last()
    write_model(paths.last_reset_file(), reset)
    if pool is None or reset.what == "forget":
        return
    try:
        kept_state.keep_now(pool, run, pause)
    except BaseException:
        # no reset began
        if before is None:
            paths.last_reset_file().unlink(missing_ok=True)
        else:
            write_model(paths.last_reset_file(), before)
        raise


def _forget(reset: Reset, run: Runner) -> None:
    if reset.what != "forget" or reset.pool is None:
        return
    pool = known_pool()
    if pool is None or pool.filesystem_uuid != reset.pool:
        raise Failed("the pool is another one than that of the factory reset; begin it again")
    # after a power cut nothing else waits for it
    must(run, ["systemctl", "start", "srv-pool.mount"])
    keeping.mounted_pool(pool)
    forget.forget_people(pool, run, Forgotten(by=reset.by, at=reset.at))


def _abandon() -> None:
    with suppress(OSError):
        paths.last_reset_file().unlink(missing_ok=True)
    reset_journal.end()


def _failed(why: str) -> None:
    write_model(paths.reset_failed_file(), ResetFailed(problem=why, at=_now()))


def _in_words(reset: Reset) -> str:
    pool = "the pool is kept" if reset.pool else "this server has no pool"
    return f"{pool}, users, passwords and keys are forgotten" if reset.what == "forget" else pool


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
