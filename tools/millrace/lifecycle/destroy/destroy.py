# SPDX-License-Identifier: Apache-2.0
"""Destroy the pool of this server: stop serving, wipe exactly its drives, forget it. Continued after a power cut."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from millrace.lifecycle.destroy import status
from millrace.lifecycle.destroy.destroy_job import JOB
from millrace.serve.config import audit_log, store
from millrace.storage.array import md
from millrace.storage.array.machine import Report, System
from millrace.storage.assemble.standstill import ASSEMBLE
from millrace.storage.drive import drive_history
from millrace.storage.drive.attached import Drives
from millrace.storage.erase.wipe import PoolWipe
from millrace.storage.provision.mount_unit import mount_unit_file
from millrace.storage.record.destruction import (
    RECORDS,
    STOP,
    WIPE,
    Destruction,
    DestructionJournal,
    LeftDrive,
    last_destruction,
)
from millrace.storage.record.model import DriveRecord, MemberRecord
from millrace.storage.record.pool_file import load_pool
from millrace.storage.record.writer import DESTROYING, writing
from millrace.system import paths
from millrace.system.errors import BadInput, Failed, MillraceError, Refused
from millrace.system.files import describe, sync
from millrace.system.jobs.job import stop_unit
from millrace.system.jobs.kinds import BY_NAME
from millrace.system.mounts import mounted
from millrace.system.run import Runner, last_words, must
from millrace.system.text import shown

MOUNT = "srv-pool.mount"
PLAN = ("millrace-inventory.service", "millrace-plan.service")
NOTHING = "nothing was destroyed"
MISSING = "is not in this server and still carries its part of the pool: it is found again where it is put in"

# What is about this pool and its arrays alone; a pool that is made later begins without it.
RECORDS_OF_POOL = (
    *("history/pool-*.json", "plan.json", "removed.json", "in-sync.json", "apart.json", "returns.json"),
    *("failures.jsonl", "revivals.jsonl", "unclean.json", "unclean-files.txt", "rescue.json", "rescued.json"),
    *("unrepaired", "drive-change.json", "drive-changed.json", "clone.json", "scrub.json", "scrub-replaced/*"),
    # the number of a kept state counts from one again
    *("trim.json", "keep/status.json", "keep/writer.json"),
)
RECORDS_OF_BOOT = (
    *("in-sync.json", "apart.json", "stopped.json", "assembled", "revivals.jsonl", "returns.json", "forced/*"),
    *("kept-elsewhere.json", "usage.json", "volumes.json", "child-quota-state.json", "rescue-step.json"),
)


def confirm(name: str) -> None:
    """Verify the name that was typed. BadInput: it is something else."""
    if name.strip() != status.host_name():
        raise BadInput(f"the name was typed as {shown(name)}, not {shown(status.host_name())}: {NOTHING}")


def start(system: System, run: Runner, by: str, ends: bool) -> Destruction:
    """Record a confirmed destruction and start the unit; one that stopped goes on. `ends`: what uses the pool is ended.

    Refused: something keeps it from that, and nothing was written. Failed: the unit does not start; the next boot
    carries the destruction out.
    """
    journal = DestructionJournal.load()
    if journal is not None:
        if not JOB.runs(run):
            with JOB.starting(run, status.host_name(), by):
                pass
        return journal.destruction
    now = status.status(run)
    if now.obstacle or (now.in_use and not ends):
        raise Refused(f"{now.obstacle or now.in_use}; {NOTHING}")
    with JOB.starting(run, status.host_name(), by, allowed=status.ENDED), writing(DESTROYING):
        shares = [share.name for share in now.shares]
        return DestructionJournal.open(load_pool(), by, system.now(), ends, shares).destruction


def execute(system: System, run: Runner, report: Report) -> Destruction | None:
    """Go on with the destruction in the journal; what the unit runs. None: there is none.

    BadInput: the journal cannot be read. Refused, Failed: it cannot go on now. Before the first drive is wiped the pool
    is served again; after that the next boot goes on.
    """
    journal = DestructionJournal.load()
    if journal is None:
        return None
    with JOB.execution(status.host_name()):
        try:
            with writing(DESTROYING, wait=True):
                journal.stopped(None)
                _carry_out(system, run, journal, report)
        except (MillraceError, OSError) as error:
            _stopped(system, run, journal, describe(error))
            raise
    system.attempt(["systemctl", "--no-block", "restart", *PLAN])
    return last_destruction()


def _carry_out(system: System, run: Runner, journal: DestructionJournal, report: Report) -> None:
    destruction = journal.destruction
    if not _is_done(journal, STOP) or mounted(destruction.pool.filesystem.mountpoint) is not None:
        _stop(run, journal)
        report("the pool is unmounted; nothing is served")
    if any(not _is_done(journal, step.name) for step in journal.steps if step.name.startswith(WIPE)):
        md.load_modules(system)
        drives = Drives(system)
        wipe = PoolWipe(system, drives, destruction.pool.arrays, report)
        wipe.stop_arrays()
        _wipe(journal, drives, wipe, report)
    if not _is_done(journal, RECORDS):
        journal.start(RECORDS)
        _forget(system, destruction)
    # the last of them: until here no plan is made, and no boot starts what is left of the arrays
    paths.pool_file().unlink(missing_ok=True)
    sync(paths.state_dir())
    audit_log.note(f"pool {destruction.pool.filesystem_uuid} destroyed by {destruction.by}")
    journal.end(system.now())


def _stop(run: Runner, journal: DestructionJournal) -> None:
    """End what uses the pool. Failed: it does not end, and nothing was wiped."""
    if not _is_done(journal, STOP):
        journal.start(STOP)
    for name in status.working(run) if journal.destruction.ends else ():
        stop_unit(BY_NAME[name], run)
    point = journal.destruction.pool.filesystem.mountpoint
    # NFS, SMB and everything else that uses the pool stop with its mount
    done = run(["systemctl", "stop", MOUNT, ASSEMBLE])
    if mounted(point) is not None:
        reason = f" ({last_words(done)})" if done.status != 0 else ""
        raise Failed(
            f"{point} is still in use{reason}: leave its directories (fuser --verbose --mount {point} shows who is "
            f"there); {NOTHING}"
        )
    if not _is_done(journal, STOP):
        journal.done(STOP)


def _wipe(journal: DestructionJournal, drives: Drives, wipe: PoolWipe, report: Report) -> None:
    bays = {drive.serial: drive.bay for drive in drive_history.load().drives}
    drives_of_pool: list[DriveRecord | MemberRecord] = [*journal.destruction.drives, *journal.destruction.whole]
    for drive in drives_of_pool:
        name = f"{WIPE}{drive.serial}"
        if _is_done(journal, name):
            continue
        journal.start(name)
        missing = drives.find(drive) is None
        if missing:
            why: str | None = MISSING
        else:
            why = wipe.of_partitions(drive) if isinstance(drive, DriveRecord) else wipe.of_whole(drive)
        if why is not None:
            journal.leave(LeftDrive(serial=drive.serial, bay=bays.get(drive.serial), missing=missing, why=why))
        report(f"drive {drive.serial} {why or 'is wiped'}")
        journal.done(name)


def _forget(system: System, destruction: Destruction) -> None:
    """Forget shares and the records of the pool. Users, groups, addresses, certificate, domain and policy stay."""
    if store.load().shares:
        store.change(destruction.by, "pool destroy", lambda old: old.model_copy(update={"shares": []}))
    _remove(paths.state_dir(), RECORDS_OF_POOL)
    _remove(paths.run_dir(), RECORDS_OF_BOOT)
    if mount_unit_file().exists():
        mount_unit_file().unlink()
        must(system.attempt, ["systemctl", "daemon-reload"])


def _remove(top: Path, patterns: Sequence[str]) -> None:
    for pattern in patterns:
        for path in top.glob(pattern):
            if path.is_file():
                path.unlink(missing_ok=True)


def _stopped(system: System, run: Runner, journal: DestructionJournal, why: str) -> None:
    # on a full boot drive nothing can be recorded
    with suppress(OSError):
        if journal.wiping:
            journal.stopped(why)
            return
        journal.end(system.now(), why)
    # with its arrays, of which some may be stopped; that serves the pool, too
    run(["systemctl", "--no-block", "start", ASSEMBLE])


def _is_done(journal: DestructionJournal, name: str) -> bool:
    return journal.state(name) == "done"
