# SPDX-License-Identifier: Apache-2.0
"""A check that found mismatches or is late is a finding of its array."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.observe.health.checks import scrub
from millrace.observe.health.model import HealthFinding, Level
from millrace.plan.policy.policy_in_force import find
from millrace.storage.record.model import Pool
from millrace.storage.record.scrub_record import (
    ArrayScrub,
    FileSearch,
    MismatchRange,
    Repair,
    Scrubbed,
    UnderWay,
    change,
    load,
    stamp,
)
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.run import Result
from millrace.system.text import moment
from tests.unit.observe.health.servers import host, sentences, set_md, well, xfs_checked


@pytest.fixture
def serving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    well(tmp_path)
    created(0)
    return tmp_path


def created(days: int) -> None:
    """The pool was made so many days ago."""
    pool = read_model(paths.pool_file(), Pool)
    write_model(paths.pool_file(), pool.model_copy(update={"created": ago(days)}))


def ago(days: int) -> str:
    return stamp(datetime.now(UTC) - timedelta(days=days))


def checked(days: int, mismatches: int = 0, ranges: Sequence[MismatchRange] = ()) -> None:
    """Every array was checked so many days ago."""
    last = Scrubbed(
        started=ago(days),
        ended=ago(days),
        bytes=1,
        seconds=1,
        mismatches=mismatches,
        bad_areas=0,
        ranges=[*ranges],
    )
    arrays = [
        ArrayScrub(array=record.array.name, uuid=record.uuid, last=last)
        for record in read_model(paths.pool_file(), Pool).arrays
    ]
    change(lambda old: old.model_copy(update={"arrays": arrays}))


def policy(every: str) -> None:
    paths.policy_file().write_text(f'[scrub]\nevery = "{every}"\n')


def test_new_pool_is_not_late(serving: Path) -> None:
    assert sentences(scrub.check(host())) == "OK: No array has been checked yet. []"


def test_recent_check_is_all_right(serving: Path) -> None:
    created(400)
    checked(40)
    assert sentences(scrub.check(host())) == f"OK: The last check of all arrays ended {moment(ago(40))}. []"


def test_array_that_was_never_checked_is_none_of_all_arrays(serving: Path) -> None:
    created(20)
    checked(10)
    pool = read_model(paths.pool_file(), Pool)
    arrays = [pool.arrays[0], pool.arrays[1].model_copy(update={"uuid": "0:0:0:1"})]
    write_model(paths.pool_file(), pool.model_copy(update={"arrays": arrays}))
    assert sentences(scrub.check(host())) == (
        f"OK: The last check of 1 of 2 arrays ended {moment(ago(10))}; the others have not been checked yet. []"
    )


def test_check_that_is_late_by_a_period_is_a_warning_for_each_array(serving: Path) -> None:
    created(400)
    checked(63)
    found = scrub.check(host())
    assert sorted(one.key for one in found) == ["scrub/late/data", "scrub/late/log"]
    assert {one.level for one in found} == {Level.WARN}
    assert "Array data (RAID6) was last checked 63 days ago; the policy wants it every month" in sentences(found)


def test_pool_that_was_never_checked_is_late_by_its_age(serving: Path) -> None:
    created(63)
    assert "Array log (RAID1) has not been checked in 63 days" in sentences(scrub.check(host()))


@pytest.mark.parametrize(("every", "level"), [("week", Level.WARN), ("quarter", Level.OK), ("never", Level.OK)])
def test_policy_decides_what_is_late(serving: Path, every: str, level: Level) -> None:
    created(40)
    policy(every)
    assert {one.level for one in scrub.check(host())} == {level}


def periods() -> list[HealthFinding]:
    return [one for one in scrub.check(host()) if one.kind == "period"]


def large(serving: Path) -> None:
    """Each data drive holds 60 TB."""
    set_md(serving, "md127", component_size=str(60 * 10**12 // 1024))


def read(rate: int, floor_kib: int | None, days: int = 1) -> None:
    """The last check of the data read so many bytes/s of each drive, and was granted this floor."""
    checked(days)
    one = next(one for one in load().arrays if one.array == "data")
    assert one.last is not None
    last = one.last.model_copy(update={"seconds": 60 * 10**12 / rate, "floor_kib": floor_kib})
    change(lambda old: old.having(one.model_copy(update={"last": last})))


def test_drives_that_the_window_is_enough_for_are_no_finding(serving: Path) -> None:
    large(serving)
    checked(1)
    assert periods() == []


def test_period_that_cannot_be_kept_is_one_finding_with_what_to_change(serving: Path) -> None:
    large(serving)
    created(400)
    checked(200)
    paths.policy_file().write_text("[scrub]\nrate_kib = 100000\n")
    [finding] = scrub.check(host())
    assert (finding.key, finding.level) == ("scrub/period//srv/pool", Level.WARN)
    assert finding.sentence.startswith(
        "Arrays are checked once in 31 weeks, not every month: at 102 MB/s of each drive"
    )
    assert finding.sentence.endswith("31 windows of Sun 01:00-07:00.")
    assert finding.todo is not None and finding.todo.startswith("Change the policy: scrub.rate_kib = ")
    checked(63 * 7)
    assert sorted(finding.kind for finding in scrub.check(host())) == ["late", "late", "period"]


def test_drives_that_read_less_than_they_were_granted_are_a_finding(serving: Path) -> None:
    large(serving)
    read(200_000_000, floor_kib=755_617)
    [found] = periods()
    assert found.sentence == (
        "Arrays are checked once in 16 weeks, not every month: at 200 MB/s of each drive a check takes 16 windows of "
        "Sun 01:00-07:00. It was granted 774 MB/s."
    )
    assert found.todo == 'Change the policy: scrub.window = "Sun 01:00-01:00" or scrub.window = "daily 01:00-07:00"'


@pytest.mark.parametrize(("rate", "floor"), [(200_000_000, None), (200_000_000, 100_000), (760_000_000, 755_617)])
def test_rate_that_was_not_granted_more_says_nothing_about_the_drives(
    serving: Path, rate: int, floor: int | None
) -> None:
    large(serving)
    read(rate, floor)
    assert periods() == []


def test_check_under_way_shows_its_rate_after_an_hour(serving: Path) -> None:
    large(serving)
    checked(1)
    record = next(record for record in load().arrays if record.array == "data")
    for seconds, count in ((3000, 0), (4000, 1)):
        begun = UnderWay(
            started=ago(0),
            sector=seconds * 400_000,
            sectors=60 * 10**12 // 512,
            seconds=seconds,
            mismatches=0,
            floor_kib=755_617,
        )
        change(lambda old, begun=begun: old.having(record.model_copy(update={"under_way": begun})))  # type: ignore[misc]
        assert len(periods()) == count


PLACE = [MismatchRange(begin=16, end=32, sectors=16)]


def mismatches() -> list[HealthFinding]:
    return [one for one in scrub.check(host()) if one.kind == "mismatch"]


def searched(names: list[str], count: int, days: int = 0) -> None:
    found = FileSearch(at=ago(days), count=count, names=names, complete=True)
    change(lambda old: old.model_copy(update={"files": found}))


def test_mismatches_outlive_the_boot_that_found_them_and_name_the_files(serving: Path) -> None:
    checked(1, mismatches=16, ranges=PLACE)
    searched(["data/a", "data/b", "data/c", "data/d"], 5)
    log, data = sorted(mismatches(), key=lambda one: one.subject, reverse=True)
    assert (data.key, data.level) == ("scrub/mismatch/data", Level.WARN)
    assert f"ended {moment(ago(1))} found 16 sectors where data and parity do not match" in data.sentence
    assert data.sentence.endswith("; in doubt: data/a, data/b, data/c and 2 more.")
    assert data.todo == "Compare the files with a backup, then: millrace pool scrub repair data"
    assert log.sentence.endswith("which on a mirror may be harmless.")
    assert log.todo == "millrace pool scrub repair log"


def test_files_of_an_earlier_check_are_not_named(serving: Path) -> None:
    checked(1, mismatches=16, ranges=PLACE)
    searched(["data/a"], 1, days=2)
    assert "; the files in doubt are still being searched for." in sentences(mismatches())


def test_mismatches_without_a_place_wait_for_the_next_check(serving: Path) -> None:
    checked(1, mismatches=16)
    assert "; the files in doubt are not known until the next check." in sentences(mismatches())


def test_repair_by_hand_ends_the_finding_until_the_next_boot(serving: Path) -> None:
    checked(1, mismatches=16, ranges=PLACE)
    set_md(serving, "md127", last_sync_action="check")
    set_md(serving, "md126", last_sync_action="repair")
    assert [one.subject for one in mismatches()] == ["data"]


def test_repair_that_is_under_way_is_no_end_of_the_finding(serving: Path) -> None:
    checked(1, mismatches=16, ranges=PLACE)
    set_md(serving, "md127", last_sync_action="repair")
    repair = Repair(asked=ago(0), ranges=PLACE)
    one = next(one for one in load().arrays if one.array == "data")
    change(lambda old: old.having(one.model_copy(update={"repair": repair})))
    [found] = [one for one in mismatches() if one.subject == "data"]
    assert found.sentence.endswith("; a repair is under way.")
    assert found.todo == "See what stops it if it does not end: millrace pool scrub status"


INACTIVE = Result(0, "inactive\n", "")


def xfs() -> list[tuple[str, Level, str, str | None]]:
    found = scrub.check(host(xfs_scrub=INACTIVE))
    return [(one.key, one.level, one.sentence, one.todo) for one in found if one.kind == "filesystem-late"]


def test_xfs_check_that_is_late_is_a_warning_with_the_command(serving: Path) -> None:
    """A server that is off on Sundays at 03:10."""
    xfs_checked(15)
    assert xfs() == []
    xfs_checked(17)
    assert xfs() == [
        (
            "scrub/filesystem-late//srv/pool",
            Level.WARN,
            "XFS on /srv/pool was last checked 17 days ago; it is checked every week, on Sunday or when the server is "
            "up again.",
            "Check it now: millrace pool scrub filesystem",
        )
    ]


def test_xfs_that_was_never_checked_is_late_by_the_age_of_the_pool(serving: Path) -> None:
    paths.scrub_file().unlink()
    created(15)
    assert xfs() == []
    created(17)
    [(_, level, sentence, _)] = xfs()
    assert level is Level.WARN and sentence.startswith("XFS on /srv/pool has not been checked in 17 days;")


def test_xfs_check_that_is_late_and_under_way_asks_for_no_other(serving: Path) -> None:
    xfs_checked(17)
    [found] = scrub.check(host(xfs_scrub=Result(0, "active\n", "")))
    assert found.sentence == "XFS on /srv/pool was last checked 17 days ago; a check is under way."
    assert found.todo == "systemctl status millrace-xfs-scrub.service"


def test_xfs_of_a_pool_without_redundancy_is_late_too(serving: Path) -> None:
    pool = read_model(paths.pool_file(), Pool)
    data = pool.arrays[0].array.model_copy(update={"level": "raid0"})
    write_model(
        paths.pool_file(),
        pool.model_copy(update={"arrays": [pool.arrays[0].model_copy(update={"array": data})]}),
    )
    assert scrub.check(host()) == []
    xfs_checked(17)
    assert len(xfs()) == 1


def test_server_without_a_pool_has_nothing_to_check(serving: Path) -> None:
    paths.pool_file().unlink()
    assert scrub.check(host()) == []


@pytest.mark.parametrize(("days", "clock"), [(-15_000, "ahead"), (20_000, "behind")])
def test_check_of_a_wrong_clock_is_reported_and_due_now(serving: Path, days: int, clock: str) -> None:
    checked(days)
    xfs_checked(days)
    by_key = {finding.key: finding for finding in scrub.check(host())}
    assert set(by_key) == {"scrub/late/log", "scrub/late/data", "scrub/filesystem-late//srv/pool"}
    was = f"was last checked {moment(ago(days))}: the clock was {clock} at that time;"
    assert by_key["scrub/late/data"].sentence == (
        f"Array data (RAID6) {was} the next check is due now ({find().policy.scrub.window})."
    )
    assert (by_key["scrub/late/data"].todo or "").startswith("Nothing, if the clock is right (timedatectl)")
    assert was in by_key["scrub/filesystem-late//srv/pool"].sentence


def test_pool_of_a_wrong_clock_waits_for_its_first_check(serving: Path) -> None:
    created(-15_000)
    assert f"was created {moment(ago(-15_000))}: the clock was ahead at that time" in sentences(scrub.check(host()))
    checked(0)
    assert [one.level for one in scrub.check(host())] == [Level.OK]
