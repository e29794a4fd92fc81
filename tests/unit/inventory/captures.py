# SPDX-License-Identifier: Apache-2.0
"""A server that is captured, for tests of what writes captures and of what reads them."""

import json
import tarfile
from collections.abc import Sequence
from pathlib import Path

from millrace.inventory.capture import capture
from millrace.inventory.model import Inventory
from millrace.system.run import Result, attempt, must
from tests.fakes.files.trees import Tree, booted
from tests.unit.inventory import hardware, images

IDENTITY = {"serial", "wwid", "eui64", "nguid", "evidence"}
MAC = "0015b3a1c2d4"
MODULES_DEP = """kernel/fs/xfs/xfs.ko.xz:
updates/millrace/fs/nfsd/nfsd.ko.xz: kernel/x/secret.ko.xz
kernel/x/secret.ko.xz:
"""


def answers(argv: Sequence[str]) -> Result:
    """Tools as root; one drive belonged to a host with a name."""
    healthy = hardware.answers(argv)
    if argv[0] == "mdadm" and argv[-1].endswith("nvme1n1"):
        return Result(0, "          Version : 1.2\n             Name : goldfish:7  (local to host goldfish)\n", "")
    if argv[0] == "blkid" and argv[-1].endswith("nvme1n1"):
        return Result(0, "LABEL=Payroll\nUUID=0e7b47c2-9f3f-4e0e-8f3a-0c9a4c3c8a55\nTYPE=xfs\n", "")
    if argv[0] == "wipefs" and argv[-1].endswith("nvme10n1"):
        return Result(1, "", "wipefs: S64HNE0T500010 at 10.20.30.40 (fe80::215:b3ff:fea1:c2d4) on goldfish is broken")
    return healthy


def server(root: Path) -> Tree:
    """Four NVMe drives, one of them foreign, a SATA disk, two ports."""
    tree = booted(root)
    tree.write("etc/machine-id", "8d1f4c7a3b5e4f0d9c2b1a0e7f6d5c4b\n")
    tree.write("proc/sys/kernel/hostname", "goldfish\n")
    tree.cpus(("0-1", ["0", "1"]), ("2-3", ["2", "3"]))
    for number in (0, 1, 10):
        tree.nvme(number, f"S64HNE0T5000{number:02}", wwid=f"eui.36344830545000{number:02}0025384300000001")
    images.xfs(root / "dev/nvme1n1")
    hardware.behind_switch(tree, 3, "PHLJ912300AB1P0F")
    tree.scsi("sda", "S3Z8NB0K123456X", "ata3", removable=False)
    (tree.nic(f"enx{MAC}", speed="100000", carrier="1", address="00:15:b3:a1:c2:d4") / "infiniband/mlx5_0").mkdir(
        parents=True
    )
    (root / "sys/class/infiniband").mkdir()
    (root / "sys/class/infiniband/mlx5_0").symlink_to(
        "../../devices/pci0000:80/0000:80:01.0/0000:81:00.0/infiniband/mlx5_0"
    )
    hardware.pci_slot(tree, "12", "0000:02:00")
    hardware.dimm(tree, 0, 65536, 5600)
    tree.write("sys/devices/virtual/dmi/id/product_serial", "CZ3042XYZ9\n")
    tree.write("usr/lib/modules/7.2.12+deb14-amd64/modules.dep", MODULES_DEP)
    tree.mount("0:55", "/home/alice", "nfs4", "filer.corp.example:/home")
    tree.mount(tree.number_of(tree.partition("sda", 1, "Alice backup")), "/media/alice", "ext4", "/dev/sda1")
    return tree


def seen(inventory: Inventory, keep: bool = False) -> dict[str, object]:
    """An inventory without what a capture hides."""
    document = json.loads(inventory.model_dump_json())
    for drive in document["drives"]:
        for key in IDENTITY if not keep else {"evidence"}:
            del drive[key]
    for nic in document["nics"]:
        nic["name"] = "enx" if nic["name"].startswith("enx") else nic["name"]
    assert isinstance(document, dict)
    return document


def unpacked(file: Path, directory: Path) -> Path:
    """What a person does who wants to look inside."""
    must(attempt, ["zstd", "-q", "-d", str(file), "-o", str(directory) + ".tar"])
    with tarfile.open(str(directory) + ".tar") as archive:
        for member in archive:
            target = directory / member.name
            target.parent.mkdir(parents=True, exist_ok=True)
            if member.issym():
                target.symlink_to(member.linkname)
            elif member.isdir():
                target.mkdir(exist_ok=True)
            else:
                content = archive.extractfile(member)
                assert content is not None
                target.write_bytes(content.read())
    return directory


def captured(directory: Path) -> tuple[Inventory, Path]:
    """The inventory of `server`, and a capture of it."""
    root = directory / "server"
    server(root)
    file = directory / "server.tar.zst"
    return capture(file, sysroot=root, run=answers), file
