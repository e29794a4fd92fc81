# SPDX-License-Identifier: Apache-2.0
"""Where sectors do not match: what the kernel logs, what a check counts, what is read again."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from millrace.plan.policy.model import ScrubPolicy
from millrace.storage.array import resync
from millrace.storage.array.area import Area
from millrace.storage.record.model import Pool
from millrace.storage.record.scrub_record import MismatchRange
from millrace.storage.scrub import mismatch, scrub_due
from millrace.storage.scrub.mismatch import MOST, Windows, combined, narrowed
from millrace.storage.scrub.scrub_watch import ScrubWatch
from millrace.system import paths, sysfs
from millrace.system.documents import read_model
from tests.fakes.files.running import server
from tests.unit.storage.scrub.md_check import SECTORS, Md


@pytest.fixture
def md(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Md]:
    with server(tmp_path) as box:
        box.provision()
        made = Md(box, datetime.fromisoformat("2026-11-22T01:05:00+00:00"))
        monkeypatch.setattr(sysfs, "write", made.write)
        yield made


def watch(md: Md, name: str) -> ScrubWatch:
    pool = read_model(paths.pool_file(), Pool)
    [one] = [one for one in scrub_due.arrays(pool) if one.array.name == name]
    return ScrubWatch(pool, one, ScrubPolicy(rate_kib=50_000), None, md.around())


def of(begin: int, end: int, sectors: int) -> MismatchRange:
    return MismatchRange(begin=begin, end=end, sectors=sectors)


def test_count_lies_between_the_report_before_and_the_one_after() -> None:
    windows = Windows(0)
    assert not windows.saw(0, 0, 0)
    assert not windows.saw(1000, 0, 1000)
    assert windows.saw(1000, 8, 1000)
    assert windows.saw(1000, 16, 1000)
    assert not windows.saw(2000, 16, 2000)
    assert windows.ranges([], 9000) == [of(1000, 2000, 16)]


def test_report_that_comes_between_two_reads_widens_the_window() -> None:
    windows = Windows(0)
    windows.saw(1000, 8, 2000)
    windows.saw(2000, 8, 2000)
    windows.saw(3000, 8, 3000)
    assert windows.ranges([], 9000) == [of(0, 3000, 8)]


def test_window_without_a_later_report_ends_with_the_check() -> None:
    windows = Windows(5000)
    windows.saw(5000, 8, 5000)
    assert windows.ranges([], 9000) == [of(5000, 9000, 8)]


def test_places_that_are_known_make_the_window_needless() -> None:
    windows = Windows(0)
    windows.saw(0, 16, 0)
    assert windows.ranges([Area(8, 24)], 1000) == [of(8, 24, 16)]
    assert windows.ranges([Area(8, 16)], 1000) == [of(0, 1000, 16)]


def test_ranges_that_are_too_many_become_wider_and_none_is_lost() -> None:
    many = [of(100 * at, 100 * at + 8, 8) for at in range(MOST)] + [of(100 * MOST - 80, 100 * MOST - 72, 8)]
    found = combined(many)
    assert len(found) == MOST
    assert found[-1] == of(100 * MOST - 100, 100 * MOST - 72, 16)
    assert sum(one.sectors for one in found) == 8 * len(many)


@pytest.mark.parametrize("array", ["data", "log"])
def test_wide_range_is_read_again_until_the_place_is_known(md: Md, array: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mismatch, "SMALL", 8)
    place = 1208 if array == "log" else 9000
    md.bad[array] = [place]
    [found], stopped = narrowed(watch(md, array), [of(0, SECTORS[array], 8)])
    assert stopped is None
    assert found.begin <= place < found.end and found.end - found.begin <= (8 if array == "log" else 256)
    assert (md.get(array, "sync_action"), md.get(array, "sync_min"), md.get(array, "sync_max")) == ("idle", "0", "max")


def test_array_that_settles_after_a_check_is_waited_for(md: Md, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen in a booted server: idle again, md refuses the next check with EBUSY for a moment."""
    monkeypatch.setattr(mismatch, "SMALL", 800)
    md.bad["log"], md.settling = [1208], 2
    assert narrowed(watch(md, "log"), [of(0, SECTORS["log"], 8)]) == ([of(800, 1600, 8)], None)


def test_array_that_stays_busy_is_not_waited_for_without_an_end(md: Md, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mismatch, "SMALL", 800)
    monkeypatch.setattr(resync, "IDLE_BUSY_PAUSES", [0.01] * 3)
    md.bad["log"], md.settling = [1208], 1000
    with pytest.raises(OSError, match="busy"):
        narrowed(watch(md, "log"), [of(0, SECTORS["log"], 8)])


def test_range_that_cannot_be_divided_is_not_read_for_ever(md: Md, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mismatch, "SMALL", 256)
    md.bad["data"] = [5000]
    found, _ = narrowed(watch(md, "data"), [of(5000, 6000, 8)])
    assert found == [of(5000, 5376, 8)]
    assert len(md.begun) <= 4


def test_mismatch_that_is_gone_meanwhile_has_no_place(md: Md, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mismatch, "SMALL", 8)
    assert narrowed(watch(md, "log"), [of(0, SECTORS["log"], 8)]) == ([], None)


def test_search_that_is_stopped_keeps_what_was_not_read(md: Md, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mismatch, "SMALL", 8)
    md.benchmark = True
    found, stopped = narrowed(watch(md, "log"), [of(0, SECTORS["log"], 8), of(0, 8, 8)])
    assert stopped is not None and stopped.by == "benchmark"
    assert found == [of(0, SECTORS["log"], 8)]
    assert md.get("log", "sync_action") == "idle"


def test_what_is_exact_is_not_read_again(md: Md) -> None:
    assert narrowed(watch(md, "data"), [of(16, 24, 8)]) == ([of(16, 24, 8)], None)
    assert md.begun == []
