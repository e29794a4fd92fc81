# SPDX-License-Identifier: Apache-2.0
"""Kernel names of arrays and of the drives under them are read from sysfs and /dev each time."""

from pathlib import Path

import pytest

from millrace.storage.array import devices


def drive(root: Path, name: str, partition: str | None = None) -> None:
    """A drive, and a partition of it."""
    there = root / "sys/devices" / name
    there.mkdir(parents=True, exist_ok=True)
    names = root / "sys/class/block"
    names.mkdir(parents=True, exist_ok=True)
    (names / name).symlink_to(there)
    if partition:
        (there / partition).mkdir()
        (there / partition / "partition").write_text("1\n")
        (names / partition).symlink_to(there / partition)


def array(root: Path, name: str, *members: str) -> None:
    there = root / "sys/devices/virtual/block" / name
    (there / "md").mkdir(parents=True)
    (there / "slaves").mkdir()
    for member in members:
        (there / "slaves" / member).symlink_to(root / "sys/class/block" / member)
    (root / "sys/class/block" / name).symlink_to(there)


def test_drives_of_an_array_are_named_without_their_partitions(root: Path) -> None:
    drive(root, "nvme0n1", "nvme0n1p1")
    drive(root, "nvme1n1", "nvme1n1p2")
    drive(root, "sdc")
    drive(root, "sdd")
    array(root, "md127", "nvme0n1p1", "nvme1n1p2", "sdc")
    assert devices.member_drives("md127") == {"nvme0n1", "nvme1n1", "sdc"}


def test_drives_of_a_raid0_are_those_of_its_legs(root: Path) -> None:
    for number in range(4):
        drive(root, f"nvme{number}n1", f"nvme{number}n1p1")
    array(root, "md125", "nvme0n1p1", "nvme1n1p1")
    array(root, "md126", "nvme2n1p1", "nvme3n1p1")
    array(root, "md127", "md125", "md126")
    assert devices.member_drives("md127") == {f"nvme{number}n1" for number in range(4)}
    assert devices.member_drives("md125") == {"nvme0n1", "nvme1n1"}
    assert devices.member_drives("gone") == set()


def test_an_array_is_found_by_its_link(root: Path) -> None:
    (root / "dev/md").mkdir(parents=True)
    (root / "dev/md/millrace-data").symlink_to("../md127")
    assert devices.array_device("data") == "md127"
    assert devices.array_device("log") is None
    assert devices.block("md127") == root / "sys/class/block/md127"


@pytest.mark.parametrize(
    ("name", "queues"),
    [
        ("nvme3n1", ["nvme3c0n1", "nvme3c1n1"]),
        ("nvme3n2", ["nvme3c0n2"]),
        ("nvme4n1", ["nvme4n1"]),
        ("sda", ["sda"]),
    ],
)
def test_a_drive_with_two_ports_has_a_queue_for_each_path(root: Path, name: str, queues: list[str]) -> None:
    for one in ("nvme3n1", "nvme3n2", "nvme3c1n1", "nvme3c0n1", "nvme3c0n2", "nvme4n1", "sda"):
        drive(root, one)
    assert devices.requests(name) == queues
