# SPDX-License-Identifier: Apache-2.0
"""How fast arrays are checked, so that a check of all of them fits into the windows of its period. Pure.

md lets clients go first while a check is faster than sync_speed_min, and never exceeds sync_speed_max: the least rate
is what the period needs, also beside clients that keep the drives busy.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

from millrace.plan import sources
from millrace.plan.model import Decision, MdArray, MdSettings, Role
from millrace.plan.policy.model import ScrubPolicy
from millrace.plan.policy.window import Window, parse_window
from millrace.plan.sizes import clamp
from millrace.system.documents import Contract
from millrace.system.text import KIB, size

# A month is four windows of a week, so that a check begins at the same hour of the same day.
DAYS = {"week": 7, "month": 28, "quarter": 84}
LONGER = {"week": ("month", "quarter"), "month": ("quarter",), "quarter": ()}
ALONE_KIB = 200_000
"""What a check may read of each drive where the period needs less: the kernel's default limit."""

FLOOR_KIB = 1000
"""What md grants a check beside clients by default, in KiB/s of each drive."""

_TIMER = 15
"""Minutes between two starts of millrace-upkeep@scrub.timer, which is accurate to a minute."""

_USED = 0.9
"""Of a window: the rest is for positions that are read again, a stop by something else, and a change of the clock."""


class CheckPace(Contract):
    """How fast checks read, and how long all of them take. Rates in KiB/s of each drive.

    A check gets `least_kib` also beside busy clients, and reads `most_kib` at most. All arrays are checked in
    `windows` of the policy's windows, once in `days`; null for a policy without a period, or where a window ends before
    a check begins. `kept` is whether that is the period of the policy, and `todo` what would keep it otherwise.
    """

    least_kib: int
    most_kib: int
    windows: int | None = None
    days: int | None = None
    kept: bool = True
    todo: str | None = None


def comparable(arrays: Sequence[MdArray]) -> list[MdArray]:
    """Return the arrays that a check can compare, the log first; a raid0 has nothing to compare."""
    redundant = [one for one in arrays if one.level != "raid0" and len(one.members) > 1]
    return sorted(redundant, key=lambda one: one.role is not Role.LOG)


def side_by_side(arrays: Sequence[MdArray]) -> list[list[MdArray]]:
    """Return the arrays to compare in groups: those of one group share no drive and are read at the same time.

    The log is small and alone: it may share drives with the data, which md would not read at the same time.
    """
    groups: list[list[MdArray]] = []
    for array in comparable(arrays):
        last = groups[-1] if groups else []
        drives = {member for other in last for member in other.members}
        if not last or last[0].role is not array.role or drives & set(array.members):
            groups.append([array])
        else:
            last.append(array)
    return groups


def read_of_each_drive(arrays: Sequence[MdArray], bytes_of: Callable[[MdArray], int]) -> int:
    """Return the bytes that all groups read of a drive; `bytes_of` those of one member of an array."""
    return sum(max(map(bytes_of, group)) for group in side_by_side(arrays))


def check_pace(read: int, policy: ScrubPolicy, limit_kib: int) -> CheckPace:
    """Return the pace of checks that read so many bytes of each drive; `limit_kib` is that of a rebuild."""
    top = policy.rate_kib or limit_kib
    if policy.every == "never":
        return CheckPace(least_kib=FLOOR_KIB, most_kib=policy.rate_kib or min(ALONE_KIB, top))
    needed = _needed(read, policy)
    kept = needed is not None and needed <= top
    least = clamp(needed or FLOOR_KIB, FLOOR_KIB, top)
    windows = windows_of(read / (KIB * least), policy)
    return CheckPace(
        least_kib=least,
        most_kib=policy.rate_kib or max(least, min(ALONE_KIB, top)),
        windows=windows,
        days=DAYS[policy.every] if kept else windows and _days(windows, policy),
        kept=kept,
        todo=None if kept else remedy(read, policy, limit_kib),
    )


def windows_of(seconds: float, policy: ScrubPolicy) -> int | None:
    """Return how many windows so many seconds of reading take; None where a window ends before a check begins."""
    usable = _usable(parse_window(policy.window))
    return max(1, -(-int(seconds) // usable)) if usable else None


def days_of(seconds: float, policy: ScrubPolicy) -> int | None:
    """Return in how many days so many seconds of reading come round; None where they never do."""
    windows = windows_of(seconds, policy)
    if windows is None or policy.every == "never":
        return None
    return max(_days(windows, policy), DAYS[policy.every])


def remedy(read: int, policy: ScrubPolicy, limit_kib: int) -> str:
    """Return which one change of the policy lets checks keep their period: each that is enough, else that none is."""
    remedies = list(_remedies(read, policy, limit_kib))
    return (
        f"Change the policy: {' or '.join(remedies)}"
        if remedies
        else (
            "No one key of the policy is enough: choose a daily window that is longer, and a longer period "
            "(scrub.window, scrub.every)"
        )
    )


def plan_scrub(
    arrays: Sequence[MdArray], bytes_of: Callable[[MdArray], int], md: MdSettings, link: int, policy: ScrubPolicy
) -> tuple[list[Decision], list[str]]:
    """Return the decision about checks, and a warning where they cannot keep their period; nothing without redundancy.

    `link` is what that of the slowest drive carries, in KB/s, 0 where that is not known.
    """
    groups = side_by_side(arrays)
    if not groups:
        return [], []
    read = read_of_each_drive(arrays, bytes_of)
    pace = check_pace(read, policy, limit(md, link))
    drives = max(sum(len(array.members) for array in group) for group in groups)
    reason = (
        f"{_why(read, groups, policy, pace)} Alone it reads {_rate(pace.most_kib)} at most. {_cost(pace, drives, link)}"
    )
    by_hand = f"; {sources.POLICY}: scrub.rate_kib" if policy.rate_kib else ""
    decision = Decision(
        name="scrub.rate",
        value={"least_kib": pace.least_kib, "most_kib": pace.most_kib},
        reason=reason,
        source=f"{sources.MD_CHECK}{by_hand}",
    )
    late = [] if pace.kept else [f"{in_words(pace, policy)} {pace.todo}."]
    return [decision], late


def limit(md: MdSettings, link: int) -> int:
    """Return what a check may read of each drive at most, in KiB/s: what a rebuild may, and what its link carries."""
    return min(md.sync_speed_max, link * 1000 // KIB) if link else md.sync_speed_max


def in_words(pace: CheckPace, policy: ScrubPolicy) -> str:
    """Return why checks do not keep their period."""
    if pace.windows is None or pace.days is None:
        return f"Arrays are never checked: the window {policy.window} is shorter than a check takes to begin."
    return (
        f"Arrays are checked once in {_weeks(pace.days)}, not every {policy.every}: at {_rate(pace.least_kib)} of each "
        f"drive a check takes {pace.windows} windows of {policy.window}."
    )


def _why(read: int, groups: Sequence[Sequence[MdArray]], policy: ScrubPolicy, pace: CheckPace) -> str:
    beside = f", {len(groups[-1])} arrays at the same time" if len(groups[-1]) > 1 else ""
    what = f"A check reads {size(read)} of each drive{beside}"
    rate = f"{_rate(pace.least_kib)} of each drive"
    if policy.every == "never":
        return f"{what}; it is started by hand only, and beside clients it gets at least {rate}."
    if not pace.kept:
        return f"{what}. {in_words(pace, policy)}"
    number = _allowed(policy)
    windows = f"{number} windows of a {policy.every}" if number > 1 else f"window of a {policy.every}"
    return f"{what}. To end within the {windows} ({policy.window}) it gets at least {rate}, also beside clients."


def _cost(pace: CheckPace, drives: int, link: int) -> str:
    share = f", {100 * pace.least_kib * KIB / (link * 1000):.2g} % of its link" if link else ""
    return (
        f"In the window busy clients lose {_rate(pace.least_kib)} of each drive{share}, and "
        f"{_rate(pace.least_kib * drives)} of all {drives} drives. How much CPU time the comparison of parity takes is "
        "not measured."
    )


def _remedies(read: int, policy: ScrubPolicy, limit_kib: int) -> Iterator[str]:
    """The smallest change of each key that is enough."""

    def enough(**changed: object) -> bool:
        other = policy.model_copy(update=changed)
        needed = _needed(read, other)
        return needed is not None and needed <= (other.rate_kib or limit_kib)

    if policy.rate_kib and policy.rate_kib < limit_kib and enough(rate_kib=None):
        yield f"scrub.rate_kib = {_needed(read, policy)} (or more)"
    days, times = policy.window.split(" ")
    opens = times.partition("-")[0]
    hours = parse_window(policy.window).length / timedelta(hours=1)
    for longer in range(int(hours) + 1, 25):
        closes = f"{(int(opens[:2]) + longer) % 24:02d}{opens[2:]}"
        if enough(window=f"{days} {opens}-{closes}"):
            yield f'scrub.window = "{days} {opens}-{closes}"'
            break
    if days != "daily" and enough(window=f"daily {times}"):
        yield f'scrub.window = "daily {times}"'
    for every in LONGER.get(policy.every, ()):
        if enough(every=every):
            yield f'scrub.every = "{every}"'
            break


def _needed(read: int, policy: ScrubPolicy) -> int | None:
    """KiB/s at which a check ends within its period; None where no window is long enough to begin."""
    usable = _usable(parse_window(policy.window))
    return -(-read // (KIB * usable * _allowed(policy))) if usable else None


def _allowed(policy: ScrubPolicy) -> int:
    """How many windows a period has."""
    return len(parse_window(policy.window).days) * DAYS[policy.every] // 7


def _days(windows: int, policy: ScrubPolicy) -> int:
    return -(-7 * windows // len(parse_window(policy.window).days))


def _usable(window: Window) -> int:
    """Seconds of a window in which a check reads."""
    begins = timedelta(minutes=-window.opens.minute % _TIMER + 1)
    return max(0, int((window.length - begins).total_seconds() * _USED))


def _weeks(days: int) -> str:
    return f"{days // 7} weeks" if days % 7 == 0 and days > 7 else f"{days} days"


def _rate(kib: int) -> str:
    return f"{size(kib * KIB)}/s"
