# SPDX-License-Identifier: Apache-2.0
"""The inventory waits until the list of drives is stable."""

from collections.abc import Callable
from pathlib import Path

import pytest

from millrace.inventory.settle import wait_stable
from millrace.system.errors import Failed
from tests.fakes.files.trees import Tree, nothing_found


class Boot:
    """Time that passes only in pauses; at each pause something may happen."""

    def __init__(self, happens: Callable[[int], object]) -> None:
        self.now = 0.0
        self.pauses = 0
        self.happens = happens

    def clock(self) -> float:
        return self.now

    def pause(self, seconds: float) -> None:
        self.now += seconds
        self.pauses += 1
        self.happens(self.pauses)

    def wait(self, tree: Tree) -> None:
        wait_stable(tree.root, nothing_found, self.clock, self.pause)


def test_drives_that_are_all_there_cost_one_look(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.nvme(0, "A")
    boot = Boot(lambda pause: None)
    boot.wait(tree)
    assert boot.pauses == 1


def test_late_drives_are_waited_for(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.nvme(0, "A")
    boot = Boot(lambda pause: tree.nvme(pause, f"S{pause}") if pause < 4 else None)
    boot.wait(tree)
    assert boot.pauses == 4


def test_a_controller_that_is_starting_is_waited_for(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.nvme(0, "A", state="connecting")
    state = tmp_path / "sys/class/nvme/nvme0/state"
    boot = Boot(lambda pause: state.write_text("live\n") if pause == 5 else None)
    boot.wait(tree)
    assert boot.pauses == 5


def test_a_controller_without_a_drive_is_not_waited_for_forever(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.write("sys/class/nvme/nvme7/state", "live\n")
    boot = Boot(lambda pause: None)
    boot.wait(tree)
    assert boot.now == 60


def test_a_drive_that_comes_and_goes_is_an_error(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.nvme(0, "A")
    sizes = tmp_path / "sys/block/nvme0n1/size"
    boot = Boot(lambda pause: sizes.write_text(f"{pause}\n"))
    with pytest.raises(Failed, match="still changing after 60 s"):
        boot.wait(tree)
