# SPDX-License-Identifier: Apache-2.0
"""Whether a rescue is the right thing: the log is lost, all else is there. Every other case has a better remedy."""

from dataclasses import dataclass

from millrace.storage.array import md
from millrace.storage.array.gather import members_present
from millrace.storage.array.machine import System
from millrace.storage.array.member_state import array_now
from millrace.storage.array.superblock import examine
from millrace.storage.assemble import in_sync, revival
from millrace.storage.assemble.external_device import AGAIN
from millrace.storage.assemble.revival import REVIVE
from millrace.storage.record import change_journal
from millrace.storage.record.change_journal import in_words
from millrace.storage.record.model import ArrayRecord, Pool
from millrace.system.errors import Failed, Refused
from millrace.system.names import several


class LogIsThere(Refused):
    """The log is not lost, or it is back: whatever keeps the pool from being served, it is not that."""


class OtherPool(LogIsThere):
    """The rescue that is open is about a pool that this server does not have any more."""


TOOLS = (
    "losetup",
    "mdadm",
    "modprobe",
    "mount",
    "sfdisk",
    "systemctl",
    "umount",
    "xfs_db",
    "xfs_metadump",
    "xfs_repair",
)


@dataclass(frozen=True)
class Diagnosis:
    """The pool without its log, the lost log, and what is said of drives that are there and cannot help."""

    pool: Pool
    log: ArrayRecord
    notes: list[str]


def log_of(pool: Pool) -> ArrayRecord:
    """Return the array of the external log. Refused: the log is inside the file system."""
    device = pool.filesystem.log_device
    for record in pool.arrays:
        if device is not None and device.endswith(f"/millrace-{record.array.name}"):
            return record
    if device is not None:
        raise Refused(
            f"the log of this pool is on an external device ({device}), which `millrace pool rescue` cannot replace: "
            f"connect it again, then: {AGAIN}"
        )
    raise Refused(
        "the log of this pool is inside the file system: no drive of the log can be lost; see millrace health"
    )


def require_data(system: System, pool: Pool) -> None:
    """Verify that every array of the data runs. Refused: one does not; it comes first."""
    for record in pool.arrays:
        if record is log_of(pool):
            continue
        active = md.find(system, record.uuid)
        runs = active is not None and active.running
        if not (runs if record.array.over_arrays else array_now(system, record) is not None):
            raise Refused(
                f"{md.title(record.array)} does not run, and without it there is nothing to rescue; start it first, "
                f"with its drives in the server: {REVIVE}; nothing was changed"
            )


def require_no_change() -> None:
    """Verify that no change of drives is under way. Refused: one is. BadInput: its journal cannot be read."""
    change = change_journal.running()
    if change is not None:
        raise Refused(f"{in_words(change.plan)} is running; wait for its end: millrace drive progress")


def diagnose(system: System, pool: Pool) -> Diagnosis:
    """Verify that the log is lost and everything else is there.

    LogIsThere: it runs or can be started. Refused: an array of the data does not run, or drives are being changed.
    Failed: this image lacks a tool.
    """
    log = log_of(pool)
    if absent := [tool for tool in TOOLS if not system.installed(tool)]:
        raise Failed(f"this image lacks {', '.join(absent)}; nothing was changed")
    require_no_change()
    require_data(system, pool)
    if array_now(system, log) is not None:
        raise LogIsThere(
            f"{md.title(log.array)} runs, so that there is nothing to rescue; if the pool is not served: "
            "systemctl reboot; if a drive of the log can no longer be read, pull both, then start this again"
        )
    return Diagnosis(pool, log, _require_lost(system, log))


def _require_lost(system: System, log: ArrayRecord) -> list[str]:
    """What is said of members that are present and cannot help; Refused where one of them has the log."""
    members = members_present(system, log)
    old, notes = [], []
    for name, who in members.items():
        block = examine(system, name)
        if block is None:
            notes.append(f"{who.serial} ({name}) is present, but its md superblock cannot be read; it is not used")
        elif block.slot is None or block.recovering:
            notes.append(f"{who.serial} ({name}) was a hot spare of the log and does not hold it; it is not used")
        else:
            old.append(who)
    if not old:
        return notes
    serials = several([member.serial for member in old])
    try:
        in_sync.refuse_stale(log, old)
    except Failed:
        return [*notes, f"{serials} left the log before it was lost: what it holds is too old, and is never replayed"]
    try:
        revival.refuse_unseen(system, log, {name: who for name, who in members.items() if who in old})
    except Failed as error:
        raise LogIsThere(f"{serials} is present and may hold the log: {error}") from error
    raise LogIsThere(
        f"{serials} is present and holds the log: nothing is lost. Start it: systemctl restart millrace-assemble, "
        "then: systemctl start millrace-serving.target. If it cannot be read, pull it and start this again"
    )
