# SPDX-License-Identifier: Apache-2.0
"""Each drive has its serial number, NUMA node and PCI address; duplicates are unknown."""

from pathlib import Path

from millrace.inventory.collect import collect
from millrace.inventory.drives import natural_key
from millrace.inventory.model import Drive, DriveState, PcieLink
from millrace.system.run import Result
from tests.fakes.files.trees import Tree, booted, nothing_found


def drives(tree: Tree) -> dict[str, Drive]:
    return {drive.name: drive for drive in collect(tree.root, nothing_found).drives}


def test_nvme1_and_nvme10_keep_their_own_serial_and_place(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    tree.nvme(10, "TEN", numa_node=1)
    tree.nvme(1, "ONE")
    by_name = drives(tree)
    assert list(by_name) == ["nvme1n1", "nvme10n1", "vda"]
    first, ten = by_name["nvme1n1"], by_name["nvme10n1"]
    assert (first.serial, first.wwid, first.pci_address, first.numa_node) == ("ONE", "eui.ONE", "0000:02:00.0", 0)
    assert (ten.serial, ten.wwid, ten.pci_address, ten.numa_node) == ("TEN", "eui.TEN", "0000:0b:00.0", 1)
    assert (first.transport, first.model, first.firmware, first.size) == ("nvme", "ACME 7T68", "1.0", 64 << 20)
    assert (first.logical_block, first.physical_block, first.rotational, first.removable) == (512, 4096, False, False)
    assert first.link == PcieLink(speed=16.0, width=4, max_speed=32.0, max_width=4)


def test_a_firmware_that_names_no_numa_node_leaves_it_open(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    tree.nvme(0, "MINUS", numa_node=-1)
    tree.nvme(1, "GONE")
    for path in tmp_path.glob("sys/devices/pci0000:00/*/0000:02:00.0/numa_node"):
        path.unlink()
    found = drives(tree)
    assert found["nvme0n1"].numa_node is None
    assert found["nvme1n1"].numa_node is None


def test_a_link_that_does_not_say_its_speed_is_unknown_not_zero(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    tree.nvme(0, "S")
    for path in tmp_path.glob("sys/devices/pci0000:00/*/0000:01:00.0/current_link_speed"):
        path.write_text("Unknown\n")
    assert drives(tree)["nvme0n1"].link is None


def test_a_drive_with_two_ports_is_one_drive(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    tree.multipath(3, "DUAL")
    found = drives(tree)
    assert "nvme3c3n1" not in found
    dual = found["nvme3n1"]
    assert (dual.serial, dual.model, dual.transport) == ("DUAL", "ACME dual port", "nvme")
    assert (dual.pci_address, dual.numa_node, dual.state) == ("0000:ff:00.0", 1, DriveState.BLANK)


def test_a_namespace_from_the_network_is_not_a_drive_of_this_server(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    tree.nvme(0, "REMOTE", transport="tcp")
    assert drives(tree)["nvme0n1"].transport == "nvme-tcp"


def test_a_usb_stick_and_a_sata_disk_are_seen_as_such(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    tree.scsi("sda", "4C5300", "usb1/1-2/1-2:1.0", removable=True)
    tree.scsi("sdb", "S3Z8NB", "ata3", removable=False)
    stick, disk = drives(tree)["sda"], drives(tree)["sdb"]
    assert (stick.serial, stick.transport, stick.removable, stick.model) == ("4C5300", "usb", True, "SanDisk Ultra")
    assert (disk.serial, disk.transport, disk.removable) == ("S3Z8NB", "sata", False)


def test_devices_made_of_other_devices_are_no_drives(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    for name in ("loop0", "ram0", "zram0", "sr0", "fd0", "md127"):
        tree.disk(tmp_path / "sys/devices/virtual/block" / name, 1 << 20)
    assert list(drives(tree)) == ["vda"]


def test_two_drives_with_one_serial_or_one_wwid_are_unknown(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    tree.nvme(0, "TWIN", wwid="eui.a")
    tree.nvme(1, "TWIN", wwid="eui.b")
    tree.nvme(2, "LEFT", wwid="eui.same")
    tree.nvme(3, "RIGHT", wwid="eui.same")
    tree.nvme(4, "ALONE")
    by_name = drives(tree)
    twin, left = by_name["nvme0n1"], by_name["nvme2n1"]
    assert by_name["nvme1n1"].state is twin.state is DriveState.UNKNOWN
    assert twin.evidence[0].finding == "2 drives have the serial number TWIN"
    assert by_name["nvme3n1"].state is left.state is DriveState.UNKNOWN
    assert left.evidence[0].finding == "2 drives have the wwid eui.same"
    assert by_name["nvme4n1"].state is DriveState.BLANK


def test_a_drive_without_a_serial_number_is_unknown(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    tree.nvme(0, "")
    drive = drives(tree)["nvme0n1"]
    assert drive.state is DriveState.UNKNOWN
    assert drive.evidence[0].finding == "the drive has no serial number"


def test_a_drive_cannot_drive_the_terminal(tmp_path: Path) -> None:
    """What its firmware says is escaped; two that differ in what cannot be seen are two."""
    tree = booted(tmp_path)
    tree.nvme(0, "S1\x1b]0;pwned\x07", model="ACME\x1b[2J\u202eX", firmware_rev="1\x9b0")
    tree.nvme(1, "S1", wwid="eui.1")
    label = Result(0, "TYPE=xfs\nLABEL=evil\x1b]0;pwned\x07\n", "")
    collected = collect(tmp_path, lambda argv: label if argv[0] == "blkid" else nothing_found(argv)).drives
    first, second, *_ = collected
    assert first.serial == "S1\\x1b]0;pwned\\x07" and second.serial == "S1"
    assert first.model == "ACME\\x1b[2J\\u202eX"
    for drive in (first, second):
        assert drive.model_dump_json().isprintable()
        assert all(value.isprintable() for value in drive.model_dump().values() if isinstance(value, str))
        assert all(evidence.finding.isprintable() for evidence in drive.evidence)
    assert any("evil" in evidence.finding for evidence in first.evidence)


def test_names_by_id_and_the_geometry_are_what_udev_and_the_kernel_know(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    tree.nvme(0, "S")
    block = (tmp_path / "sys/block/nvme0n1").resolve()
    tree.write(block / "dev", "259:7\n")
    tree.write(block / "queue/minimum_io_size", "131072\n")
    tree.write(block / "queue/optimal_io_size", "1048576\n")
    lines = "S:disk/by-path/pci-1\nS:disk/by-id/nvme-S\nS:disk/by-id/nvme-eui.S\nE:ID_SERIAL=S\n"
    tree.write(tmp_path / "run/udev/data/b259:7", lines)
    drive = drives(tree)["nvme0n1"]
    assert drive.links == ["/dev/disk/by-id/nvme-S", "/dev/disk/by-id/nvme-eui.S"]
    assert (drive.minimum_io, drive.optimal_io) == (131072, 1048576)


def test_a_device_of_xiraid_is_known_by_the_name_of_its_array(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    for name in ("xi_data", "other"):
        tree.write(tmp_path / "sys/devices/virtual/block" / name / "size", "2048\n")
        (tmp_path / "sys/block" / name).symlink_to(tmp_path / "sys/devices/virtual/block" / name)
    found = drives(tree)
    assert (found["xi_data"].serial, found["other"].serial) == ("xi_data", "")


def test_digits_that_are_no_decimal_ones_are_letters_of_a_name() -> None:
    assert sorted(["x1²", "x10", "x1"], key=natural_key) == ["x1", "x1²", "x10"]
