# SPDX-License-Identifier: Apache-2.0
"""The last trim, the one that waits or runs, and when the next one begins."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from millrace.plan.policy.model import MdPolicy, Policy
from millrace.storage.record.model import Pool
from millrace.storage.trim import trim
from millrace.storage.trim.trim_record import change
from millrace.storage.trim.trim_status import lines, status
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from tests.fakes.files.running import server
from tests.unit.storage.trim.conftest import SUNDAY
from tests.unit.storage.trim.trimmed import Kernel, trimmed


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    with server(tmp_path) as box:
        box.provision()
        write_model(paths.pool_file(), trimmed(pool()))
        yield Kernel(box, SUNDAY - timedelta(days=2))


def pool() -> Pool:
    return read_model(paths.pool_file(), Pool)


def said(kernel: Kernel, policy: Policy | None = None) -> list[str]:
    return list(lines(status(pool(), policy or Policy(), kernel.run, kernel.now)))


def run_in_the_window(kernel: Kernel) -> None:
    kernel.now = SUNDAY
    trim.carry_on(pool(), Policy(), kernel.context())


def test_new_pool_is_trimmed_in_the_next_window(kernel: Kernel) -> None:
    assert said(kernel) == [
        "policy: once a week, Sun 01:00-07:00, 25 % of the time at most; next: 2026-11-22 01:00 UTC",
        "free space: never trimmed",
    ]


def test_result_is_shown_and_the_next_trim_is_a_week_later(kernel: Kernel) -> None:
    run_in_the_window(kernel)
    first, second = said(kernel)
    assert first.endswith("next: 2026-11-29 01:00 UTC")
    assert second == ("free space: last trimmed 2026-11-22 01:06 UTC, 107 GB (26.7 s of FITRIM, longest slice 1 s)")


def test_trim_that_waits_shows_where_and_why(kernel: Kernel) -> None:
    kernel.asked = True
    run_in_the_window(kernel)
    assert said(kernel)[1:] == [
        "free space: never trimmed; a trim of 2026-11-22 01:05 UTC waits at 1 %",
        "stopped 2026-11-22 01:05 UTC: the service was stopped",
    ]


def test_trim_that_runs_shows_how_far_it_is(kernel: Kernel) -> None:
    kernel.asked = True
    run_in_the_window(kernel)
    kernel.active.add("millrace-trim.service")
    # the timer has started the unit, which looks whether anything is due
    assert said(kernel)[1].endswith("waits at 1 %")
    change(pool().filesystem_uuid, lambda old: old.model_copy(update={"stopped": None}))
    assert said(kernel)[1:] == ["free space: never trimmed; trim is running, 1 % done"]


def test_trim_that_the_policy_ended_shows_why_and_does_not_wait(kernel: Kernel) -> None:
    kernel.asked = True
    run_in_the_window(kernel)
    never = Policy(md=MdPolicy(discard="never"))
    kernel.now = SUNDAY + timedelta(hours=12)
    trim.carry_on(pool(), never, kernel.context())
    assert said(kernel, never) == [
        'free space is not trimmed: the policy has discard = "never" in [md]',
        "free space: never trimmed",
        'ended 2026-11-22 13:05 UTC: the policy has discard = "never" in [md]',
    ]


def test_trim_that_could_not_begin_shows_why(kernel: Kernel) -> None:
    kernel.box.md("log", degraded="1")
    run_in_the_window(kernel)
    assert said(kernel)[2:] == ["not started 2026-11-22 01:05 UTC: array log is degraded"]


@pytest.mark.parametrize(
    ("discard", "policy", "reason"),
    [
        (None, None, "the pool was created before that was planned"),
        (False, None, "the plan keeps discards from the drives; see `millrace plan --explain discard`"),
        (True, Policy(md=MdPolicy(discard="never")), 'the policy has discard = "never" in [md]'),
    ],
)
def test_pool_that_is_never_trimmed_shows_why(
    kernel: Kernel, discard: bool | None, policy: Policy | None, reason: str
) -> None:
    filesystem = pool().filesystem.model_copy(update={"discard": discard})
    write_model(paths.pool_file(), pool().model_copy(update={"filesystem": filesystem}))
    assert said(kernel, policy)[0] == f"free space is not trimmed: {reason}"
    assert status(pool(), policy or Policy(), kernel.run, SUNDAY).next is None


def test_drive_without_the_guarantee_is_named(kernel: Kernel) -> None:
    first, *others = pool().drives
    drives = [first.model_copy(update={"discard": False}), *others]
    write_model(paths.pool_file(), pool().model_copy(update={"drives": drives}))
    expected = f"free space is not trimmed: {first.serial} may not read as zeroes after a discard"
    assert said(kernel)[0] == expected
