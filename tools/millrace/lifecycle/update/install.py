# SPDX-License-Identifier: Apache-2.0
"""Install the staged release beside the running version, and go back to the other one."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from millrace.lifecycle.keep import keeping, nfs_client_records
from millrace.lifecycle.update import abilities, boot_entries, documents, obstacles, records, release, stage, trial
from millrace.lifecycle.update.boot_entries import BootEntry
from millrace.lifecycle.update.model import LastUpdate, Outcome, Serving, UpdateOrder
from millrace.lifecycle.update.serving import serving
from millrace.lifecycle.update.update_job import JOB, ORDER, PROGRESS
from millrace.storage.record.pool_file import known_pool
from millrace.system.errors import BadInput, Failed, MillraceError, Refused
from millrace.system.files import sync_renamed
from millrace.system.jobs.job import KILLED
from millrace.system.os_release import image_version
from millrace.system.run import Runner, last_words

SYSUPDATE = "/usr/lib/systemd/systemd-sysupdate"
TRIES = 3

Measure = Callable[[Runner], Serving]


def order(wanted: UpdateOrder, run: Runner, pause: Callable[[float], None] = time.sleep) -> LastUpdate:
    """Let millrace-update.service install the staged release, and wait for it; return how that ended.

    Refused: another job keeps it from that. Failed: it is not installed, and why.
    """
    before = records.last()
    with JOB.starting(run, f"version {wanted.version}", wanted.by):
        ORDER.write(wanted, mode=0o600)
    for _ in JOB.follow(PROGRESS.get, run, pause):
        # `update status` shows it
        pass
    update = records.last()
    if update is None or update == before or update.version != wanted.version or update.state != "installed":
        why = update.problems[0] if update is not None and update != before and update.problems else JOB.last_line(run)
        raise Failed(f"the update was not installed: {why}")
    return update


def install(run: Runner, measure: Measure = serving) -> LastUpdate:
    """Install what was ordered; the running version stays as it is. Returns how that ended, which is recorded too.

    BadInput, Refused, Failed: it is not installed, for that reason.
    """
    wanted = ORDER.read()
    with JOB.execution():
        try:
            _install(wanted, run, measure)
        except (MillraceError, OSError) as error:
            said = str(error) if isinstance(error, MillraceError) else f"{error.filename}: {error.strerror}"
            _record(wanted.version, image_version(), wanted.by, "refused", [said])
            raise
        finally:
            ORDER.remove()
            stage.clear()
        return _record(wanted.version, image_version(), wanted.by, "installed")


def clean_up(run: Runner) -> None:
    """Record an installation that was killed, and remove what it left; what the unit runs at its end.

    Refused: one is under way. Failed, BadInput: the boot partition or a record cannot be read.
    """
    wanted = ORDER.get()
    # the record of the job is history: what was ordered says that an installation was under way
    JOB.clean_up()
    if wanted is None:
        return
    with JOB.alone():
        stage.clear()
        under_trial = records.trial()
        if under_trial is not None and under_trial.version == wanted.version:
            _remove(wanted.version, run)
            records.end_trial()
        _record(wanted.version, image_version(), wanted.by, "interrupted", [f"The installation did not end: {KILLED}."])


def rollback(run: Runner, by: str, end_locks: bool = False) -> LastUpdate:
    """Let the other version be the one that starts; `end_locks` allows one that may not know locks of snapshots.

    Refused: there is none, it failed on this server, would end locks, or an update is under way.
    """
    with JOB.alone():
        running = image_version()
        entries = boot_entries.entries(run)
        mine, other = boot_entries.of(running, entries), _other(running, entries)
        under_trial = records.trial()
        if under_trial is not None and under_trial.version != running:
            # It has not run yet: it need not be tried at all.
            if other is not None:
                boot_entries.put_last(other)
            if mine is not None:
                # it was put last where the other one is older
                boot_entries.accept(mine)
            records.end_trial()
            return _record(under_trial.version, running, by, "rolled-back")
        if other is None or mine is None:
            raise Refused("there is no other version on the boot drive")
        failed = next((failure for failure in records.failed().versions if failure.version == other.version), None)
        if failed is not None:
            raise Refused(f"version {other.version} failed on this server; install another: millrace update apply")
        if not end_locks and (ended := abilities.ended_locks(other.version, running)):
            raise Refused(ended)
        boot_entries.accept(other)
        boot_entries.put_last(mine)
        records.end_trial()
        return _record(running, other.version, by, "rolled-back", abilities.closed_snapshots(other.version, running))


def _install(wanted: UpdateOrder, run: Runner, measure: Measure) -> None:
    running = image_version()
    stage.report("verifying")
    staged = release.staged(run)
    if staged.version != wanted.version:
        raise BadInput(f"version {staged.version} is staged, {wanted.version} was confirmed; apply the update again")
    problem = obstacles.of_server(run, wanted.degraded) or obstacles.of_version(
        staged.version, running, wanted.older, wanted.again
    )
    if not wanted.end_locks:
        problem = problem or abilities.ended_locks(staged.version, running)
    if problem:
        raise Refused(problem)
    stage.report("keeping the state")
    _keep(run)
    documents.keep(running)
    abilities.keep(running)
    pool = known_pool()
    if pool is not None:
        nfs_client_records.remember(running, Path(pool.filesystem.mountpoint))
    stage.report("installing")
    _remove(staged.version, run)
    trial.begin(staged.version, wanted.by, measure(run))
    try:
        _transfer(staged.version, run)
        if release.number(staged.version) < release.number(running):
            # systemd-boot would start the newest one, which has no number of tries
            _put_last(running, run)
    except (MillraceError, OSError):
        _remove(staged.version, run)
        records.end_trial()
        raise
    # without it the measure from before the installation counts
    run(["systemctl", "start", trial.LAST_LOOK])


def _keep(run: Runner) -> None:
    if known_pool() is None:
        return
    kept = keeping.keep(run)
    if kept.problem:
        raise Refused(f"the state of this server cannot be kept on the pool ({kept.problem}); mend that first")


def _transfer(version: str, run: Runner) -> None:
    # What an attempt that was cut left behind: sysupdate installs no version of which a part is there.
    emptied = run([SYSUPDATE, "vacuum"])
    done = run([SYSUPDATE, "update", version]) if emptied.status == 0 else emptied
    if done.status != 0:
        raise Failed(f"version {version} cannot be written to the boot drive: {last_words(done)}")
    entry = boot_entries.of(version, boot_entries.entries(run))
    if entry is None or entry.left != TRIES:
        raise Failed(f"version {version} was written, and is not among the versions that start: bootctl list")
    # sysupdate gives the kernel image its name at the end, and syncs the directory only
    sync_renamed(entry.path)


def _put_last(version: str, run: Runner) -> None:
    entry = boot_entries.of(version, boot_entries.entries(run))
    if entry is not None:
        boot_entries.put_last(entry)


def _remove(version: str, run: Runner) -> None:
    """What is left of the version on the boot drive is not started any more."""
    entry = boot_entries.of(version, boot_entries.entries(run))
    if entry is not None:
        boot_entries.remove(entry)


def _other(running: str, entries: list[BootEntry]) -> BootEntry | None:
    others = [one for one in entries if one.version != running]
    return max(others, key=lambda one: release.number(one.version), default=None)


def _record(version: str, before: str, by: str, state: Outcome, problems: Sequence[str] = ()) -> LastUpdate:
    found = LastUpdate(version=version, before=before, state=state, at=records.now(), by=by, problems=list(problems))
    records.save_last(found)
    return found
