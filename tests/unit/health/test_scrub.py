# SPDX-License-Identifier: Apache-2.0
"""A check that found mismatches or is late is a finding of its array."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace import paths
from millrace.health.checks import scrub
from millrace.health.model import Level
from millrace.pool.scrub_record import ArrayScrub, Scrubbed, ScrubRecord, stamp
from millrace.provision.model import Pool
from millrace.system.documents import read_model, write_model
from millrace.system.text import moment
from tests.unit.health.servers import host, sentences, set_md, well


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


def checked(days: int, mismatches: int = 0) -> None:
    """Every array was checked so many days ago."""
    last = Scrubbed(started=ago(days), ended=ago(days), bytes=1, seconds=1, mismatches=mismatches, bad_areas=0)
    arrays = [
        ArrayScrub(array=one.array.name, uuid=one.uuid, last=last) for one in read_model(paths.pool_file(), Pool).arrays
    ]
    write_model(paths.scrub_file(), ScrubRecord(arrays=arrays))


def policy(every: str) -> None:
    paths.policy_file().write_text(f'[scrub]\nevery = "{every}"\n')


def test_new_pool_is_not_late(serving: Path) -> None:
    assert sentences(scrub.check(host())) == "OK: No array has been checked yet. []"


def test_recent_check_is_all_right(serving: Path) -> None:
    created(400)
    checked(40)
    assert sentences(scrub.check(host())) == f"OK: The last check of all arrays ended {moment(ago(40))}. []"


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


def test_mismatches_outlive_the_boot_that_found_them(serving: Path) -> None:
    checked(1, mismatches=16)
    found = [one for one in scrub.check(host()) if one.subject == "data"]
    assert [(one.key, one.level) for one in found] == [("scrub/mismatch/data", Level.WARN)]
    assert f"ended {moment(ago(1))} found 16 sectors that do not match" in found[0].sentence
    assert found[0].todo is not None and "mdadm --action=repair /dev/md/millrace-data" in found[0].todo


@pytest.mark.parametrize("action", ["check", "repair"])
def test_mismatches_that_the_kernel_knows_are_findings_of_the_array(serving: Path, action: str) -> None:
    checked(1, mismatches=16)
    set_md(serving, "md127", last_sync_action=action)
    assert not [one for one in scrub.check(host()) if one.subject == "data"]


def test_server_without_a_pool_has_nothing_to_check(serving: Path) -> None:
    paths.pool_file().unlink()
    assert scrub.check(host()) == []
