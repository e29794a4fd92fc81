# SPDX-License-Identifier: Apache-2.0
"""Result and age of every check, and when the next one begins."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from millrace.plan.policy.model import ScrubPolicy
from millrace.storage.record.model import Pool
from millrace.storage.record.scrub_record import (
    Repair,
    Repaired,
    RetiredRows,
    Round,
    ScrubRecord,
    ScrubStop,
    UnderWay,
    change,
    load,
)
from millrace.storage.scrub.scrub_status import lines, status
from millrace.system import paths
from millrace.system.documents import read_model
from millrace.system.text import moment
from tests.fakes.files.box import Box
from tests.fakes.files.running import server

# A Friday.
NOW = datetime.fromisoformat("2026-11-20T12:00:00+00:00")
STOPPED_AT = "2026-11-20T11:00:00+00:00"


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with server(tmp_path) as made:
        made.provision()
        yield made


def said(policy: ScrubPolicy | None = None) -> list[str]:
    return list(lines(status(read_model(paths.pool_file(), Pool), policy or ScrubPolicy(), NOW)))


def under_way(sector: int) -> None:
    """The check of the data has come so far, of 1000 sectors."""
    [data] = [one for one in read_model(paths.pool_file(), Pool).arrays if one.array.name == "data"]
    begun = UnderWay(started=STOPPED_AT, sector=sector, sectors=1000, seconds=60, mismatches=0)
    kept = load().of(data.uuid, "data").model_copy(update={"under_way": begun})
    change(lambda old: old.having(kept).model_copy(update={"round": Round(started=STOPPED_AT, by="policy")}))


def test_new_pool_is_checked_in_the_next_window(box: Box) -> None:
    assert said() == [
        "policy: every month, Sun 01:00-07:00, 1.02 MB/s of each drive beside clients, 205 MB/s at most; "
        "next: 2026-11-22 01:00 UTC",
        "array log: never checked",
        "array data: never checked",
    ]


def test_result_is_shown_and_the_next_check_is_four_windows_later(box: Box) -> None:
    box.scrub()
    first, log, data, wrong, doubt = said()
    assert first.endswith("next: 2026-12-13 01:00 UTC")
    assert log.endswith("8.59 GB read, 0 sectors do not match")
    assert data == "array data: last checked 2026-11-15 06:58 UTC, 76.8 TB read, 16 sectors do not match"
    assert re.fullmatch(r"  16 sectors of data are wrong on bay \d+ \(\w+\)", wrong)
    assert doubt == "  in doubt: data/corpus/shard-0007.tar, data/models/seven.safetensors"


def test_repair_and_its_result_are_shown(box: Box) -> None:
    box.scrub()
    [data] = [record for record in load().arrays if record.array == "data"]
    assert data.last is not None
    more = {"repair": Repair(asked=STOPPED_AT, ranges=data.last.ranges)}
    change(lambda old: old.having(data.model_copy(update=more)))
    assert said()[-1] == "  a repair is confirmed and not at its end"
    more = {"repaired": Repaired(ended=STOPPED_AT, rewritten=16, left=0)}
    change(lambda old: old.having(data.model_copy(update=more)))
    assert said()[-1] == f"  repaired {moment(STOPPED_AT)}: 16 sectors rewritten, 0 still do not match"
    change(lambda old: old.having(data.model_copy(update={"retired": [RetiredRows(begin=16, end=24)]})))
    assert said()[-1] == "  8 sectors of each member are lost and retired: no file uses them"
    box.md("data", sync_action="repair", sync_completed="250 / 1000")
    change(lambda old: old.having(data.model_copy(update={"repair": Repair(asked=STOPPED_AT, ranges=[])})))
    assert "repair is running, 25 % done" in "".join(said())


@pytest.mark.parametrize(("every", "days"), [("week", 7), ("month", 28), ("quarter", 84)])
def test_next_check_follows_the_policy(box: Box, every: str, days: int) -> None:
    box.scrub()
    found = status(read_model(paths.pool_file(), Pool), ScrubPolicy.model_validate({"every": every}), NOW)
    assert found.next is not None
    assert datetime.fromisoformat(found.next) == datetime.fromisoformat("2026-11-15T01:00+00:00") + timedelta(days)


def test_policy_that_never_checks_has_no_next_check(box: Box) -> None:
    assert (
        said(ScrubPolicy(every="never"))[0]
        == "policy: only by hand, 1.02 MB/s of each drive beside clients, 205 MB/s at most"
    )


def test_period_that_the_drives_are_too_large_for_is_shown_with_what_to_change(box: Box) -> None:
    box.md("data", component_size=str(60 * 10**12 // 1024))
    first, second, *_ = said()
    assert "774 MB/s of each drive; next:" in first and second.startswith("array log")
    first, second, *_ = said(ScrubPolicy(rate_kib=100_000))
    assert "102 MB/s of each drive; next:" in first
    assert second.startswith("Arrays are checked once in 31 weeks, not every month: at 102 MB/s of each drive")
    assert "Change the policy: scrub.rate_kib = 755620 (or more)" in second
    found = status(read_model(paths.pool_file(), Pool), ScrubPolicy(rate_kib=100_000), NOW)
    assert (found.pace.kept, found.pace.days, found.pace.windows) == (False, 31 * 7, 31)


def test_check_that_waits_shows_where_and_why(box: Box) -> None:
    under_way(250)
    stop = ScrubStop(at=STOPPED_AT, by="window", reason="its window has ended")
    change(lambda old: old.model_copy(update={"stopped": stop}))
    assert said()[2:] == [
        f"array data: never checked; a check of {moment(STOPPED_AT)} waits at 25 %",
        f"stopped {moment(STOPPED_AT)}: its window has ended",
    ]


def test_check_whose_round_has_ended_does_not_wait(box: Box) -> None:
    under_way(250)
    stop = ScrubStop(at=STOPPED_AT, by="administrator", reason="it is over")
    change(lambda old: old.model_copy(update={"round": None, "stopped": stop}))
    assert said()[2:] == [
        f"array data: never checked; a check of {moment(STOPPED_AT)} ended at 25 %",
        f"ended {moment(STOPPED_AT)}: it is over",
    ]


def test_check_that_runs_shows_its_rate(box: Box) -> None:
    under_way(250)
    box.md("data", sync_action="check", sync_completed="250 / 1000", sync_speed="50000")
    assert said()[2] == "array data: never checked; check is running, 25 % done, 51.2 MB/s, 1 min left"


def test_lost_areas_name_the_way_out_until_they_are_retired(box: Box) -> None:
    for number in (3, 4, 5):
        box.md("data", **{f"dev-nvme{number}n1p2/bad_blocks": "162 2", f"dev-nvme{number}n1p2/offset": "0"})
    found = status(read_model(paths.pool_file(), Pool), ScrubPolicy(), NOW)
    assert [(one.kept.array, one.lost) for one in found.arrays] == [("log", 0), ("data", 8)]
    assert said()[-1] == "  8 sectors of each member are lost; take them out of use: millrace pool scrub retire"
    [data] = [one for one in read_model(paths.pool_file(), Pool).arrays if one.array.name == "data"]
    kept = load().of(data.uuid, "data").model_copy(update={"retired": [RetiredRows(begin=160, end=168)]})
    change(lambda old: old.having(kept))
    assert said()[-1] == "  8 sectors of each member are lost and retired: no file uses them"


def test_bad_blocks_that_the_other_members_have_are_not_lost(box: Box) -> None:
    box.md("data", **{"dev-nvme3n1p2/bad_blocks": "162 2", "dev-nvme3n1p2/offset": "0"})
    assert not any("lost" in line for line in said())


def test_rebuild_is_no_check(box: Box) -> None:
    under_way(250)
    box.md("data", sync_action="recover", sync_completed="250 / 1000")
    assert "waits at 25 %" in said()[2]


def test_record_that_cannot_be_read_is_empty(box: Box) -> None:
    box.scrub()
    paths.scrub_file().write_text("{")
    assert load() == ScrubRecord()
