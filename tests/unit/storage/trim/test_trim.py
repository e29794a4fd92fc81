# SPDX-License-Identifier: Apache-2.0
"""The pool is trimmed in slices with pauses; what stops a trim leaves where it was."""

from datetime import timedelta

import pytest

from millrace.plan.policy.model import MdPolicy, Policy
from millrace.storage.record import scrub_record
from millrace.storage.record.model import Pool
from millrace.storage.record.scrub_record import Round
from millrace.storage.trim import trim
from millrace.storage.trim.trim import FilesystemGeometry, next_length, slice_at
from millrace.storage.trim.trim_record import TrimRecord, TrimRound, load
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import Failed, Refused
from tests.unit.storage.trim.conftest import SUNDAY
from tests.unit.storage.trim.trimmed import GIB, GROUP, SIZE, STRIPE, Kernel

POLICY = Policy()
MONDAY = SUNDAY + timedelta(days=1)
SHAPE = FilesystemGeometry(SIZE, GROUP, STRIPE)
MIB = 1 << 20


def pool() -> Pool:
    return read_model(paths.pool_file(), Pool)


def carry_on(kernel: Kernel, policy: Policy = POLICY) -> TrimRecord:
    return trim.carry_on(pool(), policy, kernel.context())


def under_way() -> TrimRound:
    found = load(pool().filesystem_uuid).round
    assert found is not None
    return found


def stopped_by(record: TrimRecord) -> str | None:
    return record.stopped.by if record.stopped else None


def test_slices_cover_the_file_system_once_and_the_result_is_kept(kernel: Kernel) -> None:
    record = carry_on(kernel)
    ends = [offset + length for offset, length in kernel.slices]
    assert [0, *ends] == [*(offset for offset, _ in kernel.slices), SIZE]
    assert (record.round, record.stopped) == (None, None)
    assert record.last is not None and record == load(pool().filesystem_uuid)
    assert record.last.bytes == SIZE
    assert record.last.seconds == pytest.approx(sum(kernel.took))
    assert record.last.longest == pytest.approx(max(kernel.took))
    assert record.last.started == "2026-11-22T01:05:00+00:00"


def test_pauses_leave_three_quarters_of_the_time_to_clients(kernel: Kernel) -> None:
    carry_on(kernel)
    assert len(kernel.pauses) == len(kernel.took) - 1
    assert kernel.pauses == pytest.approx([3 * one for one in kernel.took[:-1]])


def test_what_md_has_taken_and_the_drives_have_not_counts_as_the_time_of_the_slice(kernel: Kernel) -> None:
    counted = iter(range(1, 1000))
    stat = next(paths.ROOT.glob("sys/class/block/md*/slaves/*")) / "stat"

    def complete() -> None:
        if len(kernel.slices) == 1 and (now := next(counted)) <= 9:
            stat.write_text(f"1 0 8 1 1 0 8 1 0 1 1 {now} 0 8 1 0 0\n")

    kernel.polled = complete
    carry_on(kernel)
    # nine times another count, and once the same
    assert kernel.took[0] == pytest.approx(0.01 + 0.25 + 10 * 0.05)
    assert kernel.pauses[0] == pytest.approx(3 * kernel.took[0])


def test_slices_grow_towards_a_second_and_not_beyond(kernel: Kernel) -> None:
    carry_on(kernel)
    # 4 GiB take a second
    assert [length for _, length in kernel.slices[:3]] == [GIB, 2 * GIB, pytest.approx(3.6 * GIB, rel=0.03)]
    assert max(kernel.took) < 1.1


def test_slow_drives_make_slices_shorter(kernel: Kernel) -> None:
    kernel.rate = 512 * MIB
    carry_on(kernel)
    assert kernel.took[0] > 2
    assert max(kernel.took[1:]) < 1.1


def test_slices_without_free_space_do_not_make_the_next_one_long(kernel: Kernel) -> None:
    kernel.free = lambda offset: 0.0 if offset < GROUP else 1.0
    carry_on(kernel)
    assert max(kernel.took) < 1.1
    assert {length for offset, length in kernel.slices if offset < GROUP} == {GIB}


@pytest.mark.parametrize("offset", [0, 7 * MIB, GROUP - 65 * MIB, GROUP - 64 * MIB, GROUP, SIZE - GIB])
@pytest.mark.parametrize("stripe", [0, STRIPE, 1408 * 1024])
def test_slice_ends_at_a_stripe_or_with_its_group(offset: int, stripe: int) -> None:
    shape = FilesystemGeometry(SIZE, GROUP, stripe)
    end = offset + slice_at(offset, GIB + 4096, shape)
    assert offset < end <= min((offset // GROUP + 1) * GROUP, SIZE)
    at_end = end in (GROUP, SIZE)
    assert at_end or not stripe or end % stripe == 0
    assert at_end or end - offset == pytest.approx(GIB, rel=0.01)


def test_no_slice_is_smaller_than_64_mib_or_64_stripes_unless_the_group_ends() -> None:
    assert next_length(GIB, GIB, 1000, SHAPE) == 64 * MIB
    assert next_length(GIB, GIB, 1000, FilesystemGeometry(SIZE, GROUP, 0)) == 64 * MIB
    assert next_length(GIB, GIB, 1000, FilesystemGeometry(SIZE, GROUP, 2 * MIB)) == 128 * MIB


def test_a_slice_at_most_doubles() -> None:
    assert next_length(GIB, GIB, 0.001, SHAPE) == 2 * GIB
    assert next_length(GIB, GIB // 2, 0.5, SHAPE) == GIB


def test_end_of_the_window_stops_and_the_next_window_goes_on_from_there(kernel: Kernel) -> None:
    kernel.now = SUNDAY.replace(hour=6, minute=59, second=30)
    assert stopped_by(carry_on(kernel)) == "window"
    at = under_way()
    assert 0 < at.offset < SIZE and kernel.now.hour == 7
    before = len(kernel.slices)
    carry_on(kernel)
    assert len(kernel.slices) == before
    kernel.now = SUNDAY + timedelta(days=7)
    record = carry_on(kernel)
    assert kernel.slices[before] == (at.offset, slice_at(at.offset, at.slice, SHAPE))
    assert record.last is not None and (record.last.started, record.last.bytes) == (at.started, SIZE)


def test_nothing_is_trimmed_outside_of_the_window(kernel: Kernel) -> None:
    kernel.now = MONDAY
    assert carry_on(kernel) == TrimRecord(uuid=pool().filesystem_uuid)
    assert kernel.slices == []


def test_pool_is_trimmed_once_a_week_also_where_the_window_is_daily(kernel: Kernel) -> None:
    daily = Policy.model_validate({"scrub": {"window": "daily 01:00-07:00", "every": "never"}})
    carry_on(kernel, daily)
    done = len(kernel.slices)
    for day, expected in [(1, done), (6, done), (7, 2 * done)]:
        kernel.now = SUNDAY + timedelta(days=day)
        carry_on(kernel, daily)
        assert len(kernel.slices) == expected


def test_trim_by_hand_runs_outside_of_the_window(kernel: Kernel) -> None:
    kernel.now = MONDAY
    trim.begin(pool(), POLICY, kernel.run)
    assert carry_on(kernel).last is not None


def test_trim_by_hand_that_a_shutdown_stopped_goes_on_outside_of_the_window(kernel: Kernel) -> None:
    kernel.now = MONDAY
    trim.begin(pool(), POLICY, kernel.run)
    kernel.asked = True
    assert stopped_by(carry_on(kernel)) == "service"
    assert kernel.slices == [(0, GIB)]
    kernel.asked = False
    assert carry_on(kernel).last is not None
    assert kernel.slices[1][0] == GIB


def test_trim_by_hand_that_goes_on_in_the_window_ends_with_it(kernel: Kernel) -> None:
    kernel.now = MONDAY
    trim.begin(pool(), POLICY, kernel.run)
    kernel.box.md("data", degraded="1")
    carry_on(kernel)
    kernel.box.md("data", degraded="0")
    kernel.now = SUNDAY + timedelta(days=7)
    kernel.asked = True
    assert stopped_by(carry_on(kernel)) == "service"
    assert under_way().by == "policy"
    kernel.now, kernel.asked = MONDAY + timedelta(days=7), False
    carry_on(kernel)
    assert len(kernel.slices) == 1


def test_administrator_stops_and_the_window_of_now_does_not_go_on(kernel: Kernel) -> None:
    kernel.asked = True
    carry_on(kernel)
    assert stopped_by(trim.stop(pool())) == "administrator"
    kernel.asked = False
    carry_on(kernel)
    assert len(kernel.slices) == 1
    kernel.now = SUNDAY + timedelta(days=7)
    assert carry_on(kernel).last is not None
    assert trim.stop(pool()).stopped is None


def test_start_goes_on_with_a_trim_that_was_stopped(kernel: Kernel) -> None:
    kernel.asked = True
    carry_on(kernel)
    trim.stop(pool())
    kernel.asked = False
    begun = trim.begin(pool(), POLICY, kernel.run).round
    assert begun is not None and (begun.offset, begun.by) == (GIB, "administrator")
    carry_on(kernel)
    assert kernel.slices[1][0] == GIB


def test_degraded_array_stops_it_within_two_seconds(kernel: Kernel) -> None:
    kernel.during = lambda: kernel.box.md("data", degraded="1") if kernel.seconds > 60 else None
    record = carry_on(kernel)
    assert stopped_by(record) == "array" and kernel.seconds < 66
    assert record.stopped is not None and record.stopped.reason == "array data is degraded"


@pytest.mark.parametrize(("array", "action"), [("data", "recover"), ("log", "resync"), ("data", "check")])
def test_nothing_is_trimmed_beside_an_array_that_works(kernel: Kernel, array: str, action: str) -> None:
    kernel.box.md(array, sync_action=action)
    assert stopped_by(carry_on(kernel)) == ("check" if action == "check" else "array")
    with pytest.raises(Refused, match="nothing is trimmed now: arr"):
        trim.begin(pool(), POLICY, kernel.run)
    assert kernel.slices == []


@pytest.mark.parametrize("unit", ["millrace-bench.service", "millrace-tuner.service"])
def test_benchmark_stops_it_and_the_same_window_goes_on(kernel: Kernel, unit: str) -> None:
    kernel.during = lambda: kernel.active.add(unit)
    assert stopped_by(carry_on(kernel)) == "benchmark"
    kernel.active.clear()
    kernel.during = lambda: None
    assert carry_on(kernel).last is not None


def test_trim_does_not_begin_between_the_checks_of_two_arrays(kernel: Kernel) -> None:
    kernel.active.add("millrace-scrub.service")
    begun = Round(started="2026-11-22T01:00:00+00:00", by="policy")
    scrub_record.change(lambda old: old.model_copy(update={"round": begun}))
    assert stopped_by(carry_on(kernel)) == "check"
    # a check that was killed and does not go on is none
    kernel.active.clear()
    assert carry_on(kernel).last is not None


def test_check_service_that_finds_nothing_to_do_stops_nothing(kernel: Kernel) -> None:
    kernel.active.add("millrace-scrub.service")
    assert carry_on(kernel).last is not None


def test_what_kept_a_trim_from_its_beginning_is_recorded(kernel: Kernel) -> None:
    kernel.box.md("data", degraded="1")
    record = carry_on(kernel)
    assert (record.round, stopped_by(record)) == (None, "array")
    kernel.box.md("data", degraded="0")
    assert carry_on(kernel).stopped is None


def test_refused_trim_is_tried_once_a_window(kernel: Kernel) -> None:
    kernel.refused = "the discard operation is not supported"
    for _ in range(3):
        record = carry_on(kernel)
        kernel.now += timedelta(minutes=15)
    assert kernel.tried == 1
    assert record.stopped is not None
    assert (record.stopped.by, record.stopped.reason) == (
        "refused",
        "fstrim fails: fstrim: /srv/pool: the discard operation is not supported",
    )
    kernel.now, kernel.refused = SUNDAY + timedelta(days=7), None
    assert carry_on(kernel).last is not None


def test_policy_switches_a_trim_off_that_is_under_way(kernel: Kernel) -> None:
    kernel.asked = True
    carry_on(kernel)
    never = Policy(md=MdPolicy(discard="never"))
    kernel.asked = False
    carry_on(kernel, never)
    assert len(kernel.slices) == 1
    # nothing waits for a window that never comes
    last_job = trim.JOB.last(kernel.run)
    assert last_job is not None and (last_job.state, last_job.reason) == (
        "cancelled",
        'the policy has discard = "never" in [md]',
    )
    assert load(pool().filesystem_uuid).round is None and not trim.JOB.is_open()
    with pytest.raises(Refused, match=r'free space is not trimmed: the policy has discard = "never" in \[md\]'):
        trim.begin(pool(), never, kernel.run)


def test_trim_by_hand_ends_where_a_drive_without_the_guarantee_joins(kernel: Kernel) -> None:
    trim.begin(pool(), POLICY, kernel.run)

    drives = [one.model_copy(update={"discard": None}) for one in pool().drives]
    write_model(paths.pool_file(), pool().model_copy(update={"drives": drives}))
    assert stopped_by(carry_on(kernel)) == "plan"
    assert kernel.slices == []


@pytest.mark.parametrize("blocks", [SIZE // 4096 - 10_000, SIZE // 4096 + 10_000])
def test_file_system_of_another_size_starts_from_the_beginning(kernel: Kernel, blocks: int) -> None:
    kernel.asked = True
    carry_on(kernel)
    kernel.asked = False
    kernel.geometry = kernel.geometry.replace(f"blocks={SIZE // 4096},", f"blocks={blocks},")
    record = carry_on(kernel)
    assert kernel.slices[1][0] == 0
    assert record.last is not None and record.last.bytes == blocks * 4096


def test_file_system_that_was_made_again_starts_from_the_beginning(kernel: Kernel) -> None:
    carry_on(kernel)
    new = pool().model_copy(update={"filesystem_uuid": "00000000-0000-4000-8000-0000000000ff"})
    write_model(paths.pool_file(), new)
    before = len(kernel.slices)
    carry_on(kernel)
    assert kernel.slices[before][0] == 0


def test_trim_of_another_pool_does_not_wait_on_this_one(kernel: Kernel) -> None:
    kernel.asked = True
    carry_on(kernel)
    assert trim.JOB.is_open()
    new = pool().model_copy(update={"filesystem_uuid": "00000000-0000-4000-8000-0000000000ff"})
    write_model(paths.pool_file(), new)
    assert not trim.JOB.is_open()
    # what cannot be compared counts
    paths.pool_file().write_text("{")
    assert trim.JOB.is_open()


def test_power_cut_loses_half_a_minute_of_the_position(kernel: Kernel) -> None:
    class PowerCut(Exception):
        pass

    def cut() -> None:
        if kernel.seconds > 70:
            raise PowerCut

    kernel.during = cut
    with pytest.raises(PowerCut):
        carry_on(kernel)
    at, last = under_way().offset, kernel.slices[-1]
    assert 0 < at <= last[0]
    kernel.during = lambda: None
    before = len(kernel.slices)
    assert carry_on(kernel).last is not None
    assert kernel.slices[before][0] == at


def test_look_that_finds_nothing_is_no_job_and_a_trim_is_one_over_its_windows(kernel: Kernel) -> None:
    kernel.now = MONDAY
    carry_on(kernel)
    assert trim.JOB.last(kernel.run) is None
    # ten seconds before its end
    kernel.now = SUNDAY.replace(hour=6, minute=59, second=50)
    assert stopped_by(carry_on(kernel)) == "window"
    first, glance = trim.JOB.last(kernel.run), trim.JOB.glance()
    assert first is not None and (first.what, first.by, first.state) == (trim.WHAT, "the server", "waiting")
    assert glance is not None and glance.what == f"{trim.WHAT}, stopped: its window has ended"
    assert glance.progress == under_way().offset / SIZE
    kernel.now = SUNDAY + timedelta(days=7)
    carry_on(kernel)
    ended = trim.JOB.last(kernel.run)
    assert ended is not None and (ended.id, ended.state, trim.JOB.glance()) == (first.id, "done", None)


def test_trim_by_hand_is_that_of_who_started_it(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_USER", "anna")
    kernel.now = MONDAY
    trim.start(pool(), POLICY, kernel.run)
    # one that runs in its window would go on without it
    assert kernel.orders == ["stop", "reset-failed", "start"]
    carry_on(kernel)
    ended = trim.JOB.last(kernel.run)
    assert ended is not None and (ended.by, ended.state) == ("anna", "done")
    trim.start(pool(), POLICY, kernel.run)
    trim.end(kernel.run)
    waits = trim.JOB.last(kernel.run)
    assert (
        waits is not None and waits.state == "waiting" and stopped_by(load(pool().filesystem_uuid)) == "administrator"
    )


def test_trim_is_not_started_beside_the_tuner(kernel: Kernel) -> None:
    kernel.active.add("millrace-tuner.service")
    with pytest.raises(Refused, match="the tuner is running; wait for it, or stop it: millrace tuner stop"):
        trim.start(pool(), POLICY, kernel.run)
    assert (kernel.orders, load(pool().filesystem_uuid).round) == (["stop"], None)


def test_position_is_not_written_after_each_slice(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[object] = []
    monkeypatch.setattr("millrace.storage.trim.trim_record.write_model", lambda path, model: written.append(model))
    kernel.rate = 64 * GIB
    kernel.free = lambda offset: 0.01
    carry_on(kernel)
    assert len(kernel.slices) > 90
    assert len(written) == 2


def test_tools_are_started_once_a_second_to_see_what_is_more_important(kernel: Kernel) -> None:
    kernel.free = lambda offset: 0.0
    carry_on(kernel)
    assert len(kernel.slices) > 90 and 3 < kernel.seconds < 6
    assert 3 <= kernel.questions <= 6


def test_record_that_cannot_be_read_is_empty(kernel: Kernel) -> None:
    paths.trim_file().write_text("{")
    assert load("x") == TrimRecord(uuid="x")
    assert carry_on(kernel).last is not None


def test_geometry_that_is_not_reported_trims_nothing(kernel: Kernel) -> None:
    kernel.geometry = "meta-data=/dev/md127\n"
    with pytest.raises(Failed, match="xfs_spaceman did not report the geometry of /srv/pool; nothing was trimmed"):
        carry_on(kernel)
    assert kernel.slices == []
