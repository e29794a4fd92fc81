# SPDX-License-Identifier: Apache-2.0
"""The verdict on one drive and the actions that it allows. Pure functions of what is known of the server."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from millrace.inventory import drive_tests
from millrace.inventory.model import Drive, DriveState
from millrace.inventory.surface import ERASE_INTERRUPTED, MARKS, only_mark
from millrace.plan.failing import why_failing
from millrace.plan.sizes import START, TABLE_END
from millrace.storage.array.live_arrays import MISSING, member_states, worst
from millrace.storage.array.live_model import MemberState
from millrace.storage.array.md import same_uuid
from millrace.storage.drive.drive_model import DriveAction, Verdict
from millrace.storage.drive.facts import Contents, ServerFacts
from millrace.storage.drive.smart import with_smart
from millrace.storage.record import apart_record
from millrace.storage.record.erasure import INTERRUPTED, RUNNING
from millrace.storage.record.model import DriveRecord
from millrace.system.text import moment

NOT_EXAMINED = "not examined since it was put in; to examine all drives: millrace inventory --write"
CHANGED = "changed since it was examined; to examine all drives: millrace inventory --write"

ALLOWED: Mapping[Verdict, list[DriveAction]] = {
    "in-sync": ["replace", "locate"],
    "rebuilding": ["locate"],
    "spare": ["remove", "locate"],
    "faulty": ["replace", "remove", "locate"],
    "missing": ["replace"],
    "returned": ["erase", "locate"],
    "blank": ["add", "test", "erase", "locate"],
    "too small": ["test", "erase", "locate"],
    "foreign": ["erase", "locate"],
    "other pool": ["erase", "locate"],
    "boot": ["locate"],
    "unknown": ["add", "test", "erase", "locate"],
}
"""What a verdict allows where the rest of the server does, too: see `possible_changes`, `may_test` and `may_erase`."""


@dataclass(frozen=True)
class DriveJudgement:
    """A verdict; `what` was found or is the reason, `lacks` how many bytes a blank drive is too small by."""

    verdict: Verdict
    what: str | None = None
    lacks: int | None = None


class Judge:
    """Judges the drives of one server."""

    def __init__(self, facts: ServerFacts) -> None:
        self._facts = facts
        self._times = Counter(one.serial for one in facts.present if one.serial)
        self._examined = {one.serial or one.name: one for one in facts.examined}

    @cached_property
    def members(self) -> Mapping[str, MemberState]:
        """How md sees the members of the pool, by serial."""
        return member_states(self._facts.live)

    @cached_property
    def backends(self) -> Mapping[str, DriveRecord]:
        """The external devices of the pool by serial."""
        pool = self._facts.pool
        return {one.serial: one for one in pool.drives} if pool and pool.backend == "external" else {}

    @cached_property
    def gone(self) -> list[str]:
        """Serials of the members, and of the external devices, that are not in this server."""
        missing = [one for one, state in self.members.items() if state == MISSING]
        return [one for one in [*missing, *self.backends] if one not in self._times]

    def drive(self, drive: Drive) -> DriveJudgement:
        """Return the verdict on a drive that is here."""
        if self._times[drive.serial] > 1:
            return DriveJudgement(
                "unknown", f"{self._times[drive.serial]} drives have the serial number {drive.serial}"
            )
        if drive.serial and (member := self._member(drive.serial)):
            return member
        if drive.serial in self.backends:
            return self._backend(drive)
        contents = self._facts.contents.get(drive.name, Contents())
        why = self._facts.unfinished.get(drive.serial)
        if why and (why.startswith((RUNNING, drive_tests.RUNNING)) or not self._used_since(drive, contents)):
            return DriveJudgement("unknown", why)
        if ours := self._ours(contents):
            stopped = [array.name for array in self._facts.live if array.device is None and array.name in ours]
            return (
                DriveJudgement("unknown", f"array {stopped[0]} does not run")
                if stopped
                else self._returned(drive.serial)
            )
        return self._stranger(drive, contents)

    def times(self, serial: str) -> int:
        """Return how many drives of this server have a serial number."""
        return self._times[serial]

    def needs(self, serial: str) -> int:
        """Return how many bytes a drive must have to take the place of this one; 0 where that is not recorded."""
        sizes = {one.serial: START + sum(part.size for part in one.partitions) + TABLE_END for one in self._drives()}
        return sizes.get(serial, max(sizes.values(), default=0))

    def _member(self, serial: str) -> DriveJudgement | None:
        """What md has of a drive, the worse of two arrays; None where it has nothing."""
        states = {
            array.name: member.state
            for array in self._facts.live
            if not array.legs
            for member in array.members
            if member.serial == serial
        }
        absent = sorted(name for name, state in states.items() if state == MISSING)
        known = [state for state in states.values() if state != MISSING]
        if not known:
            return None
        # the spare part of the log is gone from a drive that was added as a whole
        what = f"not in array {', '.join(absent)}" if absent else None
        return DriveJudgement(worst(known), what)

    def _backend(self, drive: Drive) -> DriveJudgement:
        """A device with the serial number and without the partition is another one, or was written to."""
        if self._facts.contents.get(drive.name, Contents()).millrace:
            return DriveJudgement("in-sync")
        return DriveJudgement("unknown", "has the serial number of the pool's external device and not its partition")

    def _returned(self, serial: str) -> DriveJudgement:
        if one := self._facts.apart.get(serial):
            return DriveJudgement("other pool", apart_record.in_words(one))
        when = self._facts.removed.get(serial)
        return DriveJudgement("returned", f"taken out on {moment(when)}, not re-added" if when else None)

    def _used_since(self, drive: Drive, contents: Contents) -> bool:
        """Whether a drive holds anything that no erase and no test leaves: its record is of the past then."""
        before = self._examined.get(drive.serial or drive.name)
        if contents.millrace or contents.other or self._ours(contents):
            return True
        if before is None or before.state in (DriveState.BLANK, DriveState.UNKNOWN):
            return False
        return only_mark(before.evidence) is None

    def _ours(self, contents: Contents) -> set[str]:
        """The names of the pool's arrays that a drive has a part of."""
        return {one.name for one in self._facts.live if any(same_uuid(one.uuid, uuid) for uuid in contents.arrays)}

    def _stranger(self, drive: Drive, contents: Contents) -> DriveJudgement:
        """A drive that is in no array of the pool."""
        before = self._examined.get(drive.serial or drive.name)
        findings = [evidence.finding for evidence in before.evidence] if before else []
        # a mark beside it says nothing of what is there
        finding = next((finding for finding in findings if finding not in MARKS), findings[0] if findings else None)
        if before is not None and before.state is DriveState.BOOT:
            return DriveJudgement("boot", finding)
        if not self._facts.examined:
            # any drive could be the one that the system runs from
            return DriveJudgement("unknown", "no inventory of this boot: systemctl status millrace-inventory")
        if contents.millrace:
            uuids = ", ".join(sorted(contents.arrays))
            return DriveJudgement(
                "other pool", f"arrays {uuids}" if uuids else "partitions of a Millrace pool without an array"
            )
        if contents.other:
            return DriveJudgement("foreign", contents.other)
        if before is None:
            return DriveJudgement("unknown", NOT_EXAMINED)
        if mark := only_mark(before.evidence):
            return DriveJudgement("unknown", INTERRUPTED if mark == ERASE_INTERRUPTED else drive_tests.INTERRUPTED)
        if before.state is DriveState.FOREIGN:
            return DriveJudgement("foreign", finding)
        if before.state is DriveState.OURS:
            return DriveJudgement("unknown", CHANGED)
        return self._blank(drive) if before.state is DriveState.BLANK else DriveJudgement("unknown", finding)

    def _drives(self) -> list[DriveRecord]:
        """The drives of the pool that another can take the place of: not the external device."""
        pool = self._facts.pool
        return pool.drives if pool and pool.backend == "md" else []

    def _blank(self, drive: Drive) -> DriveJudgement:
        """A blank drive is to take the place of one that is gone, else of any."""
        needed = min((self.needs(one) for one in self.gone or [record.serial for record in self._drives()]), default=0)
        if drive.size < needed:
            return DriveJudgement("too small", lacks=needed - drive.size)
        return DriveJudgement("blank", why_failing(with_smart(drive, self._facts.smart.get(drive.serial))))
