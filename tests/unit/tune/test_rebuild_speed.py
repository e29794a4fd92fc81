# SPDX-License-Identifier: Apache-2.0
"""The floor of a rebuild rises as redundancy falls, and the priority moves it."""

from pathlib import Path

import pytest

from millrace.storage.record.model import Pool
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.tune import rebuild_speed
from millrace.tune.knob import Knob
from millrace.tune.priorities import Priority
from millrace.tune.rebuild_speed import PriorityDocument
from tests.fakes.samples import plan, pool
from tests.unit.tune.fake_sysfs import add_array

# KiB/s: what the sample plan lets a rebuild use of each drive.
MOST = 2_000_000


@pytest.fixture(autouse=True)
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    add_array(tmp_path, "data", "md127", [], parity=True)
    add_array(tmp_path, "log", "md126", [], parity=False)
    for device in ("md127", "md126"):
        lose(tmp_path, device, 0)
        put(tmp_path, device, "sync_speed_min", "1000 (system)")
    return tmp_path


def put(root: Path, device: str, name: str, text: str) -> None:
    (root / "sys/class/block" / device / "md" / name).write_text(f"{text}\n")


def lose(root: Path, device: str, missing: int) -> None:
    put(root, device, "degraded", str(missing))


def floors(wanted: Priority, of: Pool | None = None) -> dict[str, int]:
    return {one.array: one.kib for one in rebuild_speed.paces(plan().md, of or pool(), wanted)}


@pytest.mark.parametrize(
    ("missing", "wanted", "kib"),
    [
        (0, "clients", 100_000),
        (0, "balanced", 100_000),
        (0, "rebuild", 100_000),
        (1, "clients", 100_000),
        (1, "balanced", MOST // 8),
        (1, "rebuild", MOST // 4),
        (2, "clients", MOST // 8),
        (2, "balanced", MOST // 4),
        (2, "rebuild", MOST),
    ],
)
def test_floor_of_raid6_rises_with_each_missing_member(server: Path, missing: int, wanted: Priority, kib: int) -> None:
    lose(server, "md127", missing)
    assert floors(wanted)["data"] == kib


@pytest.mark.parametrize(
    ("missing", "wanted", "kib"),
    [
        (0, "balanced", 5000),
        (1, "balanced", 5000),
        # with no redundancy left it is in a hurry, whatever was measured while nothing was missing
        (2, "balanced", MOST // 4),
        # what an administrator says of this rebuild is newer
        (1, "clients", 100_000),
        (1, "rebuild", MOST // 4),
    ],
)
def test_policy_is_the_floor_while_an_array_survives_a_failure(
    server: Path, missing: int, wanted: Priority, kib: int
) -> None:
    lose(server, "md127", missing)
    found = {one.array: one for one in rebuild_speed.paces(plan().md, pool(), wanted, 5000)}
    assert found["data"].kib == kib and (found["data"].reason == "set by the policy") == (kib == 5000)


def test_mirror_without_its_half_has_no_redundancy_left(server: Path) -> None:
    lose(server, "md126", 1)
    assert floors("balanced") == {"data": 100_000, "log": MOST // 4}


def test_raid6_with_two_of_three_failures_left_is_not_in_a_hurry(server: Path) -> None:
    three = pool()
    log = three.arrays[1]
    mirror = log.array.model_copy(update={"members": ["L0", "L1", "L2", "L3"]})
    lose(server, "md126", 1)
    arrays = [three.arrays[0], log.model_copy(update={"array": mirror})]
    assert floors("balanced", three.model_copy(update={"arrays": arrays}))["log"] == 100_000


def test_policy_below_the_guarantee_limits_every_step(server: Path) -> None:
    slow = plan().md.model_copy(update={"sync_speed_max": 8000})
    for missing in range(3):
        lose(server, "md127", missing)
        for wanted in rebuild_speed.PRIORITIES:
            assert {1000 <= one.kib <= 8000 for one in rebuild_speed.paces(slow, pool(), wanted)} == {True}


def test_priority_that_was_chosen_is_set_with_a_reason(server: Path) -> None:
    lose(server, "md127", 1)
    write_model(paths.priority_file(), PriorityDocument(priority="rebuild"))
    setting = rebuild_speed.pace_settings(plan().md, pool())[0]
    assert isinstance(setting, Knob)
    assert (setting.wanted, setting.reason, setting.default) == (
        str(MOST // 4),
        "it survives 1 more failure, priority rebuild",
        "system",
    )
    setting.write(setting.wanted)
    assert setting.read() == str(MOST // 4)


def test_document_that_cannot_be_read_is_balanced(server: Path) -> None:
    assert rebuild_speed.priority() == "balanced"
    paths.priority_file().parent.mkdir(parents=True)
    paths.priority_file().write_text("{")
    assert rebuild_speed.priority() == "balanced"


def test_array_that_is_checked_keeps_the_limits_of_the_check(server: Path) -> None:
    put(server, "md127", "sync_action", "check")
    assert {str(one.label).split("/")[-3] for one in rebuild_speed.pace_settings(plan().md, pool())} == {"md126"}


def test_array_that_does_not_run_has_no_floor(server: Path) -> None:
    (server / "dev/md/millrace-log").unlink()
    assert list(floors("balanced")) == ["data"]
