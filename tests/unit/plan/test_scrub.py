# SPDX-License-Identifier: Apache-2.0
"""Checks keep the period of the policy at the planned rate, or the plan states in how many days they come round."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from millrace.plan.model import Decision, MdArray, Plan, Role
from millrace.plan.policy.model import LayoutPolicy, LogPolicy, MdPolicy, Policy, ScrubPolicy
from millrace.plan.policy.window import parse_window
from millrace.plan.propose import propose
from millrace.plan.scrub import DAYS, CheckPace, check_pace, days_of, remedy, side_by_side, windows_of
from tests.unit.plan.servers import GIB, drive, server
from tests.unit.plan.shapes import equal

TB = 10**12
HUGE = 61_440 * 10**9
FAST = 4_000_000
# A Sunday, before all windows.
BEGIN = datetime(2026, 11, 22, tzinfo=UTC)
repeatable = settings(derandomize=True, database=None, deadline=None, max_examples=150)
TICK, ACCURACY, USED = timedelta(minutes=15), timedelta(minutes=1), 0.9


@some.composite
def windows(draw: some.DrawFn) -> str:
    day = draw(some.sampled_from(["Sun", "Wed", "daily"]))
    opens, length = draw(some.integers(0, 95)), draw(some.sampled_from([1, 2, 4, 8, 24, 48, 95, 96]))
    begin, end = (f"{at % 96 // 4:02d}:{at % 4 * 15:02d}" for at in (opens, opens + length))
    return f"{day} {begin}-{end}"


policies = some.builds(
    ScrubPolicy,
    window=windows(),
    every=some.sampled_from(["week", "month", "quarter"]),
    rate_kib=some.sampled_from([None, None, 1000, 50_000, 200_000, 10_000_000]),
)


def comes_round(read: int, kib: int, window: str, every: str) -> int | None:
    """Days between the beginnings of two checks, window by window; None where more than ten years pass."""
    parsed, at, begun, left = parse_window(window), BEGIN, None, read
    while at < BEGIN + timedelta(days=3660):
        opened = parsed.next_opening(at)
        span = parsed.open_at(opened)
        assert span is not None
        at = opened
        if begun is None:
            begun = opened
        elif left <= 0 and opened - begun >= timedelta(days=DAYS[every]):
            return (opened - begun).days
        first = opened
        while first.minute % 15:
            first += timedelta(minutes=1)
        left -= int(max(0.0, (span[1] - first - ACCURACY).total_seconds()) * USED) * kib * 1024
    return None


def planned(drives: int, size: int, policy: Policy, **more: object) -> Plan:
    made = propose(server([drive(number, size, **more) for number in range(drives)]), policy)
    assert isinstance(made, Plan)
    return made


def rate(plan: Plan) -> Decision:
    return next(one for one in plan.decisions if one.name == "scrub.rate")


def rates(plan: Plan) -> tuple[int, int]:
    value = rate(plan).value
    assert isinstance(value, dict)
    return int(str(value["least_kib"])), int(str(value["most_kib"]))


def size_of(plan: Plan, role: Role) -> int:
    return max((part.size for one in plan.drives for part in one.partitions if part.role is role), default=0)


def read_of(plan: Plan) -> int:
    """Legs are read side by side, the log before them."""
    log = size_of(plan, Role.LOG) if any(one.role is Role.LOG for one in plan.arrays) else 0
    return log + size_of(plan, Role.DATA)


@repeatable
@given(
    some.integers(2, 24),
    some.integers(GIB, HUGE),
    policies,
    some.sampled_from([None, "single", "double"]),
    some.sampled_from([None, "partition"]),
    some.sampled_from([None, 1000, 2_000_000]),
)
def test_period_is_kept_or_the_plan_states_the_true_one(
    drives: int, size: int, scrub: ScrubPolicy, resilience: str | None, log: str | None, limit: int | None
) -> None:
    policy = Policy(
        scrub=scrub,
        layout=LayoutPolicy.model_validate({"resilience": resilience} if drives > 7 else {}),
        log=LogPolicy.model_validate({"mode": log}),
        md=MdPolicy(sync_speed_max_kib=limit),
    )
    plan = planned(drives, size, policy)
    least, most = rates(plan)
    assert 1000 <= least <= (scrub.rate_kib or plan.md.sync_speed_max) and least <= most
    days = comes_round(read_of(plan), least, scrub.window, scrub.every)
    stated = [warning for warning in plan.warnings if warning.startswith("Arrays are ")]
    if not stated:
        assert days == DAYS[scrub.every]
        assert "To end within the" in rate(plan).reason
        return
    assert days is None or days > DAYS[scrub.every]
    match = re.match(r"Arrays are checked once in (\d+) (weeks|days), not every", stated[0])
    if match is None:
        assert stated[0].startswith("Arrays are never checked: the window") and days is None
    elif days is not None:
        assert int(match[1]) * (7 if match[2] == "weeks" else 1) == days
    assert match is None or match[0] in rate(plan).reason


@repeatable
@given(some.integers(GIB, HUGE), policies)
def test_each_change_that_is_offered_keeps_the_period(read: int, policy: ScrubPolicy) -> None:
    pace = check_pace(read, policy, FAST)
    if pace.kept:
        assert pace.todo is None
        return
    todo = pace.todo or ""
    offered = re.findall(r"scrub\.(\w+) = (\"[^\"]+\"|\d+)", todo)
    assert offered or todo.startswith("No one key of the policy is enough")
    for key, value in offered:
        changed = ScrubPolicy.model_validate(
            {**policy.model_dump(), key: int(value) if value.isdecimal() else value.strip('"')}
        )
        assert check_pace(read, changed, FAST).kept, (key, value)


def test_24_drives_of_61_tb_are_checked_every_month_by_default() -> None:
    plan = planned(24, HUGE, Policy())
    least, most = rates(plan)
    assert 770_000 < least == most < 780_000
    assert "checked once in" not in " ".join(plan.warnings)
    assert "4 arrays at the same time" in rate(plan).reason and "5 % of its link" in rate(plan).reason
    assert comes_round(read_of(plan), least, "Sun 01:00-07:00", "month") == 28


@pytest.mark.parametrize(
    ("size", "shown"), [(7.68, "99 MB/s"), (15.36, "198 MB/s"), (30.72, "396 MB/s"), (61.44, "792")]
)
def test_rates_of_the_manual(size: float, shown: str) -> None:
    assert f"at least {shown}" in rate(planned(12, int(size * TB), Policy())).reason


def test_limit_of_the_policy_that_is_too_low_is_a_warning_with_what_to_change() -> None:
    plan = planned(24, HUGE, Policy(scrub=ScrubPolicy(rate_kib=200_000)))
    [said] = [one for one in plan.warnings if one.startswith("Arrays are ")]
    assert said.startswith(
        "Arrays are checked once in 16 weeks, not every month: at 205 MB/s of each drive a check takes"
    )
    assert "scrub.rate_kib = 773" in said and 'scrub.window = "Sun 01:00-01:00"' in said
    assert 'scrub.window = "daily 01:00-07:00"' in said and "scrub.every" not in said
    assert "policy file: scrub.rate_kib" in rate(plan).source


def test_link_of_the_slowest_drive_limits_the_rate() -> None:
    pace = check_pace(HUGE, ScrubPolicy(window="Sun 01:00-02:00"), 1_000_000)
    assert (pace.kept, pace.least_kib) == (False, 1_000_000)


def test_window_that_ends_before_a_check_begins_checks_nothing() -> None:
    pace = check_pace(TB, ScrubPolicy(window="Sun 01:05-01:15"), FAST)
    assert (pace.kept, pace.windows, pace.days, pace.least_kib) == (False, None, None, 1000)
    assert windows_of(10, ScrubPolicy(window="Sun 01:05-01:15")) is days_of(10, ScrubPolicy(window="Sun 01:05-01:15"))


def test_checks_by_hand_have_no_period() -> None:
    assert check_pace(HUGE, ScrubPolicy(every="never"), FAST) == CheckPace(least_kib=1000, most_kib=200_000)
    plan = planned(24, HUGE, Policy(scrub=ScrubPolicy(every="never")))
    assert "it is started by hand only" in rate(plan).reason


def test_pool_without_redundancy_has_nothing_to_check() -> None:
    made = propose(server(equal(1)), Policy())
    assert isinstance(made, Plan) and "scrub.rate" not in [one.name for one in made.decisions]


def test_nothing_is_offered_that_is_not_enough() -> None:
    policy = ScrubPolicy(window="daily 00:00-00:00", every="quarter", rate_kib=1000)
    assert remedy(HUGE, policy, 1001).startswith("No one key of the policy is enough")


def test_arrays_that_share_a_drive_are_not_read_at_the_same_time() -> None:
    def array(name: str, members: list[str], role: Role = Role.DATA) -> MdArray:
        return MdArray(
            name=name,
            level="raid5",
            members=members,
            over_arrays=False,
            role=role,
            chunk=None,
            data_members=1,
            bitmap="none",
            bitmap_chunk=None,
        )

    groups = side_by_side(
        [
            array("leg0", ["a", "b"]),
            array("leg1", ["c", "d"]),
            array("odd", ["d", "e"]),
            array("log", ["x"] * 2, Role.LOG),
        ]
    )
    assert [[raid.name for raid in group] for group in groups] == [["log"], ["leg0", "leg1"], ["odd"]]
