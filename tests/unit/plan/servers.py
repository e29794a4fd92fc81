# SPDX-License-Identifier: Apache-2.0
"""Inventories of the servers that Millrace is made for, and of odd ones."""

from typing import Any

from millrace.inventory.model import Drive, DriveState, Evidence, Inventory, Nic, NumaNode, PcieLink

GIB = 1 << 30
TB = 10**12
GEN5 = PcieLink(speed=32.0, width=4, max_speed=32.0, max_width=4)
DATA_SIZE, LOG_SIZE = 7_681_501_126_656, 960_197_124_096


def drive(number: int, size: int = DATA_SIZE, **more: Any) -> Drive:
    """A blank Gen5 drive with a serial of its own."""
    fields: dict[str, Any] = {
        "name": f"nvme{number}n1",
        "serial": f"SN{number:03}",
        "wwid": f"eui.{number:016x}",
        "model": "ACME 7T68" if size == DATA_SIZE else "ACME 960G",
        "firmware": "1.0",
        "transport": "nvme",
        "size": size,
        "logical_block": 512,
        "physical_block": 4096,
        "rotational": False,
        "removable": False,
        "pci_address": f"0000:{number:02x}:00.0",
        "numa_node": 0,
        "link": GEN5,
        "state": DriveState.BLANK,
        "evidence": [],
    }
    return Drive(**{**fields, **more})


def found(state: DriveState, finding: str) -> dict[str, Any]:
    """Fields of a drive that is not blank."""
    return {"state": state, "evidence": [Evidence(probe="blkid", finding=finding)]}


def boot_drive() -> Drive:
    return drive(99, 480 * 10**9, transport="sata", serial="BOOT", wwid="", **found(DriveState.BOOT, "carries /"))


def server(drives: list[Drive], *, nodes: int = 1, cores: int = 32, memory: int = 128 * GIB, **more: Any) -> Inventory:
    """A server with one 400 Gbit/s port for each node; `cores` for each node; nodes without `sockets` tell none."""
    ports = [
        Nic(
            name=f"ens{node}np0",
            driver="mlx5_core",
            pci_address=f"0000:{0x80 + node:02x}:00.0",
            numa_node=node,
            speed=400_000,
            carrier=True,
            queues=cores,
            rdma_device=f"mlx5_{node}",
            link=None,
        )
        for node in range(nodes)
    ]
    fields: dict[str, Any] = {
        "kernel": "7.2.12+deb14-amd64",
        "cpu_model": "AMD EPYC",
        "sockets": nodes,
        "nodes": [
            NumaNode(
                id=node,
                cpus=list(range(node * cores, (node + 1) * cores)),
                cores=cores,
                memory=memory // nodes,
                socket=node * more["sockets"] // nodes if "sockets" in more else None,
            )
            for node in range(nodes)
        ],
        "memory": memory,
        "drives": drives,
        "nics": ports,
    }
    return Inventory(**{**fields, **more})


def drives_1u12(data: int = DATA_SIZE, log: int = LOG_SIZE) -> list[Drive]:
    """Ten data drives and two small ones."""
    return [*(drive(number, data) for number in range(10)), *(drive(number, log) for number in (10, 11)), boot_drive()]


def drives_2u24(data: int = DATA_SIZE, log: int = LOG_SIZE) -> list[Drive]:
    """Eighteen data drives, alternating between two NUMA nodes, and two small ones."""
    big = [drive(number, data, numa_node=number % 2) for number in range(18)]
    return [*big, drive(18, log, numa_node=0), drive(19, log, numa_node=1), boot_drive()]
