# SPDX-License-Identifier: Apache-2.0
"""Start a pool whose drives were gone for a moment, with the members that left last."""

from collections.abc import Callable, Collection, Mapping
from hashlib import sha256
from typing import TypeVar

from millrace.storage.array import md
from millrace.storage.array.gather import members_present
from millrace.storage.array.machine import Report, System
from millrace.storage.array.superblock import Superblock
from millrace.storage.assemble import in_sync, passed_over, revival_limit, standstill
from millrace.storage.assemble import mounted_pool as pools
from millrace.storage.assemble.assemble import start_arrays
from millrace.storage.assemble.external_device import AGAIN
from millrace.storage.assemble.revival import REVIVE, Situation, situation, stamp
from millrace.storage.assemble.standstill import ASSEMBLE, SERVING
from millrace.storage.record.model import MemberRecord, Pool
from millrace.storage.record.pool_file import load_pool
from millrace.storage.record.writer import REVIVING, writing
from millrace.storage.rescue import serving
from millrace.storage.rescue.diagnosis import require_no_change
from millrace.storage.rescue.revive_model import Part, Revival, RevivedArray, RevivedMember
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.mounts import mounted
from millrace.system.names import several
from millrace.system.run import last_words

_Done = TypeVar("_Done")

MOUNT = "srv-pool.mount"

ATTEMPTS = 3
"""How often a revival that nobody asked for is tried where it fails."""

PAUSE = 60
"""Seconds between two attempts."""


class DrivesMoved(Refused):
    """The drives are not those that were there a moment ago."""


def plan(system: System, wanted: Collection[str], bays: Mapping[str, str]) -> Revival:
    """Return what a revival would do; write nothing. `wanted` are serials of members that are brought back.

    Refused: nothing is to be revived, drives are being changed or missing, or the members contradict each other.
    BadInput: a drive that is wanted is no member, or is older than another one that is there.
    """
    require_no_change()
    return _plan(_situations(system, wanted), bays)


def revive(
    system: System, wanted: Collection[str], bays: Mapping[str, str], digest: str | None, report: Report
) -> Revival:
    """Start the arrays that do not run, mount the pool and serve it; `digest` is that of the plan which was confirmed.

    Without it only what is certain is done. It can be repeated after a kill or a power cut. Refused, BadInput: as
    `plan`, or the drives are not those of the plan any more. DrivesMoved: nor are they those of a moment ago. Failed:
    the pool is in use, an array does not start, or NFS or SMB does not serve.
    """
    done = _start(system, wanted, bays, digest, report, automatic=False)
    _serve(system, report)
    return done


def revive_by_itself(system: System, bays: Mapping[str, str], report: Report) -> Revival:
    """Do the same for what is certain, and try what fails a few times: a shell in a directory of the pool is left soon.

    Waits for everything else that writes to drives: it is started by the return of members, which is one of these.
    Refused, DrivesMoved, Failed: as `revive`.
    """
    try:
        done = _tried(system, report, lambda: _start(system, (), bays, None, report, automatic=True))
        _tried(system, report, lambda: _serve(system, report))
    finally:
        # not before: what was tried with these drives is not tried again
        standstill.record(system, load_pool())
    return done


def _tried(system: System, report: Report, what: Callable[[], _Done]) -> _Done:
    for _ in range(ATTEMPTS - 1):
        try:
            return what()
        except (Failed, DrivesMoved) as error:
            report(f"{error}; the next attempt is in {PAUSE} seconds")
        system.wait(PAUSE)
    return what()


def _start(
    system: System,
    wanted: Collection[str],
    bays: Mapping[str, str],
    digest: str | None,
    report: Report,
    automatic: bool,
) -> Revival:
    lines: list[str] = []

    def said(line: str) -> None:
        lines.append(line)
        report(line)

    with writing(REVIVING, wait=automatic):
        require_no_change()
        situations = _situations(system, wanted)
        before = _plan(situations, bays)
        if digest is not None and before.sha256 != digest:
            raise Refused("the drives have changed since this was shown; nothing was written: run it again")
        if digest is None and (doubts := [array.doubt for array in before.arrays if array.doubt]):
            raise Refused(f"{'; '.join(doubts)}; nothing was written: {REVIVE}")
        broken = [case.record for case in situations.values()]
        if automatic and (spent := [why for record in broken if (why := revival_limit.refusal(record, system.now()))]):
            raise Refused(f"{'; '.join(spent)}; check its drives and what they are connected to, then: {REVIVE}")
        _unmount(system, load_pool())
        # that may take minutes, in which names of the kernel went to other drives
        now = _situations(system, wanted)
        if _decided(_plan(now, bays)) != _decided(before):
            raise DrivesMoved("drives came or went while the pool was unmounted; nothing was started: run it again")
        if automatic:
            # before: a start that kills the server counts
            revival_limit.add(broken, system.now())
        start_arrays(system, said, now)
    return before.model_copy(update={"done": True, "report": lines})


def _decided(found: Revival) -> list[tuple[str, str | None, list[tuple[str, Part, int | None]]]]:
    """What has to be the same for a start that was decided on: the unmount writes to members that are in use."""
    return [
        (
            one.uuid,
            one.doubt,
            sorted((who.serial, who.part, who.events if who.part == "brought-back" else None) for who in one.members),
        )
        for one in found.arrays
    ]


def _serve(system: System, report: Report) -> None:
    if mounted(load_pool().filesystem.mountpoint) is None:
        system.attempt(["systemctl", "restart", ASSEMBLE])
    # what that starts by itself is not waited for
    done = system.attempt(["systemctl", "start", SERVING])
    try:
        pool = pools.verify(system)
    except Failed as error:
        raise Failed(f"the arrays run, but the pool is not served: {error} ({last_words(done)})") from error
    point = pool.filesystem.mountpoint
    if problem := serving.problem(system):
        raise Failed(f"the arrays run and {point} is mounted, but {problem}")
    report(f"{point} is mounted and served")


def _unmount(system: System, pool: Pool) -> None:
    """Stop NFS, SMB and all else that uses the pool with its mount, by the dependencies of their units."""
    point = pool.filesystem.mountpoint
    done = system.attempt(["systemctl", "stop", MOUNT])
    if mounted(point) is not None:
        reason = f" ({last_words(done)})" if done.status != 0 else ""
        raise Failed(
            f"{point} is still in use{reason}: leave its directories (fuser --verbose --mount {point} shows who is "
            f"there), or restart the server with systemctl reboot; then: {REVIVE}"
        )


def _situations(system: System, wanted: Collection[str]) -> dict[str, Situation]:
    pool = load_pool()
    if pool.backend == "external":
        raise Refused(f"the pool is on an external device and has no arrays: connect it again, then: {AGAIN}")
    stopped = [record for record in pool.arrays if not record.array.over_arrays and not md.works(system, record)]
    if not stopped:
        raise Refused("every array of the pool runs: there is nothing to revive; see millrace health")
    present, kept = {}, {}
    for record in stopped:
        gathered = members_present(system, record)
        # since it was started without them the others went on
        kept[record.uuid] = passed_over.present(system, record, gathered)
        present[record.uuid] = {name: who for name, who in gathered.items() if name not in kept[record.uuid]}
    _refuse_foreign(wanted, present, kept)
    situations = {}
    for record in stopped:
        names = [name for name, who in present[record.uuid].items() if who.serial in wanted]
        situations[record.uuid] = situation(system, record, present[record.uuid], names, kept[record.uuid])
        _refuse(situations[record.uuid], names)
    return situations


def _refuse_foreign(
    wanted: Collection[str],
    present: Mapping[str, Mapping[str, MemberRecord]],
    kept: Mapping[str, Mapping[str, MemberRecord]],
) -> None:
    ours = {who.serial for members in present.values() for who in members.values()}
    out = {who.serial for members in kept.values() for who in members.values()} - ours
    if apart := sorted({*wanted} & out):
        raise BadInput(
            f"the array was started without {several(apart)} and has been written since, so it cannot start with what "
            "they hold; nothing was written"
        )
    if others := sorted(set(wanted) - ours):
        raise BadInput(f"{several(others)} is no member of an array that does not run; nothing was written")


def _refuse(case: Situation, names: Collection[str]) -> None:
    """Refused: the array cannot be started with what is there. BadInput: not with the members that are `names`."""
    title, choice = md.title(case.record.array), case.choice
    if choice is None:
        if len(case.blocks) < case.needed:
            _missing(case)
        in_sync.refuse_stale(case.record, list(case.found.values()))
        return
    brought = {block.name for block in choice.brought}
    if unused := sorted(case.found[name].serial for name in names if name in case.blocks and name not in brought):
        current = {block.name for block in choice.current}
        if not all(name in current for name in names if name not in brought):
            raise BadInput(
                f"{title} cannot be started with {several(unused)}: it needs {len(brought)} of the members that left, "
                "and only such that were filled; nothing was written"
            )
    if choice.rivals and names:
        raise BadInput(f"{title} is not started with {several(case.serials(choice.brought))}: {case.doubt}")
    if not choice.possible:
        raise Refused(f"{title} cannot be started: {case.doubt}; nothing was written")


def _missing(one: Situation) -> None:
    raise Refused(
        f"{md.title(one.record.array)} needs {one.needed} of {len(one.record.members)} members, {len(one.blocks)} are "
        f"there{one.kept_apart}; missing: {', '.join(one.missing) or 'none'}. Put them in, then run this again"
    )


def _plan(found: Mapping[str, Situation], bays: Mapping[str, str]) -> Revival:
    arrays = [_array(one, bays) for one in found.values()]
    text = "\n".join(one.model_dump_json(exclude={"members": {"__all__": {"bay", "device"}}}) for one in arrays)
    return Revival(sha256=sha256(text.encode()).hexdigest(), arrays=arrays)


def _array(case: Situation, bays: Mapping[str, str]) -> RevivedArray:
    members = [_member(case, name, who, bays) for name, who in (*case.found.items(), *case.apart.items())]
    gone = [
        RevivedMember(
            serial=serial, bay=bays.get(serial), device=None, slot=None, events=None, written=None, part="missing"
        )
        for serial in case.missing
    ]
    array = case.record.array
    return RevivedArray(
        uuid=case.record.uuid,
        name=array.name,
        level=array.level,
        needed=case.needed,
        broke=_moment(case.broke),
        possible=case.choice is None or case.choice.possible,
        doubt=case.doubt,
        recorded=bool(case.last),
        older=case.is_older,
        newer=case.newer,
        since=_moment(case.since) if case.newer else None,
        members=[*sorted(members, key=lambda member: (member.slot is None, member.slot or 0)), *gone],
    )


def _member(case: Situation, name: str, who: MemberRecord, bays: Mapping[str, str]) -> RevivedMember:
    block = case.blocks.get(name)
    return RevivedMember(
        serial=who.serial,
        bay=bays.get(who.serial),
        device=name,
        slot=block.slot if block else None,
        events=block.events if block else None,
        written=_moment(case.written.get(name)),
        part=_part(case, name, block),
    )


def _part(case: Situation, name: str, block: Superblock | None) -> Part:
    if name in case.apart:
        return "kept-apart"
    if block is None:
        return "unreadable"
    if case.choice is None:
        return "not-filled" if block.slot is None or block.recovering else "current"
    parts: dict[Part, list[Superblock]] = {
        "current": case.choice.current,
        "brought-back": case.choice.brought,
        "kept-apart": [other for other in case.choice.behind if case.found[other.name] in case.passed],
        "rebuilt": case.choice.behind,
    }
    return next((part for part, members in parts.items() if block in members), "not-filled")


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else stamp(seconds)


def has_doubt(found: Revival) -> bool:
    """Whether an administrator has to decide."""
    return any(one.doubt for one in found.arrays)
