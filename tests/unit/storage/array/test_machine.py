# SPDX-License-Identifier: Apache-2.0
"""Members are read from udev and sysfs, and counted only with their drive."""

import errno
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.storage.array.machine import Linux, LiveMember
from millrace.storage.record.model import MemberRecord
from millrace.system.errors import Failed

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
    for device in (drive, part):
        (names / device.name).symlink_to(device)
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
    assert [member.in_sync for member in members] == [True, False, False, False]
    assert Linux().md_kept_slots("md127") == {0, 1}


def test_arrays_with_parity_start_with_what_is_written_to_the_module(root: Path) -> None:
    parameter = root / "sys/module/raid456/parameters/devices_handle_discard_safely"
    attribute(parameter, "N\n")
    Linux().md_discard(True)
    assert parameter.read_text() == "Y"
    Linux().md_discard(False)
    assert parameter.read_text() == "N"


def test_an_array_refuses_discards_or_it_is_an_error(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = root / "sys/block/md127/queue/discard_max_bytes"
    attribute(limit, "2199023255040\n")
    Linux().md_no_discard("md127")
    assert limit.read_text() == "0"
    limit.write_text("1048576\n")
    monkeypatch.setattr("millrace.storage.array.machine.sysfs.write", lambda path, text: None)
    with pytest.raises(OSError, match="discard_max_bytes is 1048576"):
        Linux().md_no_discard("md127")


def test_partitions_and_arrays_are_found_by_the_links_of_udev(root: Path) -> None:
    for name in ("nvme1n1p1", "md127"):
        attribute(root / "dev" / name, "")
    for link, name in {"disk/by-partuuid/1-aa": "nvme1n1p1", "md/millrace-data": "md127", "md/stale": "gone"}.items():
        (root / "dev" / link).parent.mkdir(parents=True, exist_ok=True)
        (root / "dev" / link).symlink_to(root / "dev" / name)
    system = Linux()
    assert (system.partition("1-aa"), system.partition("2-bb")) == ("nvme1n1p1", None)
    assert (system.md_link("millrace-data"), system.md_link("millrace-log")) == ("md127", None)
    # a link that leads nowhere is none
    assert system.md_link("stale") is None


def test_arrays_are_the_block_devices_with_an_md_directory(root: Path) -> None:
    for path in ("md127/md/array_state", "md126/md/array_state", "md_d0/stat", "sda/md/array_state"):
        attribute(root / "sys/block" / path, "clean\n")
    attribute(root / "sys/block/md126/md/array_state", "inactive\n")
    system = Linux()
    assert system.md_devices() == ["md126", "md127"]
    assert [system.md_state(name) for name in ("md127", "md126", "md5")] == ["clean", "inactive", "clear"]


def test_partitions_of_pools_are_known_by_their_labels_and_by_what_udev_read(root: Path) -> None:
    held = {"vda1": ("millrace-data-00", "xfs"), "vdb1": ("millrace-log-00", ""), "vdc1": ("root", "ext4")}
    for number, (name, (label, kind)) in enumerate(held.items()):
        attribute(root / "sys/class/block" / name / "uevent", f"PARTN=1\nPARTNAME={label}\n")
        attribute(root / "sys/class/block" / name / "dev", f"252:{number}\n")
        attribute(root / "sys/class/block" / name / "size", "2048\n")
        attribute(root / f"run/udev/data/b252:{number}", f"E:ID_FS_TYPE={kind}\n" if kind else "E:DEVTYPE=partition\n")
    assert Linux().pool_partitions() == {"vda1": "xfs", "vdb1": ""}
    assert (Linux().partition_size("vda1"), Linux().partition_size("vdz1")) == (1 << 20, 0)


def test_a_disk_of_which_the_kernel_makes_no_partitions_is_known(root: Path) -> None:
    attribute(root / "sys/class/block/xi_data/ext_range", "1\n")
    attribute(root / "sys/class/block/vda/ext_range", "256\n")
    assert [Linux().takes_partitions(name) for name in ("xi_data", "vda", "vdb")] == [False, True, True]


def test_a_disk_is_another_one_when_its_number_changed(root: Path) -> None:
    attribute(root / "sys/class/block/sda/diskseq", "7\n")
    assert (Linux().diskseq("sda"), Linux().diskseq("sdb")) == ("7", None)


def test_a_device_that_cannot_be_opened_alone_is_in_use(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attribute(root / "dev/sda", "")
    real = os.open
    flags: list[int] = []

    def opened(path: Path, how: int) -> int:
        flags.append(how)
        if path.name == "sdb":
            raise OSError(errno.EBUSY, "Device or resource busy")
        return real(path, how)

    monkeypatch.setattr(os, "open", opened)
    assert Linux().in_use("sda") is None
    assert Linux().in_use("sdb") == "Device or resource busy"
    assert Linux().in_use("sdc") == "No such file or directory"
    # exclusively, and only to look
    assert set(flags) == {os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC}


def test_a_disk_that_cannot_be_read_is_one_sentence(root: Path) -> None:
    with pytest.raises(Failed) as why:
        Linux().gpt_ids("sda", 512)
    assert str(why.value) == "sda cannot be read (No such file or directory); check the drive and its slot"
    attribute(root / "dev/sda", "\0" * (1 << 20))
    assert Linux().gpt_ids("sda", 512) == frozenset()


def test_tools_and_the_time_are_those_of_the_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "mdadm").write_text("#!/bin/sh\n")
    (tmp_path / "mdadm").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Linux().installed("mdadm") and not Linux().installed("sfdisk")
    now = datetime.fromisoformat(Linux().now())
    assert now.utcoffset() == timedelta(0) and now.microsecond == 0
    assert abs(datetime.now(UTC) - now) < timedelta(minutes=1)
