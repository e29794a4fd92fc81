# SPDX-License-Identifier: Apache-2.0
"""What is copied are the partitions that this system was started from, whatever else carries the same version."""

from pathlib import Path
from uuid import UUID

import pytest

from millrace.lifecycle.install.medium import medium
from millrace.system import paths
from millrace.system.errors import Failed
from tests.fakes.files.trees import Tree
from tests.unit.inventory.test_boot_disk import LOADER

HASH = "0123456789abcdef" * 2 + "fedcba9876543210" * 2
USR, VERITY, ESP = str(UUID(hex=HASH[:32])), str(UUID(hex=HASH[-32:])), "abcdef01-0000-4000-8000-000000000000"


def disk(tree: Tree, name: str, serial: str, usr: str = USR, esp: str = ESP) -> list[str]:
    tree.scsi(name, serial, f"usb-{name}", removable=True)
    return [tree.partition(name, 1, "esp", esp), tree.partition(name, 2, "", VERITY), tree.partition(name, 3, "", usr)]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    tree = Tree(tmp_path)
    tree.write("proc/cmdline", f"root=dissect usrhash={'f' * 64} usrhash={HASH} root=tmpfs millrace.install\n")
    tree.write("etc/os-release", "IMAGE_VERSION=0.1.0\n")
    tree.write(LOADER, "")
    (tmp_path / LOADER).write_bytes(b"\x06\0\0\0" + f"{ESP.upper()}\0".encode("utf-16-le"))
    return tree


def test_partitions_are_found_by_the_root_hash(tree: Tree) -> None:
    _, verity, usr = disk(tree, "sda", "STICK")
    tree.write(f"sys/block/sda/{usr}/size", "4194304\n")
    tree.mount(tree.over("dm-0", usr, verity), "/usr", "erofs")
    # an installed drive of the same version, which this boot did not come from
    disk(tree, "sdb", "OTHER", esp="99999999-0000-4000-8000-000000000000")
    found = medium()
    assert (found.disk, found.esp.name, found.verity.name, found.usr.name) == ("sda", "sda1", "sda2", "sda3")
    assert (found.usr.size, found.roothash, found.version) == (2 << 30, HASH, "0.1.0")
    assert (str(found.usr_uuid), str(found.verity_uuid)) == (USR, VERITY)


def test_system_without_a_root_hash_is_not_installed(tree: Tree) -> None:
    _, verity, usr = disk(tree, "sda", "STICK")
    tree.mount(tree.over("dm-0", usr, verity), "/usr", "erofs")
    tree.write("proc/cmdline", "root=/dev/sda3\n")
    with pytest.raises(Failed, match="does not run from a Millrace image"):
        medium()


def test_usr_that_the_root_hash_does_not_name_is_not_installed(tree: Tree) -> None:
    _, verity, usr = disk(tree, "sda", "STICK", usr="00000000-0000-4000-8000-000000000000")
    tree.mount(tree.over("dm-0", usr, verity), "/usr", "erofs")
    with pytest.raises(Failed, match="are not found"):
        medium()


def test_loader_of_another_drive_is_not_copied(tree: Tree) -> None:
    _, verity, usr = disk(tree, "sda", "STICK", esp="99999999-0000-4000-8000-000000000000")
    disk(tree, "sdb", "OTHER")
    tree.mount(tree.over("dm-0", usr, verity), "/usr", "erofs")
    with pytest.raises(Failed, match="came from two drives"):
        medium()


def test_two_drives_with_the_same_loader_are_not_told_apart(tree: Tree) -> None:
    _, verity, usr = disk(tree, "sda", "STICK")
    disk(tree, "sdb", "COPY")
    tree.mount(tree.over("dm-0", usr, verity), "/usr", "erofs")
    with pytest.raises(Failed, match="drives sda and sdb have the same boot partition"):
        medium()
