# SPDX-License-Identifier: Apache-2.0
"""A root file system that is full, without inodes or read-only is seen before a change fails."""

import os
from pathlib import Path

import pytest

from millrace.observe.health.checks import root
from millrace.observe.health.model import Level
from millrace.system import paths
from tests.fakes.mounts import mount
from tests.unit.observe.health.servers import host, sentences


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    (tmp_path / "proc/1").mkdir(parents=True)
    mounted(tmp_path, "rw,relatime")
    return tmp_path


def mounted(server: Path, options: str) -> None:
    mount(server, "/dev/vda5", "/", "ext4", options)


def holds(monkeypatch: pytest.MonkeyPatch, blocks: int, inodes: int) -> None:
    """Percent in use."""
    space = os.statvfs_result((4096, 4096, 1000, 1000 - 10 * blocks, 1000 - 10 * blocks, 1000, 1000 - 10 * inodes,
                               1000 - 10 * inodes, 0, 255))  # fmt: skip
    monkeypatch.setattr(os, "statvfs", lambda path: space)


@pytest.mark.parametrize(
    ("blocks", "inodes", "level"),
    [(40, 3, Level.OK), (90, 3, Level.WARN), (98, 3, Level.FAIL), (40, 90, Level.WARN), (40, 99, Level.FAIL)],
)
def test_room_and_inodes(server: Path, monkeypatch: pytest.MonkeyPatch, blocks: int, inodes: int, level: Level) -> None:
    holds(monkeypatch, blocks, inodes)
    [finding] = root.check(host())
    assert finding.level is level
    assert f"{blocks} % full" in finding.sentence and f"{inodes} % of its inodes" in finding.sentence


@pytest.mark.parametrize("options", ["ro,relatime", "rw,relatime,emergency_ro", "rw,shutdown"])
def test_read_only(server: Path, options: str) -> None:
    mounted(server, options)
    assert "FAIL: The root file system is read-only" in sentences(root.check(host()))


def test_a_second_drive_of_the_same_image(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(root, "same_boot_partition", lambda sysroot: ["sda", "sdb"])
    [twins, space] = root.check(host())
    assert (twins.level, twins.kind, space.kind) == (Level.WARN, "twins", "space")
    assert "Drives sda and sdb have the same boot partition" in twins.sentence
    # with a file system that cannot be written, too
    mounted(server, "ro")
    assert [one.level for one in root.check(host())] == [Level.WARN, Level.FAIL]
