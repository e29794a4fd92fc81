# SPDX-License-Identifier: Apache-2.0
"""The steps of a rescue. Each inspects what is there, so that it can be done again after a kill or a power cut."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from millrace.plan.labels import array_path
from millrace.plan.model import Role
from millrace.storage.array import md
from millrace.storage.array.machine import Report, System, settle
from millrace.storage.array.member_state import array_now
from millrace.storage.assemble import in_sync
from millrace.storage.assemble import mounted_pool as pools
from millrace.storage.assemble.standstill import SERVING
from millrace.storage.drive.attached import Drives
from millrace.storage.provision.publish import renew_mount_unit
from millrace.storage.record.model import DriveRecord, Pool
from millrace.storage.record.pool_file import load_pool, save_pool
from millrace.storage.rescue import dry_run, image, new_log, repair_need, serving
from millrace.storage.rescue.diagnosis import log_of, require_data
from millrace.storage.rescue.placeholder_log import clean_up
from millrace.storage.rescue.rescue_journal import RescueJournal
from millrace.storage.rescue.rescue_model import NewLog
from millrace.storage.rescue.step_names import StepName
from millrace.storage.rescue.xfs_repair import repair
from millrace.system import paths
from millrace.system.errors import Failed, Refused
from millrace.system.files import write_text
from millrace.system.locks import held
from millrace.system.mounts import mounted
from millrace.system.run import last_words, must
from millrace.system.text import one_line, printable, size

MOUNT = "srv-pool.mount"


@dataclass(frozen=True)
class Choices:
    """What the user chose: blank drives for the log, the file of the image, or that there is none."""

    drives: Sequence[str] = ()
    image: str | None = None
    without_image: bool = False


def perform(name: StepName, system: System, journal: RescueJournal, choices: Choices, report: Report) -> str:
    """Do one step; return how it ended. `report` receives lines of progress.

    Refused, Failed: it is not possible; the sentence has the remedy.
    """
    steps: dict[StepName, Callable[[], str]] = {
        "stop": lambda: _stop(system, journal),
        "image": lambda: _image(system, journal, choices),
        "judge": lambda: _judge(system, journal),
        "log": lambda: _log(system, journal, choices, report),
        "repair": lambda: _repair(system, journal, report),
        "serve": lambda: _serve(system, journal),
    }
    return steps[name]()


def give_up(system: System, journal: RescueJournal) -> None:
    """Undo what a rescue has made that is not needed any more: the log is back. Failed: a tool fails."""
    clean_up(system)
    if journal.rescue.new is not None:
        settle(system)
        new_log.undo(system, Drives(system), journal.rescue.new)
    paths.unrepaired_file().unlink(missing_ok=True)
    journal.end(system.now())


def _stop(system: System, journal: RescueJournal) -> str:
    """NFS, SMB and all else that uses the pool stop with its mount, by the dependencies of their units."""
    pool = load_pool()
    point = pool.filesystem.mountpoint
    done = system.attempt(["systemctl", "stop", MOUNT])
    if mounted(point) is not None:
        reason = f" ({last_words(done)})" if done.status != 0 else ""
        raise Failed(
            f"{point} is still in use{reason}: leave its directories (fuser --verbose --mount {point} shows who is "
            "there), or restart the server with systemctl reboot; then go on with millrace pool rescue"
        )
    # md keeps the last side of a mirror although its drive is gone
    md.stop(system, log_of(pool))
    journal.keep(size=repair_need.measured(system, pool))
    return f"{point} is unmounted; nothing is served"


def _image(system: System, journal: RescueJournal, choices: Choices) -> str:
    if choices.without_image:
        journal.keep(without_image=True, image=None)
        return "no image was made, as decided"
    pool = load_pool()
    _require_unmounted(system, pool)
    target = image.place(pool, choices.image, journal.rescue.at, journal.rescue.image)
    journal.keep(image=str(target), without_image=False)
    return image.write(system, pool, target)


def _judge(system: System, journal: RescueJournal) -> str:
    pool = load_pool()
    _require_unmounted(system, pool)
    judgement = dry_run.judge(system, pool)
    journal.keep(judgement=judgement)
    read = judgement.note or (
        f"{judgement.files} files ({size(judgement.size)}) in {judgement.directories} directories can be listed"
        f"{', ' + str(judgement.unreadable) + ' places cannot be read' if judgement.unreadable else ''}"
        f"{'' if judgement.complete else ', as far as the time limit of the search allowed'}"
    )
    damage = (
        f"xfs_repair found {judgement.problem_count} problems"
        if judgement.problem_count
        else "xfs_repair found no damage"
    )
    return f"{read}; {damage}"


def _log(system: System, journal: RescueJournal, choices: Choices, report: Report) -> str:
    pool = load_pool()
    _require_unmounted(system, pool)
    settle(system)
    drives = Drives(system)
    new, before = journal.rescue.new, list[DriveRecord]()
    if new is not None and new_log.lost(drives, new):
        new_log.undo(system, drives, new)
        before, new = new.drives, None
    if new is None or not _begun(new):
        journal.keep(new=new_log.choose(system, drives, pool, log_of(pool), choices.drives, before))
    elif choices.drives and {*choices.drives} != {member.serial for member in (*new.array.members, *new.array.spares)}:
        raise Refused(f"the new log is being made on {new_log.in_words(new)}; go on without --with")
    # From here on there may be an empty log under the name of the pool's, which must not be mounted, in no boot.
    renew_mount_unit(system, pool)
    write_text(paths.unrepaired_file(), "see millrace pool rescue\n")
    md.stop_inactive(system, log_of(pool))
    return new_log.build(system, drives, journal, report)


def _repair(system: System, journal: RescueJournal, report: Report) -> str:
    pool, new = load_pool(), journal.rescue.new
    assert new is not None
    _require_unmounted(system, pool)
    if log_of(pool).uuid != new.array.uuid:
        settle(system)
        new_log.build(system, Drives(system), journal, report)
        # Before the first write: after it the lost log must not be replayed, even if its drives are put back in.
        journal.start("repair")
        _record(system, new, report)
    elif array_now(system, new.array) is None:
        # one side is enough from here on
        raise Failed(f"{md.title(new.array.array)} does not run: systemctl restart millrace-assemble, then go on")
    repair(system, pool.filesystem, array_path(new.array.array.name), lambda line: report(printable(line)))
    return "the file system is consistent again"


def _serve(system: System, journal: RescueJournal) -> str:
    paths.unrepaired_file().unlink(missing_ok=True)
    must(system.attempt, ["systemctl", "start", SERVING])
    pool = pools.verify(system)
    orphans = _orphans(pool)
    journal.keep(orphans=orphans)
    point = pool.filesystem.mountpoint
    found = f"{orphans} names without a directory are in {point}/lost+found" if orphans else "lost+found is empty"
    problem = serving.problem(system)
    return f"{point} is mounted{f', but {problem}' if problem else ' and served'}; {found}"


def _require_unmounted(system: System, pool: Pool) -> None:
    """Verify that nothing uses the file system, also after a reboot between two steps."""
    clean_up(system)
    require_data(system, pool)
    if mounted(pool.filesystem.mountpoint) is not None:
        raise Refused(f"{pool.filesystem.mountpoint} is mounted again; unmount it: systemctl stop {MOUNT}, then go on")


def _begun(new: NewLog) -> bool:
    return any(step.state != "pending" for step in new.steps)


def _record(system: System, new: NewLog, report: Report) -> None:
    """Make the new log that of the pool, in every boot from now on."""
    with held(paths.pool_lock()):
        pool = load_pool()
        old = log_of(pool)
        if old.uuid != new.array.uuid:
            arrays = [new.array if array is old else array for array in pool.arrays]
            lost = {member.serial for member in (*old.members, *old.spares)} - {
                member.serial for member in (*new.array.members, *new.array.spares)
            }
            kept = [drive for drive in pool.drives if not (drive.serial in lost and _log_only(drive))]
            update = {"arrays": arrays, "drives": [*kept, *new.drives], "generation": pool.generation + 1}
            save_pool(pool.model_copy(update=update))
    in_sync.record(system, load_pool(), lambda line: report(one_line(line)))


def _log_only(drive: DriveRecord) -> bool:
    return all(one.role is Role.LOG for one in drive.partitions)


def _orphans(pool: Pool) -> int:
    """Root alone writes to the top of the pool; xfs_repair makes lost+found only if it needs it."""
    directory = paths.ROOT / pool.filesystem.mountpoint.lstrip("/") / "lost+found"
    try:
        return len(os.listdir(directory))
    except OSError:
        return 0
