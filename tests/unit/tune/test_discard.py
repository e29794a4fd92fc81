# SPDX-License-Identifier: Apache-2.0
"""The limit of discards of each array follows the plan and the members of now."""

from pathlib import Path

import pytest

from millrace.storage.record.model import DriveRecord, PartitionRecord, Pool
from millrace.system import paths
from millrace.tune.arrays import array_settings
from millrace.tune.model import TuneReport
from millrace.tune.run import run
from tests.fakes.samples import plan, pool
from tests.unit.tune.fake_sysfs import add_array

LIMIT = "discard_max_bytes"
MOST = 2199023255040


@pytest.fixture
def queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The queue of the array of the data, which passes discards on."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    add_array(tmp_path, "data", "md127", [], parity=True)
    add_array(tmp_path, "log", "md126", [], parity=False)
    found = tmp_path / "sys/class/block/md127/queue"
    for name, value in ((LIMIT, MOST), ("discard_max_hw_bytes", MOST), ("discard_granularity", 1 << 20)):
        (found / name).write_text(f"{value}\n")
    return found


def pool_with(wanted: bool | None, distrusted: str | None = None) -> Pool:
    made = pool()
    serials = {one.serial for record in made.arrays for one in record.members}
    part = PartitionRecord(role=made.arrays[0].array.role, size=1, label="", partuuid="")
    drives = [
        DriveRecord(serial=one, wwid="", disk_label="", partitions=[part], discard=one != distrusted)
        for one in sorted(serials)
    ]
    filesystem = made.filesystem.model_copy(update={"discard": wanted})
    return made.model_copy(update={"filesystem": filesystem, "drives": drives})


def tuned(made: Pool, diff_only: bool = False, restore: bool = False) -> TuneReport:
    report = run([lambda: array_settings(plan().md, made)], diff_only, restore)
    mine = [one for one in report.drift if one.path.endswith(LIMIT)]
    return report.model_copy(update={"drift": mine})


def limit(queue: Path) -> str:
    return (queue / LIMIT).read_text().strip()


def test_limit_of_the_kernel_stays_where_discards_are_planned(queue: Path) -> None:
    assert tuned(pool_with(True)).drift == []
    assert limit(queue) == str(MOST)


def test_pool_without_a_decision_is_left_alone(queue: Path) -> None:
    assert tuned(pool_with(None)).drift == []
    (queue / LIMIT).write_text("0\n")
    assert tuned(pool_with(None)).drift == []


def test_discards_are_refused_where_the_plan_says_never(queue: Path) -> None:
    assert [one.wanted for one in tuned(pool_with(False)).drift] == ["0"]
    assert limit(queue) == "0"


def test_discards_are_refused_after_a_member_without_the_guarantee_came(queue: Path) -> None:
    serial = pool().arrays[0].members[0].serial
    (one,) = tuned(pool_with(True, distrusted=serial)).drift
    assert one.reason == f"{serial} may not read as zeroes after a discard"
    assert limit(queue) == "0"


def test_restoring_does_not_let_discards_through(queue: Path) -> None:
    tuned(pool_with(False))
    tuned(pool_with(False), restore=True)
    assert limit(queue) == "0"


def test_limit_comes_back_in_whole_units_when_all_members_guarantee_zeroes(queue: Path) -> None:
    (queue / LIMIT).write_text("0\n")
    tuned(pool_with(True))
    # the kernel refuses what is no multiple of the granularity
    assert int(limit(queue)) == MOST // (1 << 20) * (1 << 20)


def test_array_that_was_started_without_discards_is_named(queue: Path) -> None:
    for name in (LIMIT, "discard_max_hw_bytes"):
        (queue / name).write_text("0\n")
    report = tuned(pool_with(True))
    assert [one.changed for one in report.drift] == [False]
    assert [one for one in report.warnings if LIMIT in one and "restart the server" in one]
    assert limit(queue) == "0"
