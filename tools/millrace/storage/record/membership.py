# SPDX-License-Identifier: Apache-2.0
"""The members of an array: what is recorded, updated by what md runs. Pure functions."""

from collections.abc import Mapping, Sequence

from millrace.storage.record.model import ArrayRecord, MemberRecord


def same(one: MemberRecord, other: MemberRecord) -> bool:
    """Whether both are one member; a drive that was added without a partition is compared by serial and wwid."""
    if one.partuuid or other.partuuid:
        return one.partuuid == other.partuuid
    return one.serial == other.serial


def absent(recorded: Sequence[MemberRecord], present: Sequence[MemberRecord]) -> list[MemberRecord]:
    """Return the recorded members that are missing."""
    return [member for member in recorded if not any(same(member, other) for other in present)]


def up_to_date(
    record: ArrayRecord,
    in_sync: Mapping[int, MemberRecord],
    live: Sequence[MemberRecord],
    spares: Sequence[MemberRecord],
) -> ArrayRecord:
    """Return the record with the members that md has: `in_sync` by slot, hot spares, and all that are `live`.

    A missing member stays recorded, so that it can be named and waited for, until another is in sync in its slot.
    """
    left = absent(record.members, list(in_sync.values()))
    kept = {slot: member for slot, member in enumerate(record.members) if slot not in in_sync and member in left}
    # a member that moved to another slot leaves its own to one that lost its place
    displaced = (member for member in left if member not in kept.values())
    members = [in_sync.get(slot) or kept.get(slot) or next(displaced) for slot in range(len(record.members))]
    return record.model_copy(update={"members": members, "spares": _spares(record, members, live, spares)})


def _spares(
    record: ArrayRecord, members: Sequence[MemberRecord], live: Sequence[MemberRecord], spares: Sequence[MemberRecord]
) -> list[MemberRecord]:
    """A spare that is being filled stays one until it is in sync; then the member whose place it took is recorded as
    the spare that is missing. What is gone is forgotten when another has come for it.
    """
    recorded = absent(record.spares, members)
    gone = absent([*recorded, *absent(record.members, members)], live)
    kept = absent(recorded, gone)
    new = absent(spares, [*recorded, *members])
    return [*kept, *gone[: max(len(record.array.spares) - len(kept) - len(new), 0)], *new]
