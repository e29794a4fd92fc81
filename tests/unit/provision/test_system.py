# SPDX-License-Identifier: Apache-2.0
"""Members are found in what udev has read, named by sysfs, and counted only where their drive is there."""

from pathlib import Path

from millrace.provision.model import MemberRecord
from millrace.provision.system import Linux, LiveMember

UUID = "d1fb9b2e-0102-0304-0506-0708090a0b0c"


def attribute(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def block(root: Path, number: int, *known: str) -> None:
    """An NVMe drive with one partition; `known` are the lines that udev keeps of the partition."""
    controller = root / f"sys/devices/pci0000:00/0000:0{number}:00.0/nvme/nvme{number}"
    attribute(controller / "serial", f"SN{number}\n")
    attribute(controller / "transport", "pcie\n")
    drive = controller / f"nvme{number}n1"
    attribute(drive / "wwid", f"eui.{number}\n")
    attribute(drive / "dev", f"259:{number * 2}\n")
    (drive / "device").symlink_to(controller)
    part = drive / f"nvme{number}n1p1"
    attribute(part / "partition", "1\n")
    attribute(part / "dev", f"259:{number * 2 + 1}\n")
    attribute(part / "uevent", f"DEVTYPE=partition\nPARTNAME=millrace-data-0{number}\nPARTUUID=0000000{number}-AA\n")
    names = root / "sys/class/block"
    names.mkdir(parents=True, exist_ok=True)
    for one in (drive, part):
        (names / one.name).symlink_to(one)
    attribute(root / f"run/udev/data/b259:{number * 2 + 1}", "".join(f"{line}\n" for line in known))


def test_superblocks_are_those_that_udev_has_read(root: Path) -> None:
    block(root, 1, "S:disk/by-partuuid/1", "E:ID_FS_TYPE=linux_raid_member", f"E:ID_FS_UUID={UUID}")
    block(root, 2, "E:ID_FS_TYPE=xfs", f"E:ID_FS_UUID={UUID}")
    attribute(root / "run/udev/data/b259:4", f"E:ID_FS_TYPE=linux_raid_member\nE:ID_FS_UUID={UUID}\n")
    assert Linux().md_superblocks() == {"nvme1n1p1": UUID, "nvme2n1": UUID}


def test_a_member_is_named_by_its_drive_and_its_partition(root: Path) -> None:
    block(root, 1)
    assert Linux().identity("nvme1n1p1") == MemberRecord(
        serial="SN1", wwid="eui.1", partuuid="00000001-aa", label="millrace-data-01"
    )
    assert Linux().identity("nvme1n1") == MemberRecord(serial="SN1", wwid="eui.1", partuuid="", label="")


def test_members_of_an_array_are_those_whose_drive_is_there(root: Path) -> None:
    for number, (state, slot) in enumerate(
        [("in_sync", "0"), ("spare", "none"), ("in_sync,replacement", "0"), ("faulty", "none"), ("in_sync", "1")]
    ):
        member = root / f"sys/block/md127/md/dev-nvme{number}n1p1"
        attribute(member / "state", f"{state}\n")
        attribute(member / "slot", f"{slot}\n")
        # the last one was pulled
        (member / "block").symlink_to(root if number != 4 else root / "gone")
    members = Linux().md_members("md127")
    assert members[:2] == [
        LiveMember("nvme0n1p1", 0, frozenset({"in_sync"})),
        LiveMember("nvme1n1p1", None, frozenset({"spare"})),
    ]
    assert [one.in_sync for one in members] == [True, False, False, False]


def test_a_repair_is_asked_of_md(root: Path) -> None:
    attribute(root / "sys/block/md127/md/sync_action", "idle\n")
    Linux().md_repair("md127")
    assert (root / "sys/block/md127/md/sync_action").read_text() == "repair"
