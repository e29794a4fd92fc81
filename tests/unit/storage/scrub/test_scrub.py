# SPDX-License-Identifier: Apache-2.0
"""Arrays are checked, legs side by side; what stops a check leaves where it was and the limits as before."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from millrace.plan.policy.model import ScrubPolicy
from millrace.storage.array import resync
from millrace.storage.assemble import unclean
from millrace.storage.record.change_journal import ChangeJournal
from millrace.storage.record.model import Pool
from millrace.storage.record.scrub_record import ArrayScrub, ScrubRecord, load
from millrace.storage.scrub import mismatch, scrub, scrub_due
from millrace.system import paths, sysfs
from millrace.system.documents import read_model
from millrace.system.errors import Failed, Refused
from millrace.system.run import Result
from tests.unit.storage.change.test_change_text import AT, plan
from tests.unit.storage.scrub.conftest import SUNDAY
from tests.unit.storage.scrub.md_check import SECTORS, STEP, Md

POLICY = ScrubPolicy(window="Sun 01:00-07:00", every="month", rate_kib=50_000)
MONDAY = SUNDAY + timedelta(days=1)


def pool() -> Pool:
    return read_model(paths.pool_file(), Pool)


def carry_on(md: Md) -> ScrubRecord:
    return scrub.carry_on(pool(), POLICY, md.around())


def kill_at_3000(md: Md) -> None:
    """Let the service be killed at that sector of the data; after SIGKILL nothing is put in order."""

    def killed() -> None:
        if md.get("data", "sync_completed").startswith("3000 "):
            raise KeyboardInterrupt

    md.during = killed
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(scrub, "settle", lambda pool: load())
        carry_on(md)


def of(name: str) -> ArrayScrub:
    return next(one for one in load().arrays if one.array == name)


def test_round_of_the_policy_checks_the_log_first_and_keeps_the_result(md: Md) -> None:
    record = carry_on(md)
    assert (record.round, record.stopped, md.order) == (None, None, ["log", "data"])
    last = of("data").last
    assert last is not None and of("data").under_way is None
    assert (last.bytes, last.mismatches, last.bad_areas) == (SECTORS["data"] * 512 * 10, 0, 0)
    assert last.seconds == 60 * SECTORS["data"] / STEP
    assert of("log").last is not None


def test_check_has_limits_of_its_own_and_those_of_before_are_restored(md: Md) -> None:
    carry_on(md)
    assert md.limits == [("1000", "50000")] * 2
    assert (md.get("data", "sync_speed_min"), md.get("data", "sync_speed_max")) == ("system", "4000000")


def test_limits_that_tune_has_changed_meanwhile_are_set_again(md: Md) -> None:
    seen: list[str] = []

    def tune() -> None:
        if md.get("data", "sync_action") == "check":
            seen.append(md.get("data", "sync_speed_max"))
            md.box.md("data", sync_speed_max="4000000 (local)")

    md.during = tune
    carry_on(md)
    assert len(seen) > 1 and set(seen) == {"50000"}
    assert md.get("data", "sync_speed_max") == "4000000"


def test_rate_that_the_period_needs_is_granted_beside_clients(md: Md) -> None:
    sectors = 40 * 10**12 // 512
    md.box.md("data", component_size=str(sectors // 2))
    every_month = ScrubPolicy(window="Sun 01:00-07:00", every="month")
    md.asked = True
    scrub.carry_on(pool(), every_month, md.around())
    least, most = md.limits[-1]
    assert least == most and 500_000 < int(least) < 510_000


def test_check_by_hand_takes_no_more_from_clients_than_before(md: Md) -> None:
    md.box.md("data", component_size=str(40 * 10**12 // 1024))
    md.now = MONDAY
    scrub.begin(pool(), md.run)
    md.asked = True
    scrub.carry_on(pool(), ScrubPolicy(), md.around())
    assert md.limits[-1][0] == "1000"


def test_nothing_runs_outside_of_the_window(md: Md) -> None:
    md.now = MONDAY
    assert carry_on(md) == ScrubRecord()
    assert md.begun == []


@pytest.mark.parametrize(("array", "checked"), [("data", True), ("other", False)])
def test_array_that_was_started_by_force_is_checked_in_the_next_window(md: Md, array: str, checked: bool) -> None:
    assert carry_on(md).round is None
    md.begun.clear()
    md.now = SUNDAY + timedelta(days=7)
    assert not scrub_due.is_due(POLICY, pool(), load(), md.now)
    record = next(array_record for array_record in pool().arrays if array_record.array.name == "data")
    forced = record.model_copy(update={"array": record.array.model_copy(update={"name": array})})
    unclean.add(forced, [1], None, (SUNDAY + timedelta(days=2)).isoformat())
    # who has read the list of files has not compared the members
    assert unclean.acknowledge().starts and unclean.pending() is None
    assert scrub_due.is_due(POLICY, pool(), load(), md.now) is checked
    carry_on(md)
    assert bool(md.begun) is checked
    assert not scrub_due.is_due(POLICY, pool(), load(), md.now + timedelta(days=7))


def test_start_by_a_clock_that_was_ahead_asks_for_no_check_again_and_again(md: Md) -> None:
    assert carry_on(md).round is None
    record = next(one for one in pool().arrays if one.array.name == "data")
    unclean.add(record, [1], None, "2099-01-01T00:00:00+00:00")
    assert not scrub_due.is_due(POLICY, pool(), load(), SUNDAY + timedelta(days=7))


def test_end_of_the_window_stops_and_the_next_window_goes_on_from_there(md: Md) -> None:
    md.bad["data"] = [100, 15_000]
    md.now = SUNDAY.replace(hour=6, minute=50)
    record = carry_on(md)
    assert record.stopped is not None and record.stopped.by == "window"
    begun = of("data").under_way
    assert begun is not None and 0 < begun.sector < SECTORS["data"]
    assert (begun.mismatches, begun.most, md.get("data", "sync_action")) == (8, None, "idle")
    assert md.get("data", "sync_speed_max") == "4000000"
    carry_on(md)
    assert len(md.begun) == 2
    md.now = SUNDAY + timedelta(days=7)
    assert carry_on(md).round is None
    assert md.begun[2] == ("data", begun.sector) and len(md.begun) == 3
    last = of("data").last
    assert last is not None and (last.mismatches, last.started) == (16, begun.started)


def test_check_by_hand_runs_outside_of_the_window_and_through_its_end(md: Md) -> None:
    md.now = MONDAY
    scrub.begin(pool(), md.run)
    assert carry_on(md).round is None
    assert md.order == ["log", "data"]


def test_check_by_hand_goes_on_outside_of_the_window_after_a_reboot(md: Md) -> None:
    md.now = MONDAY
    scrub.begin(pool(), md.run)
    md.asked = True
    record = carry_on(md)
    assert record.stopped is not None and record.stopped.by == "service"
    md.asked = False
    assert carry_on(md).round is None


def test_check_by_hand_that_was_in_the_way_waits_for_the_window(md: Md) -> None:
    md.now = MONDAY
    scrub.begin(pool(), md.run)
    md.benchmark = True
    carry_on(md)
    md.benchmark = False
    assert carry_on(md).stopped is not None and md.begun == []
    md.now = SUNDAY + timedelta(days=7)
    assert carry_on(md).round is None


def test_administrator_stops_and_the_window_of_now_does_not_go_on(md: Md) -> None:
    def stop_data() -> None:
        md.asked = md.get("data", "sync_action") == "check"

    md.during = stop_data
    record = carry_on(md)
    assert record.stopped is not None and record.stopped.by == "service"
    assert scrub.stop(pool()).stopped is not None
    md.asked, md.during = False, lambda: None
    begun = len(md.begun)
    carry_on(md)
    assert len(md.begun) == begun
    scrub.begin(pool(), md.run)
    assert carry_on(md).round is None
    assert md.begun[begun] == ("data", STEP)


def test_service_that_was_stopped_goes_on_in_the_same_window(md: Md) -> None:
    md.asked = True
    carry_on(md)
    md.asked = False
    assert carry_on(md).round is None


def test_check_that_a_killed_service_left_running_goes_on_from_there(md: Md) -> None:
    kill_at_3000(md)
    assert (md.get("data", "sync_action"), md.get("data", "sync_speed_max")) == ("check", "50000")
    md.during = lambda: None
    assert carry_on(md).round is None
    assert md.begun[-1] == ("data", 3000)
    assert md.get("data", "sync_speed_max") == "4000000"


def test_position_survives_a_power_cut(md: Md) -> None:
    def cut() -> None:
        if md.get("data", "sync_completed").startswith("4000 "):
            raise KeyboardInterrupt

    md.during = cut
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(scrub, "settle", lambda pool: load())
        carry_on(md)
    md.box.md("data", sync_action="idle", sync_min="0", sync_max="max", sync_completed="none")
    md.during = lambda: None
    carry_on(md)
    assert md.begun[-1] == ("data", 3000)


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ({"degraded": "1"}, "array data is degraded"),
        ({"sync_action": "recover"}, "array data is busy: md reports recover"),
    ],
)
def test_array_that_is_degraded_or_busy_keeps_all_from_being_checked(
    md: Md, state: dict[str, str], reason: str
) -> None:
    md.box.md("data", **state)
    record = carry_on(md)
    assert md.begun == [] and record.stopped is not None
    assert (record.stopped.by, record.stopped.reason) == ("array", reason)
    with pytest.raises(Refused, match=reason):
        scrub.begin(pool(), md.run)


def test_array_that_does_not_run_keeps_all_from_being_checked(md: Md) -> None:
    (md.box.root / "dev/md/millrace-data").unlink()
    with pytest.raises(Refused, match="array data is not running"):
        scrub.begin(pool(), md.run)


def test_benchmark_keeps_all_from_being_checked(md: Md) -> None:
    md.benchmark = True
    with pytest.raises(Refused, match="a benchmark is running"):
        scrub.begin(pool(), md.run)


def test_check_goes_on_where_systemd_reports_nothing(md: Md) -> None:
    def run(argv: Sequence[str], stdin: str | None = None) -> Result:
        return Result(124, "", "") if "show" in argv else md.run(argv, stdin)

    assert scrub.carry_on(pool(), POLICY, replace(md.around(), run=run)).round is None
    assert md.order == ["log", "data"]


def test_change_of_drives_stops_the_check_which_goes_on_after_it(md: Md) -> None:
    journals: list[ChangeJournal] = []

    def confirm() -> None:
        if md.get("data", "sync_completed").startswith("2000 ") and not journals:
            journals.append(ChangeJournal.open(plan(), "admin", AT))

    md.during = confirm
    stopped, reason = carry_on(md).stopped, "a drive is being replaced"
    assert stopped is not None and (stopped.by, stopped.reason) == ("array", reason)
    assert md.get("data", "sync_action") == "idle"
    with pytest.raises(Refused, match=reason):
        scrub.begin(pool(), md.run)
    assert carry_on(md).stopped is not None
    # one that an error stopped is not waited for, which may be for ever
    journals[0].stopped("mdadm failed")
    assert carry_on(md).round is None and md.begun[-1] == ("data", 2000)


def test_change_of_drives_that_cannot_be_read_keeps_all_from_being_checked(md: Md) -> None:
    paths.drive_change_file().write_text("{")
    with pytest.raises(Refused, match=r"drive-change\.json"):
        scrub.begin(pool(), md.run)


def test_check_gives_way_with_its_position_and_its_limits(md: Md) -> None:
    kill_at_3000(md)
    scrub.give_way(pool(), md.run)
    begun = of("data").under_way
    assert begun is not None and begun.sector == 3000
    assert (md.stopped, md.get("data", "sync_action"), md.get("data", "sync_speed_max")) == (1, "idle", "4000000")


def test_check_that_mdadm_began_gives_way(md: Md) -> None:
    md.box.md("log", sync_action="check", sync_completed="100 / 1600")
    scrub.give_way(pool(), md.run)
    assert (md.get("log", "sync_action"), load()) == ("idle", ScrubRecord())


def test_repair_does_not_give_way_as_it_would_begin_again(md: Md) -> None:
    md.box.md("data", sync_action="repair", sync_completed="100 / 16000")
    scrub.give_way(pool(), md.run)
    assert md.get("data", "sync_action") == "repair"


def test_drive_that_fails_during_the_check_stops_it_with_the_reason(md: Md) -> None:
    def fail() -> None:
        if md.get("data", "sync_completed").startswith("2000 "):
            md.fail("data")

    md.during = fail
    record = carry_on(md)
    assert record.stopped is not None and record.stopped.reason == "array data is degraded"
    begun = of("data").under_way
    assert begun is not None and begun.sector == 2000 and of("data").last is None


def test_check_that_md_refuses_is_an_error_and_leaves_the_limits(md: Md, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, value: str) -> None:
        if path.name == "sync_action":
            raise OSError(16, "Device or resource busy")
        md.write(path, value)

    monkeypatch.setattr(resync, "IDLE_BUSY_PAUSES", [])
    monkeypatch.setattr(sysfs, "write", refuse)
    with pytest.raises(Failed, match="md does not check array log: Device or resource busy"):
        carry_on(md)
    assert md.get("log", "sync_speed_max") == "4000000"


def ranges(name: str) -> list[tuple[int, int, int]]:
    last = of(name).last
    assert last is not None
    return [(one.begin, one.end, one.sectors) for one in last.ranges]


def test_places_that_the_kernel_logs_are_kept(md: Md) -> None:
    md.bad["data"] = [104, 15_000]
    carry_on(md)
    assert ranges("data") == [(104, 112, 8), (15_000, 15_008, 8)]


def test_places_that_the_kernel_does_not_log_are_found_by_reading_again(
    md: Md, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mismatch, "SMALL", 8)
    md.logs, md.bad["log"] = False, [808]
    carry_on(md)
    assert ranges("log") == [(808, 816, 8)]
    assert md.get("log", "sync_speed_max") == "4000000"


def test_journal_that_cannot_be_read_does_not_end_the_check(md: Md) -> None:
    md.bad["data"], run = [104], md.run

    def fails(argv: Sequence[str], stdin: str | None = None) -> Result:
        return Result(1, "", "corrupt") if argv[0] == "journalctl" else run(argv, stdin)

    context = replace(md.around(), run=fails)
    scrub.carry_on(pool(), POLICY, context)
    [(begin, end, sectors)] = ranges("data")
    assert begin <= 104 < end and sectors == 8


def test_places_of_both_windows_of_a_check_are_kept(md: Md) -> None:
    md.bad["data"] = [104, 15_000]
    md.now = SUNDAY.replace(hour=6, minute=50)
    carry_on(md)
    md.now = SUNDAY + timedelta(days=7)
    carry_on(md)
    assert [begin for begin, _, _ in ranges("data")] == [104, 15_000]


def test_search_for_places_that_was_killed_does_not_read_the_whole_array_again(
    md: Md, monkeypatch: pytest.MonkeyPatch
) -> None:
    md.logs, md.bad["data"] = False, [5000]
    monkeypatch.setattr(mismatch, "SMALL", 256)

    def killed() -> None:
        if "data" in md.order and md.get("data", "sync_action") == "check":
            raise KeyboardInterrupt

    md.during = killed
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(scrub, "settle", lambda pool: load())
        carry_on(md)
    md.during = lambda: None
    before = len(md.begun)
    assert carry_on(md).round is None
    [(begin, end, _)] = ranges("data")
    assert begin <= 5000 < end <= begin + 512
    assert ("data", 0) not in md.begun[before:]


def test_bad_blocks_are_counted(md: Md) -> None:
    md.box.md("data", **{"dev-nvme3n1p2/bad_blocks": "4096 8\n8192 16"})
    carry_on(md)
    last = of("data").last
    assert last is not None and last.bad_areas == 2
