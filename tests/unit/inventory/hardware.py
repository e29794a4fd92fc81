# SPDX-License-Identifier: Apache-2.0
"""What real servers have besides drives and ports: slots, switches, health logs, memory, as files and answers."""

import json
from collections.abc import Sequence
from pathlib import Path

from millrace.system.run import Result
from tests.fakes.files.trees import Tree, nothing_found

NAMESPACE = {
    "nsze": 1 << 30,
    "flbas": 0,
    "dlfeat": 9,
    "nguid": "00000000000000000000000000000000",
    "eui64": "0025385b71b0c1d2",
    "lbafs": [{"ms": 0, "ds": 9, "rp": 2}, {"ms": 0, "ds": 12, "rp": 0}, {"ms": 0, "ds": 0, "rp": 0}],
}
HEALTH = {"critical_warning": 0, "temperature": 318, "avail_spare": 100, "percent_used": 7}
ETHTOOL = "driver: mlx5_core\nversion: 7.2.12\nfirmware-version: 28.41.1000 (MT_0000000838)\nbus-info: 0000:81:00.0\n"


def answers(argv: Sequence[str]) -> Result:
    """Tools of a healthy server, as root. Raises UnknownCommand for what none of them takes."""
    nothing = nothing_found(argv)
    match argv[:2]:
        case ["nvme", "id-ns"]:
            return Result(0, json.dumps(NAMESPACE), "")
        case ["nvme", "id-ctrl"]:
            return Result(0, json.dumps({"sn": "S64HNE0T500123", "vwc": 7}), "")
        case ["nvme", "smart-log"]:
            return Result(0, json.dumps(HEALTH), "")
        case ["ethtool", "-i"]:
            return Result(0, ETHTOOL, "")
    return nothing


def denied(argv: Sequence[str]) -> Result:
    """The same tools for a user other than root. Raises UnknownCommand for what none of them takes."""
    nothing = nothing_found(argv)
    return Result(1, "", "Permission denied") if argv[0] in ("nvme", "ethtool") else nothing


def behind_switch(tree: Tree, number: int, serial: str, node: int = 0) -> str:
    """An NVMe drive behind a PCIe switch with a Gen4 x8 link to its root port."""
    root_port = tree.root / "sys/devices/pci0000:40/0000:40:01.1"
    upstream = root_port / "0000:41:00.0"
    for attribute, value in {
        "current_link_speed": "16.0 GT/s PCIe",
        "max_link_speed": "16.0 GT/s PCIe",
        "current_link_width": "8",
        "max_link_width": "16",
        "numa_node": str(node),
    }.items():
        tree.write(upstream / attribute, value + "\n")
    name = tree.nvme(number, serial, numa_node=node)
    before = tree.root / f"sys/devices/pci0000:00/0000:00:{number:02x}.0/0000:{number + 1:02x}:00.0"
    after = upstream / f"0000:42:{number:02x}.0" / before.name
    after.parent.mkdir(parents=True, exist_ok=True)
    tree.write(after.parent / "max_link_speed", "16.0 GT/s PCIe\n")
    tree.write(after.parent / "max_link_width", "4\n")
    before.rename(after)
    _relink(tree.root)
    return name


def _relink(root: Path) -> None:
    """Point links to the devices that have moved."""
    targets = {path.name: path for path in (root / "sys/devices").rglob("nvme*") if path.is_dir()}
    for place in ("sys/block", "sys/class/block", "sys/class/nvme", "sys/dev/block"):
        for link in (root / place).iterdir():
            name = link.readlink().name
            if not link.exists() and name in targets:
                link.unlink()
                link.symlink_to(Path("../" * len(Path(place).parts)) / targets[name].relative_to(root))


def pci_slot(tree: Tree, name: str, address: str) -> None:
    """A hot-plug slot of the board."""
    tree.write(f"sys/bus/pci/slots/{name}/address", address + "\n")


def dimm(tree: Tree, number: int, size_mib: int, speed: int, serial: bytes = b"SECRET42") -> None:
    """A memory module in the firmware's table; 0 MiB is an empty socket."""
    entry = bytearray(0x28)
    entry[0], entry[1] = 17, len(entry)
    big = size_mib >= 0x7FFF
    entry[0x0C:0x0E] = (0x7FFF if big else size_mib).to_bytes(2, "little")
    entry[0x1C:0x20] = (size_mib if big else 0).to_bytes(4, "little")
    entry[0x20:0x22] = speed.to_bytes(2, "little")
    path = tree.root / f"sys/firmware/dmi/entries/17-{number}/raw"
    path.parent.mkdir(parents=True)
    path.write_bytes(bytes(entry) + serial + b"\0\0")


def memory_array(tree: Tree, correction: int) -> None:
    """The firmware's word on error correction: 3 none, 6 multi-bit."""
    path = tree.root / "sys/firmware/dmi/entries/16-0/raw"
    path.parent.mkdir(parents=True)
    path.write_bytes(bytes([16, 0x17, 0, 0, 3, 3, correction]) + bytes(0x10))
