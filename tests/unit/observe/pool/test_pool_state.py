# SPDX-License-Identifier: Apache-2.0
"""The present pool: missing members with their bay, redundancy left, progress of a rebuild."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.observe.pool import pool_state
from millrace.observe.pool.model import PoolState
from millrace.storage.array.live_model import LiveArray, Member
from millrace.storage.record.model import Pool
from millrace.system import paths
from millrace.system.documents import read_model
from millrace.system.run import attempt
from tests.fakes.files.box import Box, serial
from tests.fakes.files.running import server
from tests.fakes.mounts import unmount_all
from tests.fakes.samples import add_external, external_pool


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with server(tmp_path) as made:
        made.provision()
        made.shares()
        yield made


def state() -> PoolState:
    return pool_state.state(read_model(paths.pool_file(), Pool), attempt)


def array(name: str) -> LiveArray:
    return next(one for one in state().arrays if one.name == name)


def member(number: int) -> Member:
    return next(one for one in array("data").members if one.serial == serial(number))


def test_a_pool_that_is_whole(box: Box) -> None:
    data = array("data")
    assert (data.state, data.degraded, data.may_fail, data.sync) == ("clean", 0, 2, None)
    assert [one.state for one in data.members] == ["in-sync"] * 10
    assert (member(2).bay, member(2).device, member(2).label) == ("3", "nvme2n1p2", "millrace-data-02")
    found = state().filesystem
    assert (found.mounted, found.read_only, found.log) == (True, False, "log")
    assert found.size is not None and found.used is not None and found.free is not None
    assert found.used + found.free == found.size


def test_a_drive_that_was_pulled_keeps_its_bay(box: Box) -> None:
    box.pull("data", 3)
    assert (array("data").degraded, array("data").may_fail) == (1, 1)
    assert (member(3).state, member(3).bay, member(3).device) == ("missing", "4", None)


def test_a_rebuild_says_how_far_and_how_long(box: Box) -> None:
    box.replace("data", 3, 12)
    sync = array("data").sync
    assert sync is not None and sync.seconds_left is not None
    assert (sync.action, sync.progress, sync.bytes_per_second) == ("rebuild", 0.25, 1_500_000 * 1024)
    assert sync.seconds_left == pytest.approx(0.75 * 7_681_501_126_656 / (1_500_000 * 1024))
    new = member(12)
    assert (new.state, new.planned, new.bay) == ("rebuilding", False, "4")
    rebuild = "rebuild at 25.0%, 1.54 GB/s, 1 h 3 min left"
    assert f"1 of 10 members missing, 1 more may fail, {rebuild}" in "\n".join(pool_state.lines(state()))


def test_a_check_that_waits_has_no_progress(box: Box) -> None:
    box.md("data", sync_action="check", sync_completed="delayed")
    sync = array("data").sync
    assert sync is not None
    assert (sync.action, sync.progress, sync.seconds_left) == ("check", None, None)


def test_a_check_that_stands_still_has_no_end(box: Box) -> None:
    box.md("data", sync_action="check", sync_completed="100 / 400", sync_speed="0")
    sync = array("data").sync
    assert sync is not None
    assert (sync.progress, sync.bytes_per_second, sync.seconds_left) == (0.25, None, None)


@pytest.mark.parametrize(
    ("words", "slot", "seen"),
    [("in_sync", "0", "in-sync"), ("spare", "none", "spare"), ("spare", "0", "rebuilding"), ("", "0", "unknown"),
     ("faulty,blocked", "0", "faulty"), ("in_sync,write_mostly", "0", "in-sync")],
)  # fmt: skip
def test_words_of_md_become_ours(box: Box, words: str, slot: str, seen: str) -> None:
    box.md("data", **{"dev-nvme0n1p2/state": words, "dev-nvme0n1p2/slot": slot})
    assert member(0).state == seen


def test_an_array_that_does_not_run_is_missing_and_nothing_is_guessed(box: Box) -> None:
    (box.root / "dev/md/millrace-log").unlink()
    log = array("log")
    assert (log.state, log.device, log.degraded, log.may_fail, log.size) == ("missing", None, None, None, None)
    assert {one.state for one in log.members} == {"missing"}


def test_a_file_system_that_is_not_mounted_has_no_size(box: Box) -> None:
    unmount_all(box.tree.root)
    found = state().filesystem
    assert (found.mounted, found.size, found.used, found.free) == (False, None, None, None)
    assert "not mounted" in pool_state.lines(state())[0]


def test_root_asks_what_the_shares_hold(box: Box) -> None:
    assert {one.name: one.used for one in state().shares} == {
        "data": 21_299_999_744,
        "models": 6_600_000_000_000,
        "imagenet": 1_200_000_000_000,
    }


def test_a_user_sees_what_root_saw_last(tmp_path: Path) -> None:
    with server(tmp_path, user=1001) as box:
        box.provision()
        assert [one.used for one in state().shares] == [None]
        assert "usage.json is missing" in " ".join(state().notes)
        box.shares()
        assert (state().shares[1].used, state().notes) == (6_600_000_000_000, [])


def test_a_pool_on_an_external_device_shows_it_instead_of_arrays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    (tmp_path / "proc/1").mkdir(parents=True)
    (tmp_path / "proc/1/mountinfo").write_text("")
    add_external(tmp_path, "vda1")
    monkeypatch.setattr(pool_state, "usage", lambda pool, run: ({}, []))
    shown = pool_state.state(external_pool("VOL", "VLOG"), attempt)
    assert (shown.arrays, [(backend.serial, backend.device) for backend in shown.backends]) == (
        [],
        [("VOL", "vda1"), ("VLOG", None)],
    )
    assert {"external device VOL (data): vda1", "external device VLOG (log): missing"} <= set(pool_state.lines(shown))


def test_plan_in_force_is_named_with_where_to_read_it(box: Box) -> None:
    said = pool_state.lines(state())
    [line] = [line for line in said if line.startswith("Plan in force: RAID6 of 10 drives")]
    assert line.endswith("settings and reasons: millrace plan")


def test_pool_whose_plan_cannot_be_read_is_shown_all_the_same(box: Box) -> None:
    paths.approved_plan_file().unlink()
    found = state()
    assert found.plan is None and len(found.arrays) == 2
    assert any("the plan of the pool cannot be shown" in note for note in found.notes)
