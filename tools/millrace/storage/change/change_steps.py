# SPDX-License-Identifier: Apache-2.0
"""The steps of a change of drives: a partition joins an array, md fills it, another leaves.

Each inspects md and does what is missing, so that it can be done again after a kill or a power cut.
"""

from itertools import repeat
from typing import Protocol

from millrace.plan.labels import array_path
from millrace.storage.array import md
from millrace.storage.array.machine import System
from millrace.storage.array.member_state import ArrayNow, MemberNow, array_now
from millrace.storage.array.signature import describe, signature
from millrace.storage.record.model import ArrayRecord, PartitionRecord
from millrace.storage.record.step import FoundContent
from millrace.system.errors import Failed, Refused
from millrace.system.run import must
from millrace.system.wait import wait_until

POLL = 2.0
"""Seconds between two readings of the state of a rebuild."""

LEAVE_TRIES = 30
"""How often md is asked to let go a member whose last requests are still under way, POLL apart."""


class LostDrive(Failed):
    """The new drive of a change is gone or failed: there is nothing to go on with."""


class Task(Protocol):
    """A step that asks md for something and can be done any number of times."""

    name: str
    title: str

    def perform(self) -> str:
        """Do what is missing; return in a few words what was done. Failed: md does not do it."""
        ...


class JoinStep:
    """The step that makes a partition of the new drive a member or a hot spare.

    `old` is the serial of a member that md copies to it.
    """

    def __init__(self, system: System, record: ArrayRecord, partition: PartitionRecord, old: str | None) -> None:
        self._system = system
        self._record = record
        self._partition = partition
        self._old = old
        self._path = array_path(record.array.name)
        self._device = f"/dev/disk/by-partuuid/{partition.partuuid}"
        self.name = f"join {record.array.name}"
        self.title = md.title(record.array)

    def inspect(self) -> FoundContent:
        """Read md and the superblock of the partition.

        Refused: the partition holds something else. LostDrive: the drive is gone. Failed: the array does not run.
        """
        now = _running(self._system, self._record)
        mine = now.partition(self._partition.partuuid)
        if mine is not None:
            return FoundContent.INCOMPLETE if self._to_copy(now, mine) else FoundContent.COMPLETE
        if self._system.partition(self._partition.partuuid) is None:
            raise LostDrive(f"partition {self._partition.label} of the new drive is gone; insert another drive")
        held = signature(self._system, self._device)
        if not held:
            return FoundContent.ABSENT
        if held.get("TYPE") == "linux_raid_member" and md.same_uuid(held.get("UUID", ""), self._record.uuid):
            return FoundContent.INCOMPLETE
        raise Refused(f"{self.title}: {self._partition.label} holds {describe(held)}; it was not touched")

    def activate(self) -> None:
        """Do nothing: a member is in use as soon as md has it."""

    def undo(self) -> None:
        """Remove a superblock of this array that md does not use. Failed: mdadm fails."""
        now = _running(self._system, self._record)
        if now.partition(self._partition.partuuid) is None and signature(self._system, self._device):
            must(self._system.attempt, ["mdadm", "--zero-superblock", self._device])

    def create(self) -> str:
        """Add the partition, and let it take the place of the old member. Failed: mdadm fails."""
        now = _running(self._system, self._record)
        if now.partition(self._partition.partuuid) is None:
            must(self._system.attempt, ["mdadm", self._path, "--add", self._device])
            now = _running(self._system, self._record)
        mine = now.partition(self._partition.partuuid)
        if mine is None:
            raise Failed(f"{self.title}: md did not take {self._partition.label}; see `journalctl -k` for the reason")
        if old := self._to_copy(now, mine):
            argv = ["mdadm", self._path, "--replace", f"/dev/{old.name}", "--with", f"/dev/{mine.name}"]
            must(self._system.attempt, argv)
            return f"{self._partition.label} replaces {self._old}"
        return f"{self._partition.label} added"

    def _to_copy(self, now: ArrayNow, mine: MemberNow) -> MemberNow | None:
        """The old member, as long as it is in sync and the new one has no place yet."""
        old = now.member(self._old) if self._old else None
        return old if old is not None and old.standing == "in-sync" and mine.slot is None else None


class RebuildTask:
    """Waits until md has filled the new member, or keeps it as a hot spare.

    A member that md started without, because its drive came late, joins a second time.
    """

    def __init__(self, system: System, record: ArrayRecord, partition: PartitionRecord, join: JoinStep) -> None:
        self._system = system
        self._record = record
        self._partition = partition
        self._join: JoinStep | None = join
        self.name = f"rebuild {record.array.name}"
        self.title = md.title(record.array)

    def perform(self) -> str:
        """Wait. LostDrive: the new drive is gone or failed. Failed: the array does not run."""
        return wait_until(self._filled, bool, repeat(POLL), self._system.wait)

    def _filled(self) -> str:
        """What became of the new member; empty while md fills it."""
        now = _running(self._system, self._record)
        mine = now.partition(self._partition.partuuid)
        if mine is None and self._join and self._system.partition(self._partition.partuuid) is not None:
            join, self._join = self._join, None
            # what the superblock says of its place is older than the array
            join.undo()
            join.create()
            return ""
        if mine is None or mine.standing == "faulty":
            raise LostDrive(
                f"{self.title}: md has lost the new member {self._partition.label}; see `journalctl -k` for the "
                "reason, then replace the drive again with another one"
            )
        if mine.standing == "in-sync":
            return f"{self._partition.label} is in sync"
        return f"{self._partition.label} is a hot spare" if mine.standing == "spare" and not now.waiting else ""


class LeaveTask:
    """Removes the old drive from an array."""

    def __init__(self, system: System, record: ArrayRecord, serial: str) -> None:
        self._system = system
        self._record = record
        self._serial = serial
        self.name = f"leave {record.array.name}"
        self.title = md.title(record.array)

    def perform(self) -> str:
        """Remove it; nothing where it is gone. Failed: md still needs it, or does not let it go."""
        for attempt in range(LEAVE_TRIES):
            old = _running(self._system, self._record).member(self._serial)
            if old is None:
                return f"{self._serial} removed"
            if old.in_use:
                raise Failed(f"{self.title}: {self._serial} is still in use and stays; see `millrace pool show`")
            argv = ["mdadm", array_path(self._record.array.name), "--remove", f"/dev/{old.name}"]
            if attempt == LEAVE_TRIES - 1:
                must(self._system.attempt, argv)
            elif self._system.attempt(argv).status != 0:
                self._system.wait(POLL)
        return f"{self._serial} removed"


def _running(system: System, record: ArrayRecord) -> ArrayNow:
    now = array_now(system, record)
    if now is None:
        raise Failed(f"{md.title(record.array)} does not run; see `systemctl status millrace-assemble`")
    return now
