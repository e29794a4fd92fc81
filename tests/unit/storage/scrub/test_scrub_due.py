# SPDX-License-Identifier: Apache-2.0
"""A check of a year to come counts as none: it is due now, ends once, and leaves nothing of that year."""

from datetime import timedelta

import pytest

from millrace.storage.record.scrub_record import (
    ArrayScrub,
    FileSearch,
    Round,
    Scrubbed,
    ScrubRecord,
    ScrubStop,
    UnderWay,
    change,
    load,
)
from millrace.storage.scrub import scrub_due
from tests.unit.storage.scrub.conftest import SUNDAY
from tests.unit.storage.scrub.md_check import Md
from tests.unit.storage.scrub.test_scrub import POLICY, carry_on, of, pool

IN_2069 = "2069-01-06T01:05:00+00:00"
IN_1970 = "1970-01-04T01:05:00+00:00"


def checked(at: str, *names: str) -> None:
    """The arrays of these names were checked at that time, or all."""
    last = Scrubbed(started=at, ended=at, bytes=1, seconds=1, mismatches=0, bad_areas=0)
    arrays = [ArrayScrub(array=one.array.name, uuid=one.uuid, last=last, clean=at) for one in pool().arrays]
    for one in arrays:
        if not names or one.array in names:
            change(lambda old, one=one: old.having(one))  # type: ignore[misc]


@pytest.mark.parametrize("at", [IN_2069, IN_1970])
@pytest.mark.parametrize("wrong", [(), ("data",), ("log",)])
def test_check_of_a_wrong_clock_is_due_now_and_once(md: Md, at: str, wrong: tuple[str, ...]) -> None:
    checked((SUNDAY - timedelta(days=7)).isoformat())
    assert not scrub_due.is_due(POLICY, pool(), load(), md.now)
    checked(at, *wrong)
    assert scrub_due.is_due(POLICY, pool(), load(), md.now)
    assert scrub_due.next_window(POLICY, pool(), load(), md.now - timedelta(days=2)) is not None
    assert carry_on(md).round is None
    assert {of(name).last.started[:4] for name in ("log", "data") if of(name).last} == {"2026"}  # type: ignore[union-attr]
    assert not scrub_due.is_due(POLICY, pool(), load(), md.now)
    assert not scrub_due.is_due(POLICY, pool(), load(), md.now + timedelta(days=7))


def test_round_of_2069_goes_on_as_one_of_now_and_ends(md: Md) -> None:
    data = next(array for array in pool().arrays if array.array.name == "data")
    begun = UnderWay(started=IN_2069, sector=3000, sectors=20_000, seconds=5, mismatches=0)
    checked(IN_2069, "log")
    change(
        lambda old: old.having(ArrayScrub(array="data", uuid=data.uuid, under_way=begun)).model_copy(
            update={
                "round": Round(started=IN_2069, by="policy"),
                "stopped": ScrubStop(at=IN_2069, by="administrator", reason="an administrator stopped it"),
                "files": FileSearch(at=IN_2069, count=0, names=[], complete=True),
            }
        )
    )
    assert scrub_due.is_due(POLICY, pool(), load(), md.now)
    record = carry_on(md)
    assert (record.round, record.files) == (None, None)
    assert "2069" not in load().model_dump_json()


def test_nothing_of_the_past_is_mended(md: Md) -> None:
    checked((SUNDAY - timedelta(days=70)).isoformat())
    record = load().model_copy(update={"round": Round(started=SUNDAY.isoformat(), by="policy")})
    assert scrub_due.mended(record, md.now) == record
    assert scrub_due.mended(ScrubRecord(), md.now) == ScrubRecord()


@pytest.mark.parametrize("days", [1, -15_000, 15_000])
def test_jump_out_of_the_window_ends_the_check(md: Md, days: int) -> None:
    def jump() -> None:
        md.during = lambda: None
        # Monday, in a year before or after
        md.now += timedelta(days=days // 7 * 7 + 1)

    md.during = jump
    record = carry_on(md)
    assert record.stopped is not None and record.stopped.by == "window"
