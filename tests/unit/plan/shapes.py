# SPDX-License-Identifier: Apache-2.0
"""Servers by what is in their bays: a name, the drives, what is decided. The odd ones too."""

from dataclasses import dataclass, field

from millrace.inventory.model import Drive, DriveState, Inventory
from millrace.plan.policy.model import DrivesPolicy, LayoutPolicy, LogPolicy, Policy
from tests.unit.plan.servers import DATA_SIZE, GIB, LOG_SIZE, TB, boot_drive, drive, drives_1u12, drives_2u24, server

HALF_SIZE = DATA_SIZE // 2
LARGE_SIZE = 4 * DATA_SIZE


def equal(count: int, nodes: int = 1, size: int = DATA_SIZE, first: int = 0) -> list[Drive]:
    """Drives of one kind, alternating between nodes."""
    return [drive(number, size, numa_node=number % nodes) for number in range(first, first + count)]


@dataclass(frozen=True)
class Case:
    """`title` of the plan, drives of the log mirror, unused drives; `says` is a part of some warning."""

    inventory: Inventory
    title: str
    log: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    says: str = ""
    policy: Policy = field(default_factory=Policy)


def sn(*numbers: int) -> list[str]:
    """Serials of drives by number."""
    return [f"SN{number:03}" for number in numbers]


PAIR = "RAID1 of 2 small drives with a hot spare for the file system log"
SHARED = "file system log on RAID1 of two 4 GiB partitions"
INSIDE = "log inside the file system"

CASES: dict[str, Case] = {
    "1U12 of the talk": Case(server(drives_1u12()), f"RAID6 of 10 drives for data, {PAIR}", sn(10, 11)),
    "2U24 of the talk": Case(server(drives_2u24(), nodes=2), f"RAID50 of 2 × 9 drives for data, {PAIR}", sn(18, 19)),
    "one drive": Case(
        server(equal(1), cores=8),
        f"One drive without redundancy for data, {INSIDE}",
        says="if it fails, all data is lost",
    ),
    "two drives": Case(server(equal(2)), f"RAID1 of 2 drives for data, {INSIDE}"),
    "two drives and two small ones": Case(
        server([*equal(2), *equal(2, size=LOG_SIZE, first=2)]), f"RAID1 of 2 drives for data, {PAIR}", sn(2, 3)
    ),
    "three drives": Case(server(equal(3)), f"RAID5 of 3 drives for data, {SHARED}", sn(0, 1)),
    "four old drives on a desktop board": Case(
        server(equal(4, size=512 * 10**9), cores=4, memory=8 * GIB, nics=[]),
        f"RAID5 of 4 drives for data, {SHARED}",
        sn(0, 1),
    ),
    "four old drives without a NUMA node": Case(
        server([drive(n, 256 * 10**9, numa_node=None, link=None) for n in range(4)], cores=4, memory=16 * GIB),
        "RAID5 of 4 drives for data, file system log on RAID1 of two 3.72 GiB partitions",
        sn(0, 1),
    ),
    "five drives": Case(server(equal(5)), f"RAID5 of 5 drives for data, {SHARED}", sn(0, 1)),
    "six drives on two nodes": Case(server(equal(6, 2), nodes=2), f"RAID6 of 6 drives for data, {SHARED}", sn(0, 1)),
    "seven drives": Case(server(equal(7)), f"RAID6 of 7 drives for data, {SHARED}", sn(0, 1)),
    "eleven drives": Case(server(equal(11)), f"RAID6 of 10 drives with 1 hot spare for data, {SHARED}", sn(0, 1)),
    "twelve equal drives": Case(server(equal(12)), f"RAID6 of 12 drives for data, {SHARED}", sn(0, 1)),
    "twelve equal drives, three to a node": Case(
        server([drive(n, numa_node=n // 3) for n in range(12)], nodes=4),
        f"RAID6 of 12 drives for data, {SHARED}",
        sn(0, 3),
    ),
    "twelve equal drives behind two switches": Case(
        server([drive(n, switch="0000:10:00.0" if n < 6 else "0000:20:00.0") for n in range(12)]),
        f"RAID6 of 12 drives for data, {SHARED}",
        sn(0, 6),
    ),
    "thirteen drives": Case(server(equal(13)), f"RAID50 of 2 × 6 drives with 1 hot spare for data, {SHARED}", sn(0, 1)),
    "twenty equal drives on two nodes": Case(
        server(equal(20, 2), nodes=2), f"RAID50 of 2 × 9 drives with 2 hot spares for data, {SHARED}", sn(0, 1)
    ),
    "twenty-four drives on two nodes": Case(
        server(equal(24, 2), nodes=2), f"RAID50 of 2 × 12 drives for data, {SHARED}", sn(0, 1)
    ),
    "twenty-four drives, 16 on one node": Case(
        server([drive(n, numa_node=0 if n < 16 else 1) for n in range(24)], nodes=2),
        f"RAID50 of 3 × 8 drives for data, {SHARED}",
        sn(0, 16),
    ),
    "twenty-four drives with four nodes to a socket": Case(
        server([drive(n, numa_node=n // 3) for n in range(24)], nodes=8, sockets=2, cores=8),
        f"RAID50 of 2 × 12 drives for data, {SHARED}",
        sn(0, 3),
    ),
    "twenty-four drives on four of eight nodes": Case(
        server([drive(n, numa_node=n // 6 * 2) for n in range(24)], nodes=8, sockets=2, cores=8),
        f"RAID50 of 2 × 12 drives for data, {SHARED}",
        sn(0, 6),
    ),
    "twenty-four drives with sockets that nobody tells": Case(
        server([drive(n, numa_node=n // 6) for n in range(24)], nodes=4, cores=8),
        f"RAID50 of 4 × 6 drives for data, {SHARED}",
        sn(0, 6),
    ),
    "eighteen drives, eleven on one node": Case(
        server([*(drive(n, numa_node=0 if n < 11 else 1) for n in range(18)), *equal(2, 2, LOG_SIZE, 18)], nodes=2),
        f"RAID50 of 2 × 9 drives for data, {PAIR}",
        sn(18, 19),
        says="leg1 spans sockets: 2 of its 9 drives (SN009, SN010) are on another socket than the rest, and 22 % of "
        "its traffic crosses between sockets.",
    ),
    "thirty-two drives on two nodes": Case(
        server(equal(32, 2), nodes=2, memory=2048 * GIB), f"RAID50 of 4 × 8 drives for data, {SHARED}", sn(0, 1)
    ),
    "forty drives on two nodes": Case(
        server(equal(40, 2), nodes=2), f"RAID50 of 4 × 9 drives with 4 hot spares for data, {SHARED}", sn(0, 1)
    ),
    "six large and six small": Case(
        server([*equal(6), *equal(6, size=HALF_SIZE, first=6)]),
        f"RAID6 of 6 drives for data, {PAIR}",
        sn(6, 7),
        unused=sn(9, 10, 11),
        says="3 drives are unused (11.5 TB)",
    ),
    "ten drives and three small ones": Case(
        server([*equal(10), *equal(3, 2, LOG_SIZE, 10)], nodes=2),
        f"RAID6 of 10 drives for data, {PAIR}",
        sn(10, 11),
    ),
    "ten drives and one small one": Case(
        server([*equal(10), drive(10, LOG_SIZE)]), f"RAID6 of 10 drives for data, {SHARED}", sn(0, 1), unused=sn(10)
    ),
    "ten drives and two larger ones": Case(
        server([*equal(10), *equal(2, size=LARGE_SIZE, first=10)]),
        f"RAID6 of 10 drives for data, {SHARED}",
        sn(0, 1),
        unused=sn(10, 11),
        says="2 drives are unused (61.5 TB)",
    ),
    "two large drives and three small ones": Case(
        server([*equal(2), *equal(3, size=LOG_SIZE, first=2)]),
        f"RAID1 of 2 drives for data, {PAIR}",
        sn(2, 3),
    ),
    "a drive a little smaller than the others": Case(
        server([*equal(9), drive(9, DATA_SIZE * 9 // 10)]),
        f"RAID6 of 9 drives for data, {SHARED}",
        sn(0, 1),
        unused=sn(9),
        says="1 drive is unused (6.91 TB)",
    ),
    "nvme1 and nvme10 with a USB disk": Case(
        server(
            [
                *equal(10),
                *equal(2, size=LOG_SIZE, first=10),
                drive(60, 2 * TB, transport="usb", state=DriveState.FOREIGN, name="sda"),
                boot_drive(),
            ]
        ),
        f"RAID6 of 10 drives for data, {PAIR}",
        sn(10, 11),
    ),
    "a drive with data that the owner leaves out": Case(
        server([*equal(10), *equal(2, size=LOG_SIZE, first=10), drive(12, state=DriveState.FOREIGN)]),
        f"RAID6 of 10 drives for data, {PAIR}",
        sn(10, 11),
        unused=sn(12),
        policy=Policy(drives=DrivesPolicy(exclude=sn(12))),
    ),
    "sectors of 4096 bytes": Case(
        server([drive(n, logical_block=4096) for n in range(8)]), f"RAID6 of 8 drives for data, {SHARED}", sn(0, 1)
    ),
    "twelve drives whose owner wants two spares": Case(
        server(equal(12)),
        f"RAID6 of 10 drives with 2 hot spares for data, {SHARED}",
        sn(0, 1),
        policy=Policy(layout=LayoutPolicy(spares=2)),
    ),
    "twenty-four drives whose owner wants RAID60": Case(
        server(equal(24, 2), nodes=2),
        f"RAID60 of 4 × 6 drives for data, {SHARED}",
        sn(0, 1),
        policy=Policy(layout=LayoutPolicy(resilience="double")),
    ),
    "1U12 whose owner wants the log inside": Case(
        server(drives_1u12()),
        f"RAID6 of 10 drives for data, {INSIDE}",
        unused=sn(10, 11),
        policy=Policy(log=LogPolicy(mode="internal")),
    ),
}
