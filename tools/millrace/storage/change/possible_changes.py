# SPDX-License-Identifier: Apache-2.0
"""Which changes of drives are possible now, planned by what plans them before a write, from what is known of a server
without a command to any drive. Pure functions.
"""

from collections.abc import Mapping, Sequence

from millrace.inventory.model import Drive, DriveState
from millrace.storage.array import md
from millrace.storage.array.live_model import LiveArray, MemberState
from millrace.storage.array.member_state import ArrayNow, MemberNow, Standing
from millrace.storage.change.candidates import DriveNeed, unfit
from millrace.storage.change.plan_replace import PoolServer, needed
from millrace.storage.change.spares import addition, removal
from millrace.storage.drive.drive_model import DriveAction, Verdict
from millrace.storage.drive.facts import ServerFacts
from millrace.storage.drive.smart import with_smart
from millrace.storage.drive.verdict import CHANGED, NOT_EXAMINED, DriveJudgement
from millrace.storage.record.model import ArrayRecord, MemberRecord, Pool
from millrace.system.errors import Refused

PENDING = (NOT_EXAMINED, CHANGED)
"""Why a drive is unknown on which the kernel sees nothing: it was put in after the last inventory, or erased."""

NOT_RUNNING = ("missing", "clear", "inactive", "broken")

STATES: Mapping[Verdict, DriveState] = {
    "blank": DriveState.BLANK,
    "too small": DriveState.BLANK,
    "foreign": DriveState.FOREIGN,
    "unknown": DriveState.UNKNOWN,
    "boot": DriveState.BOOT,
}
"""What the inventory calls a drive with a verdict; all others carry partitions of a pool."""

STANDINGS: Mapping[MemberState, Standing] = {
    "in-sync": "in-sync",
    "spare": "spare",
    "faulty": "faulty",
    "rebuilding": "rebuilding",
    # whatever it is, it must not be taken out
    "unknown": "rebuilding",
}


class PossibleChanges:
    """What the verbs would not refuse on one server; nothing without a pool, or while a change is not finished."""

    def __init__(self, facts: ServerFacts, judged: Sequence[tuple[Drive, DriveJudgement]]) -> None:
        self._server = _server(facts, facts.pool, judged) if facts.pool and not facts.changing else None

    def needs(self, serial: str) -> int | None:
        """Return the size in bytes of the smallest blank drive that replaces this one, None where none can now."""
        need = self._need(serial)
        return need.size if need else None

    def allows(self, action: DriveAction, serial: str) -> bool:
        """Whether the verb of this name would not refuse the drive; other actions are no changes."""
        server = self._server
        if action not in ("replace", "add", "remove"):
            return True
        if server is None:
            return False
        if action == "replace":
            need = self._need(serial)
            return need is not None and any(drive.serial and unfit(drive, need) is None for drive in server.drives)
        try:
            addition(server, serial) if action == "add" else removal(server, serial)
        except Refused:
            return False
        return True

    def _need(self, serial: str) -> DriveNeed | None:
        try:
            return needed(self._server, serial) if self._server else None
        except Refused:
            return None


def _server(facts: ServerFacts, pool: Pool, judged: Sequence[tuple[Drive, DriveJudgement]]) -> PoolServer:
    records = {one.array.name: one for one in pool.arrays if not one.array.over_arrays}
    arrays = {one.name: _array(records[one.name], one) for one in facts.live if one.name in records and _runs(one)}
    drives = [
        with_smart(one, facts.smart.get(one.serial)).model_copy(update={"state": _state(judgement), "evidence": []})
        for one, judgement in judged
    ]
    bays = {serial: one.bay for serial, one in facts.history.items() if one.bay}
    enough = {name: now for name, now in arrays.items() if now.slots - now.lacking >= md.needed(now.record.array)}
    return PoolServer(pool, enough, drives, bays)


def _state(judgement: DriveJudgement) -> DriveState:
    """What a fresh inventory is taken to find; one is made before a change, and decides."""
    return DriveState.BLANK if judgement.what in PENDING else STATES.get(judgement.verdict, DriveState.OURS)


def _runs(array: LiveArray) -> bool:
    return array.device is not None and array.state not in NOT_RUNNING


def _array(record: ArrayRecord, live: LiveArray) -> ArrayNow:
    """An array as md has it; which member is in which slot is not known here, and planning does not ask."""
    members = [
        MemberNow(
            name=member.device or "",
            who=MemberRecord(serial=member.serial, wwid="", partuuid="", label=member.label),
            slot=None,
            standing=STANDINGS[member.state],
            copy=False,
        )
        for member in live.members
        if member.state in STANDINGS
    ]
    return ArrayNow(record, len(record.array.members), members)
