# SPDX-License-Identifier: Apache-2.0
"""A member that is kept apart, and an array whose members ran twice, are named with what to do."""

from pathlib import Path

import pytest

from millrace.observe.health.checks import apart
from millrace.observe.health.model import Level
from millrace.storage.record.apart_record import Apart, ApartMembers, Undecided
from millrace.storage.record.model import Pool
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from tests.unit.observe.health.servers import host, well


@pytest.fixture(autouse=True)
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    well(tmp_path)


def record(serial: str, **more: object) -> None:
    one = Apart(array="data", serial=serial, partuuid="", written="2026-11-28T07:00:00+00:00")
    write_model(paths.apart_file(), ApartMembers.model_validate({"members": [one], **more}))


def test_member_that_ran_without_its_array_is_named_with_both_remedies() -> None:
    here = host()
    stranger = here.drives[0].model_copy(update={"serial": "AWAY"})
    here.drives.append(stranger)
    here.bays = {"AWAY": "7"}
    record("AWAY")
    [finding] = apart.check(here)
    assert (finding.level, finding.key) == (Level.WARN, "apart/data/AWAY")
    assert finding.sentence == (
        "Bay 7 (AWAY) ran without array data after it left it, last written 2026-11-28 07:00 UTC; it is kept apart, "
        "because each has changes that the other lacks."
    )
    assert finding.todo is not None and finding.todo.endswith("then: millrace drive replace AWAY")


def test_member_that_may_be_newer_is_to_be_kept_until_files_are_compared() -> None:
    here = host()
    here.drives.append(here.drives[0].model_copy(update={"serial": "AWAY"}))
    here.bays = {"AWAY": "7"}
    member = Apart(array="data", serial="AWAY", partuuid="", written=None, started="2026-11-28T08:00:00+00:00")
    write_model(paths.apart_file(), ApartMembers(members=[member]))
    [finding] = apart.check(here)
    assert finding.sentence == (
        "Bay 7 (AWAY) may be newer than array data, which was started without it on 2026-11-28 08:00 UTC; it is kept "
        "apart, because the array may lack its last changes."
    )
    assert finding.todo is not None and finding.todo.startswith("Keep it until the files are compared with a backup. ")


def test_member_in_sync_and_drive_that_is_gone_are_not_named() -> None:
    record(read_model(paths.pool_file(), Pool).arrays[0].members[0].serial)
    assert apart.check(host()) == []
    record("GONE")
    assert apart.check(host()) == []


def test_array_that_ran_twice_is_a_failure() -> None:
    why = "RAID1 data is not started: it ran on A and on B without each other. Choose which to go on with"
    record("GONE", undecided=[Undecided(array="data", why=why)])
    [finding] = apart.check(host())
    assert (finding.level, finding.key) == (Level.FAIL, "apart/undecided/data")
    assert finding.sentence.endswith("without each other.") and finding.todo == "Choose which to go on with"
