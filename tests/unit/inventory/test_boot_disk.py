# SPDX-License-Identifier: Apache-2.0
"""Drives of the running system are BOOT; if they cannot be determined, no drive is blank."""

from pathlib import Path

from millrace.inventory.boot_disk import same_boot_partition, two_drives
from millrace.inventory.collect import collect
from millrace.inventory.model import DriveState
from tests.fakes.files.trees import Tree, booted, nothing_found

LOADER = "sys/firmware/efi/efivars/LoaderDevicePartUUID-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"


def states(tree: Tree) -> dict[str, DriveState]:
    return {drive.name: drive.state for drive in collect(tree.root, nothing_found).drives}


def test_root_on_a_partition_and_usr_behind_verity(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    tree.nvme(0, "A")
    assert states(tree) == {"nvme0n1": DriveState.BLANK, "vda": DriveState.BOOT}


def test_both_halves_of_a_mirrored_root(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    for number in (1, 10, 11):
        tree.nvme(number, f"S{number}")
    tree.partition("nvme1n1", 1)
    tree.partition("nvme11n1", 1)
    tree.mount(tree.over("md0", "nvme1n1p1", "nvme11n1p1"), "/")
    boot = DriveState.BOOT
    assert states(tree) == {"nvme1n1": boot, "nvme10n1": DriveState.BLANK, "nvme11n1": boot}


def test_usr_on_another_drive_than_root(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    for number in range(3):
        tree.nvme(number, f"S{number}")
    tree.mount(tree.number_of(tree.partition("nvme0n1", 1)), "/")
    tree.mount(tree.over("dm-0", tree.partition("nvme1n1", 1), tree.partition("nvme1n1", 2)), "/usr", "erofs")
    assert states(tree) == {"nvme0n1": DriveState.BOOT, "nvme1n1": DriveState.BOOT, "nvme2n1": DriveState.BLANK}


def test_an_esp_that_is_not_mounted(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    tree.nvme(0, "ESP")
    tree.partition("nvme0n1", 1, "esp", partuuid="abcdef01-0000-4000-8000-000000000000")
    tree.write(LOADER, "")
    (tmp_path / LOADER).write_bytes(b"\x06\0\0\0" + "ABCDEF01-0000-4000-8000-000000000000\0".encode("utf-16-le"))
    assert states(tree)["nvme0n1"] is DriveState.BOOT


def started_from(tree: Tree, drive: str) -> None:
    uuid = "abcdef01-0000-4000-8000-000000000000"
    tree.partition(drive, 1, "esp", partuuid=uuid)
    tree.write(LOADER, "")
    (tree.root / LOADER).write_bytes(b"\x06\0\0\0" + f"{uuid}\0".encode("utf-16-le"))


def test_loader_and_usr_of_two_drives_are_named(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    for number in range(2):
        tree.nvme(number, f"S{number}")
    assert two_drives(tree.root) is None
    tree.mount(tree.over("dm-0", tree.partition("nvme1n1", 2), tree.partition("nvme1n1", 3)), "/usr", "erofs")
    assert two_drives(tree.root) is None
    started_from(tree, "nvme0n1")
    assert two_drives(tree.root) == ("nvme0n1", "nvme1n1")


def test_drives_of_one_image_are_named_and_none_of_them_is_written(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    for number in (0, 1):
        tree.nvme(number, f"S{number}")
    assert same_boot_partition(tree.root) == []
    started_from(tree, "nvme0n1")
    assert same_boot_partition(tree.root) == []
    started_from(tree, "nvme1n1")
    assert same_boot_partition(tree.root) == ["nvme0n1", "nvme1n1"]
    state_of = states(tree)
    assert (state_of["nvme0n1"], state_of["nvme1n1"]) == (DriveState.BOOT, DriveState.BOOT)


def test_loader_and_usr_of_one_drive_are_no_two(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.nvme(1, "S1")
    tree.mount(tree.over("dm-0", tree.partition("nvme1n1", 2), tree.partition("nvme1n1", 3)), "/usr", "erofs")
    started_from(tree, "nvme1n1")
    assert two_drives(tree.root) is None


def test_swap_and_any_other_mounted_file_system(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    tree.nvme(0, "SWAP")
    tree.nvme(1, "BACKUP")
    tree.write("proc/swaps", "Filename Type Size Used Priority\n/dev/nvme0n1 partition 1 0 -2\n/swapfile file 1 0 -3\n")
    tree.mount(tree.number_of("nvme1n1"), r"/mnt/old\040backup", "xfs")
    drives = {drive.name: drive for drive in collect(tree.root, nothing_found).drives}
    assert drives["nvme0n1"].state is DriveState.BOOT
    assert drives["nvme1n1"].state is DriveState.BOOT
    assert drives["nvme1n1"].evidence[0].finding == "carries /mnt/old backup"


def test_a_root_on_btrfs_is_found_by_its_source(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.nvme(0, "A")
    tree.nvme(1, "B")
    tree.partition("nvme0n1", 2)
    tree.mount("0:31", "/", "btrfs", "/dev/nvme0n1p2")
    assert states(tree) == {"nvme0n1": DriveState.BOOT, "nvme1n1": DriveState.BLANK}


def test_a_volatile_root_leaves_the_drive_of_usr(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.nvme(0, "A")
    tree.nvme(1, "B")
    tree.mount("0:21", "/", "tmpfs", "tmpfs")
    tree.mount(tree.number_of(tree.partition("nvme0n1", 1)), "/usr", "erofs")
    assert states(tree) == {"nvme0n1": DriveState.BOOT, "nvme1n1": DriveState.BLANK}


def test_nothing_is_blank_when_the_root_leads_nowhere(tmp_path: Path) -> None:
    for number, (device, kind) in enumerate((("0:45", "zfs"), ("0:46", "overlay"), ("253:7", "ext4"))):
        tree = Tree(tmp_path / str(number))
        tree.nvme(0, "A")
        tree.mount(device, "/", kind, "rpool/ROOT")
        drive = collect(tree.root, nothing_found).drives[0]
        assert drive.state is DriveState.UNKNOWN
        assert drive.evidence[0].finding == f"no drive found under / ({kind} on rpool/ROOT)"


def test_nothing_is_blank_when_the_mounts_cannot_be_read(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    tree.nvme(0, "A")
    (tmp_path / "proc/1/mountinfo").unlink()
    assert set(states(tree).values()) == {DriveState.UNKNOWN}
    assert "requires root" in collect(tree.root, nothing_found).drives[0].evidence[0].finding


def test_a_mounted_pool_is_ours_not_the_boot_disk(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    tree.nvme(0, "A")
    tree.nvme(1, "B")
    members = tree.partition("nvme0n1", 1, "millrace-data-00"), tree.partition("nvme1n1", 1, "millrace-data-01")
    tree.mount(tree.over("md127", *members), "/srv/pool", "xfs")
    assert states(tree) == {"nvme0n1": DriveState.OURS, "nvme1n1": DriveState.OURS, "vda": DriveState.BOOT}
