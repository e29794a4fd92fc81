# SPDX-License-Identifier: Apache-2.0
"""Every pair of kinds: what becomes of a start while another job is there."""

import json
from pathlib import Path

import pytest

from millrace.system import paths
from millrace.system.errors import Failed, Refused
from millrace.system.jobs import pairs
from millrace.system.jobs.kinds import ALL, BY_NAME, JobKind, JobName
from millrace.system.run import Result
from tests.fakes.jobs import JobManager
from tests.unit.system.jobs import table_of_pairs

# A row for what starts, a column for what is there, in the order of ALL: R refused, w waits, s stops it, - beside,
# 1 one at a time. The second of two letters is for a journal that is open while no unit runs.
TABLE = """
provision        1  R- -  -  R- R  R- -  -  -  -  -  -  -  -  -  R  -  -  -  -  RR RR
drive-change     R- 1  -  -  R- R  R- -  -  -  -  -  -  -  -  -  -  s  -  -  s  R- RR
erase            R- R- 1  -  R- R  -  -  -  -  -  -  -  R  R  -  R  -  -  -  -  RR RR
drive-test       R- R- -  1  R- R  -  -  -  -  -  -  -  R  R  -  R  -  -  -  -  RR RR
rescue           R- R- -  -  1  R  R- -  -  -  -  -  -  -  -  -  R  -  -  -  -  R- RR
revive           R- RR -  -  R- 1  R- -  -  -  -  -  -  -  -  -  -  -  -  -  -  R- RR
adopt            R- R- -  -  R- R  1  -  -  -  -  -  -  -  -  -  R  -  -  -  -  RR RR
clone            -  -  -  -  -  -  -  1  -  -  -  -  -  -  -  -  R  -  -  -  -  RR RR
copy             -  -  -  -  -  -  -  -  1  -  -  -  -  -  -  -  R  -  -  -  -  RR RR
snapshot         -  -  -  -  -  -  -  -  -  1  -  -  -  -  -  -  R  -  -  -  -  RR RR
replica          -  -  -  -  -  -  -  -  -  -  1  -  -  -  -  -  R  -  -  -  -  RR RR
backup           -  -  -  -  -  -  -  -  -  -  -  1  -  -  -  -  R  -  -  -  -  RR RR
permissions      -  -  -  -  -  -  -  -  -  -  -  -  1  -  -  -  R  -  -  -  -  RR RR
benchmark        R- R- R  R  R- R  R- R  R  R  R  R  R  1  R  R  R  R  R  R- s  RR RR
tuner            R- R- R  R  R- R  R- R  R  R  R  R  R  R  1  R  R  R  R  R- s  RR RR
update-download  -  -  -  -  -  -  -  -  -  -  -  -  -  R  R  1  R  -  -  -  -  RR -
update           RR RR R  R  RR R  RR R  R  R  R  R  R  R  R  R  1  -  R  -  -  RR RR
scrub            -  ww -  -  -  -  -  -  -  -  -  -  -  w  w  -  -  1  -  -  -  -  ww
damaged-files    -  -  -  -  -  -  -  -  -  -  -  -  -  -  -  -  R  -  1  -  -  RR RR
unclean          -  -  -  -  -  -  -  -  -  -  -  -  -  -  -  -  -  -  -  1  -  -  RR
trim             -  ww -  -  -  -  -  -  -  -  -  -  -  w  w  -  -  w  -  -  1  -  ww
reset            RR RR R  R  RR R  RR R  R  R  R  R  R  R  R  R  R  -  R  -  -  1  RR
destroy          RR RR R  R  RR R  RR R  R  R  R  R  R  R  R  -  R  R  R  R- R  RR 1
"""
WORDS = {"R": "refused", "w": "waits", "s": "stops it", "-": "beside", "1": "one at a time"}
JOURNALS = {
    "provision": (paths.transaction_file, "{}"),
    "drive-change": (paths.drive_change_file, '{"ended": null}'),
    "rescue": (paths.rescue_file, "{}"),
    "adopt": (paths.adoption_file, "{}"),
    "reset": (paths.reset_file, "{}"),
    "destroy": (paths.destruction_file, "{}"),
    "unclean": (paths.unclean_file, '{"starts": [{"check": "none"}]}'),
}
ROUNDS = {"scrub": paths.scrub_file, "trim": paths.trim_file}


def cells() -> list[tuple[JobName, JobName, str]]:
    found = []
    for line in TABLE.strip().splitlines():
        starts, *letters = line.split()
        found += [(BY_NAME[starts].name, kind.name, cell) for kind, cell in zip(ALL, letters, strict=True)]  # type: ignore[index]
    return found


@pytest.fixture
def systemd(root_user: Path) -> JobManager:
    assert root_user.is_dir()
    return JobManager("millrace-none.service")


def is_there(kind: JobKind, systemd: JobManager) -> None:
    """Let the unit of a kind run, with work to do."""
    systemd.others = {kind.unit: "active"}
    if kind.name in ROUNDS:
        path = ROUNDS[kind.name]()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"round": {}, "stopped": null}')
    if kind.name in JOURNALS:
        opened(kind.name)


def opened(name: JobName) -> None:
    """Leave the journal of a kind open."""
    path, text = JOURNALS[name]
    path().parent.mkdir(parents=True, exist_ok=True)
    path().write_text(text)


def test_table_has_every_kind() -> None:
    assert [line.split()[0] for line in TABLE.strip().splitlines()] == [kind.name for kind in ALL]
    assert len(cells()) == len(ALL) ** 2


@pytest.mark.parametrize(("starts", "there", "cell"), cells())
def test_start_beside_a_job_that_runs(starts: JobName, there: JobName, cell: str, systemd: JobManager) -> None:
    assert pairs.outcome(starts, there) == WORDS[cell[0]]
    is_there(BY_NAME[there], systemd)
    found = pairs.obstacle(starts, systemd)
    assert (found is not None) == (cell[0] in "Rw")
    if found is not None:
        assert found.kind.name == there
        assert (found.sentence, found.what) == (f"{found.kind.busy}; {found.kind.remedy}", found.kind.busy)
        assert pairs.obstacle(starts, systemd, allowed=(there,)) is None


@pytest.mark.parametrize(("starts", "there", "cell"), [one for one in cells() if len(one[2]) > 1])
def test_start_beside_an_open_journal(starts: JobName, there: JobName, cell: str, systemd: JobManager) -> None:
    opened(there)
    assert (pairs.obstacle(starts, systemd) is not None) == (cell[1] in "Rw")


@pytest.mark.parametrize("there", ["scrub", "trim"])
def test_unit_that_looks_whether_anything_is_due_keeps_nothing(there: JobName, systemd: JobManager) -> None:
    systemd.others = {BY_NAME[there].unit: "active"}
    assert all(pairs.obstacle(kind.name, systemd) is None for kind in ALL)


@pytest.mark.parametrize("there", ["provision", "drive-change", "adopt", "reset"])
def test_unit_that_the_boot_has_queued_keeps_nothing_without_its_journal(there: JobName, systemd: JobManager) -> None:
    systemd.others = {BY_NAME[there].unit: "queued"}
    assert pairs.obstacle("rescue", systemd) is None and pairs.obstacle("drive-change", systemd) is None
    opened(there)
    found = pairs.obstacle("rescue", systemd)
    assert found is not None and found.kind.name == there


def test_reset_that_did_not_restart_keeps_no_drive_from_its_replacement(systemd: JobManager) -> None:
    opened("reset")
    assert pairs.obstacle("drive-change", systemd) is None and pairs.obstacle("rescue", systemd) is None


def test_pool_is_not_being_created_any_more_once_it_is_there(systemd: JobManager) -> None:
    opened("provision")
    paths.pool_file().write_text("{}")
    assert pairs.obstacle("update", systemd) is None and pairs.obstacle("reset", systemd) is None


def test_repair_is_work_without_a_round(systemd: JobManager) -> None:
    is_there(BY_NAME["scrub"], systemd)
    arrays = [{"array": "log", "repair": None}, {"array": "data", "repair": {}}]
    paths.scrub_file().write_text(json.dumps({"round": None, "stopped": None, "arrays": arrays}))
    assert pairs.obstacle("benchmark", systemd) is not None
    paths.scrub_file().write_text(json.dumps({"round": None, "stopped": None, "arrays": arrays[:1]}))
    assert pairs.obstacle("benchmark", systemd) is None


def test_drive_change_that_cannot_be_read_is_an_obstacle(systemd: JobManager) -> None:
    paths.drive_change_file().parent.mkdir(parents=True, exist_ok=True)
    paths.drive_change_file().write_text("{")
    with pytest.raises(Refused, match=r"drive-change\.json cannot be read, so an open change of drives is not known"):
        pairs.demand("update", systemd)


def test_drive_change_that_an_error_has_stopped_keeps_nothing(systemd: JobManager) -> None:
    paths.drive_change_file().parent.mkdir(parents=True, exist_ok=True)
    paths.drive_change_file().write_text('{"ended": null, "error": "mdadm failed"}')
    assert pairs.obstacle("update", systemd) is None and pairs.obstacle("scrub", systemd) is None


def test_adoption_is_over_with_the_pool(systemd: JobManager) -> None:
    for path in (paths.adoption_file(), paths.pool_file()):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    assert pairs.obstacle("update", systemd) is None


def test_systemd_that_says_nothing_is_no_permission(systemd: JobManager) -> None:
    systemd.broken["systemctl show"] = Result(1, "", "Failed to connect to bus\n")
    with pytest.raises(Failed, match="does not report the state of"):
        pairs.demand("erase", systemd)


def test_manual_has_the_tables_of_kinds_and_pairs() -> None:
    page = table_of_pairs.PAGE.read_text()
    assert table_of_pairs.written(page) == page, "run tools/docs --write"
    assert page.count("\n| `") == len(ALL) and page.count("\n| **") == len(ALL)
