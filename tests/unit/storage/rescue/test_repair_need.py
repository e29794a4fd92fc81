# SPDX-License-Identifier: Apache-2.0
"""Memory and time of xfs_repair are shown before the steps that run it, against what the server has."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from millrace.storage.rescue import repair_need
from millrace.storage.rescue.rescue_model import RepairSize, ShownStep
from millrace.storage.rescue.rescue_steps import Choices
from millrace.storage.rescue.rescue_text import asked
from millrace.system.run import Result
from tests.fakes.drives.without_log import WithoutLog
from tests.unit.storage.conftest import root
from tests.unit.storage.plans import raid6_plan
from tests.unit.storage.rescue.lost import NEW, done, lost

__all__ = ["root"]

GIB = 1 << 30
MILLION = 10**6


@pytest.fixture
def world(root: Path, monkeypatch: pytest.MonkeyPatch) -> WithoutLog:
    room = SimpleNamespace(f_bavail=1 << 30, f_frsize=4096)
    monkeypatch.setattr("millrace.storage.rescue.image.os.statvfs", lambda _: room)
    return lost(raid6_plan(), *NEW)


def size(inodes: int, blocks: int = 0) -> RepairSize:
    return RepairSize(inodes=inodes, inode_size=512, groups=4, blocks=blocks)


def memory(root: Path, total: int, available: int) -> None:
    (root / "proc").mkdir(exist_ok=True)
    text = f"MemTotal: {total * GIB // 1024} kB\nMemAvailable: {available * GIB // 1024} kB\nSwapTotal: 0 kB\n"
    (root / "proc/meminfo").write_text(text)


def needs(steps: list[ShownStep]) -> dict[str, str]:
    return {one.name: one.need for one in steps if one.need}


def test_memory_that_is_enough_is_shown_with_the_time(root: Path) -> None:
    memory(root, 64, 60)
    assert repair_need.in_words(size(100 * MILLION)) == (
        "xfs_repair needs at least 18.68 GiB of memory for 100,000,000 inodes (measured: 200 bytes for each): of "
        "64 GiB, 60 GiB are available, and there is no swap. It takes at least 19 min of CPU time (measured with "
        "metadata in memory); how much longer it reads the drives is not known."
    )


def test_memory_that_is_not_enough_names_what_to_do(root: Path) -> None:
    memory(root, 128, 120)
    said = repair_need.in_words(size(1000 * MILLION))
    assert "at least 186.32 GiB" in said and "It would be killed, and its option -m does not help. Add memory" in said
    assert "move the drives to a server with more" in said and "3 h 4 min" in said


def test_estimate_of_xfs_repair_decides_whether_it_reads_ahead(root: Path) -> None:
    memory(root, 16, 12)
    # as `xfs_repair -n -vv -m 1` of xfsprogs 7.2 reckons: 8 TiB without files are 1072 MiB
    assert repair_need.own_estimate(size(64, 2_147_483_640)) // (1 << 20) == 1072
    assert repair_need.own_estimate(size(300_544, 26_214_400)) // (1 << 20) == 62
    assert "reads nothing ahead" not in repair_need.in_words(size(64, 2_147_483_640))
    assert "more than 75% of the memory: it then reads nothing ahead and is slow" in repair_need.in_words(
        size(64, 30 << 30)
    )


def test_server_whose_memory_is_not_known_says_so(root: Path) -> None:
    (root / "proc/meminfo").unlink(missing_ok=True)
    assert "the memory of this server is not known" in repair_need.in_words(size(1))


def test_need_is_counted_at_the_unmount_and_shown_before_each_step_that_repairs(world: WithoutLog, root: Path) -> None:
    memory(root, 64, 60)
    world.inodes = 40 * MILLION
    state = done(world, "stop")
    assert state.journal is not None and state.journal.size is not None and state.journal.size.inodes == 40 * MILLION
    assert set(needs(state.steps)) == {"judge", "repair"}
    state = done(world, "image")
    assert "40,000,000 inodes" in "\n".join(asked(state))
    state = done(world, "judge")
    assert set(needs(state.steps)) == {"repair"}
    done(world, "log", choices=Choices(drives=NEW))
    assert needs(done(world, "repair").steps) == {}


def test_memory_that_was_added_since_counts(world: WithoutLog, root: Path) -> None:
    memory(root, 4, 3)
    world.inodes = 40 * MILLION
    assert "It would be killed" in needs(done(world, "stop").steps)["judge"]
    memory(root, 64, 60)
    assert "It would be killed" not in needs(done(world, "image").steps)["judge"]


def test_inodes_that_cannot_be_counted_stop_nothing_and_are_not_known(world: WithoutLog) -> None:
    world.broken["xfs_db"] = Result(1, "", "Input/output error")
    state = done(world, "stop")
    assert state.next == "image" and state.journal is not None and state.journal.size is None
    assert "is not known: the inodes of the pool could not be counted" in needs(state.steps)["repair"]
