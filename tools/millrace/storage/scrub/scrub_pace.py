# SPDX-License-Identifier: Apache-2.0
"""How fast this pool is checked, and whether that keeps the period of the policy: as computed, and as it was seen."""

from millrace.plan.model import MdArray
from millrace.plan.policy.model import ScrubPolicy
from millrace.plan.scrub import (
    DAYS,
    CheckPace,
    check_pace,
    days_of,
    in_words,
    limit,
    read_of_each_drive,
    remedy,
    side_by_side,
    windows_of,
)
from millrace.storage.array import resync
from millrace.storage.array.devices import array_device
from millrace.storage.record.model import Pool
from millrace.storage.record.scrub_record import ArrayScrub, ScrubRecord
from millrace.storage.record.settings_record import recorded
from millrace.system.text import KIB, size

SECTOR = 512
SEEN = 3600.0
"""Seconds of reading after which the rate of a check is known."""

SLOW = 0.9
"""A check with less than this of its least rate is held up by drives or CPU: md puts nothing before it."""

NOT_KNOWN_KIB = 2_000_000
"""What a rebuild may read of the slowest drive, where the settings of the server are not known."""


def pace_of(pool: Pool, policy: ScrubPolicy) -> CheckPace:
    """Return how fast the arrays of the pool are checked, by their size, the policy and the settings in force."""
    return check_pace(read_of_each_drive(_arrays(pool), _bytes), policy, _limit())


def seen(pool: Pool, policy: ScrubPolicy, record: ScrubRecord) -> tuple[CheckPace, str | None]:
    """Return the pace, and the sentence why it does not keep the period: None where it does.

    Where a check read less than it was granted, how long all of them take is reckoned from what it read.
    """
    pace = pace_of(pool, policy)
    if policy.every == "never":
        return pace, None
    if not pace.kept:
        return pace, f"{in_words(pace, policy)} {pace.todo}."
    uuids = {array_record.array.name: array_record.uuid for array_record in pool.arrays}
    rates = {array.name: _slow(record.of(uuids[array.name], array.name), _bytes(array)) for array in _arrays(pool)}
    known = [rate for rate in rates.values() if rate is not None]
    if not known:
        return pace, None

    def seconds(one: MdArray) -> float:
        return _bytes(one) / (rates[one.name] or pace.least_kib * KIB)

    total = sum(max(map(seconds, group)) for group in side_by_side(_arrays(pool)))
    days = days_of(total, policy)
    if days is None or days <= DAYS[policy.every]:
        return pace, None
    slowest = min(known)
    todo = remedy(int(total * slowest), policy.model_copy(update={"rate_kib": None}), int(slowest / KIB))
    late = pace.model_copy(update={"windows": windows_of(total, policy), "days": days, "kept": False, "todo": todo})
    sentence = in_words(late.model_copy(update={"least_kib": int(slowest / KIB)}), policy)
    return late, f"{sentence} It was granted {size(pace.least_kib * KIB)}/s. {todo}."


def _slow(kept: ArrayScrub, member: int) -> float | None:
    """Bytes/s of each drive that a check read, where that is less than it was granted; None where it is not."""
    begun, last = kept.under_way, kept.last
    if begun is not None and begun.seconds >= SEEN:
        rate, floor = begun.sector * SECTOR / begun.seconds, begun.floor_kib
    elif last is not None and last.seconds >= SEEN:
        rate, floor = member / last.seconds, last.floor_kib
    else:
        return None
    return rate if rate and floor is not None and rate < SLOW * floor * KIB else None


def _arrays(pool: Pool) -> list[MdArray]:
    return [one.array for one in pool.arrays]


def _bytes(one: MdArray) -> int:
    """Of each member; 0 where the array does not run."""
    device = array_device(one.name)
    return resync.sectors(device) * SECTOR if device else 0


def _limit() -> int:
    known = recorded()
    if known is None:
        return NOT_KNOWN_KIB
    basis = known.settings.basis
    return limit(known.settings.md, basis.link if basis else 0)
