# SPDX-License-Identifier: Apache-2.0
"""An array has its link in /dev/md, or why it has none is one sentence."""

import pytest

from millrace.storage.array import md
from millrace.storage.record.model import ArrayRecord
from millrace.system.errors import Failed
from tests.fakes.drives.world import World
from tests.unit.storage.plans import raid6_plan
from tests.unit.storage.server import built


class Slow(World):
    """udev makes the link of an array only when it is triggered so many times."""

    needed = 1

    def md_link(self, name: str) -> str | None:
        return super().md_link(name) if len(self.udevadm("trigger")) >= self.needed else None

    def udevadm(self, verb: str) -> list[list[str]]:
        return [command for command in self.calls if command[:2] == ["udevadm", verb]]


@pytest.fixture
def data(world: World) -> ArrayRecord:
    """The data array of a pool that is built, from where on udev is slow."""
    (record,) = [one for one in built(world, raid6_plan()).arrays if one.array.name == "data"]
    world.__class__ = Slow
    world.calls.clear()
    return record


def device(world: World, record: ArrayRecord) -> str:
    (name,) = [name for name, array in world.arrays.items() if array.uuid == record.uuid]
    return name


def test_a_link_that_does_not_come_is_requested_once_more(world: World, data: ArrayRecord) -> None:
    md.ensure_link(world, data)
    assert [command for command in world.calls if command[0] == "udevadm"] == [
        ["udevadm", "wait", "--timeout=60", "/dev/md/millrace-data"],
        ["udevadm", "trigger", "--settle", "--action=change", f"/dev/{device(world, data)}"],
    ]


def test_a_link_that_is_there_is_not_requested(
    world: World, data: ArrayRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Slow, "needed", 0)
    md.ensure_link(world, data)
    assert isinstance(world, Slow) and world.udevadm("trigger") == []


def test_an_array_without_a_link_is_one_sentence(
    world: World, data: ArrayRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Slow, "needed", 2)
    with pytest.raises(Failed) as why:
        md.ensure_link(world, data)
    runs = f"RAID6 data runs as {device(world, data)} but /dev/md/millrace-data is missing; reboot"
    assert str(why.value) == runs


def test_an_array_that_does_not_run_has_no_link_to_wait_for(world: World, data: ArrayRecord) -> None:
    world.arrays[device(world, data)].state = "inactive"
    for _ in range(2):
        with pytest.raises(Failed) as why:
            md.ensure_link(world, data)
        assert str(why.value) == "RAID6 data is not running; see `journalctl -k` for the reason"
        assert isinstance(world, Slow) and world.udevadm("wait") == []
        world.arrays.clear()
