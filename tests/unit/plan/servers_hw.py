# SPDX-License-Identifier: Apache-2.0
"""Servers whose hardware is odd in one way each."""

from collections.abc import Callable
from typing import Any

from millrace.inventory.collect import mark_duplicates
from millrace.inventory.model import (
    Dimm,
    Drive,
    DriveState,
    Evidence,
    Inventory,
    Nic,
    NumaNode,
    PcieLink,
    PcieSwitch,
)
from tests.unit.plan.servers import GIB, LOG_SIZE, boot_drive, drive, drives_1u12, drives_2u24, server

TIB = 1 << 40
MIB = 1 << 20
GEN5_X16 = PcieLink(speed=32.0, width=16, max_speed=32.0, max_width=16)
GEN4_X8 = PcieLink(speed=16.0, width=8, max_speed=16.0, max_width=8)
GEN4_X4 = PcieLink(speed=16.0, width=4, max_speed=16.0, max_width=4)
GEN3_X4 = PcieLink(speed=8.0, width=4, max_speed=8.0, max_width=4)
DDR5_4800 = 4800


def port(number: int = 0, speed: int = 400_000, node: int = 0, **more: Any) -> Nic:
    """A network port with RDMA on a card of its own."""
    fields: dict[str, Any] = {
        "name": f"ens{number}np0",
        "driver": "mlx5_core",
        "pci_address": f"0000:{0x80 + number:02x}:00.0",
        "numa_node": node,
        "speed": speed,
        "carrier": True,
        "queues": 63,
        "rdma_device": f"mlx5_{number}",
        "link": GEN5_X16,
    }
    return Nic(**{**fields, **more})


def nodes(
    sockets: int, per_socket: int = 1, cores: int = 32, memory: int = 384 * GIB, threads: int = 2
) -> list[NumaNode]:
    """NUMA nodes in the order of their sockets; `cores` and `memory` for each node."""
    cpus = cores * threads
    return [
        NumaNode(
            id=number,
            cpus=list(range(number * cpus, (number + 1) * cpus)),
            cores=cores,
            memory=memory,
            socket=number // per_socket,
        )
        for number in range(sockets * per_socket)
    ]


def machine(drives: list[Drive], nics: list[Nic], where: list[NumaNode], **more: Any) -> Inventory:
    """A server of these parts, with DDR5-4800 on twelve channels of each socket."""
    sockets = len({node.socket for node in where if node.socket is not None})
    fields: dict[str, Any] = {
        "nics": nics,
        "nodes": where,
        "sockets": sockets,
        "memory": sum(node.memory for node in where),
        "dimms": [Dimm(size=32 * GIB, speed=DDR5_4800)] * 12 * sockets,
        "cpu_mhz": 3000,
        "smt": True,
        "ecc": True,
    }
    return server(drives).model_copy(update={**fields, **more})


def on_nodes(drives: list[Drive], *numbers: int) -> list[Drive]:
    """The drives, dealt out to these nodes in turn."""
    return [one.model_copy(update={"numa_node": numbers[i % len(numbers)]}) for i, one in enumerate(drives)]


def changed(drives: list[Drive], which: str, /, **fields: Any) -> list[Drive]:
    """The drives with one of them changed."""
    assert any(one.serial == which for one in drives)
    return [one.model_copy(update=fields) if one.serial == which else one for one in drives]


def zeroed(drives: list[Drive], most: int = 2 * TIB) -> list[Drive]:
    """Drives that guarantee that deallocated blocks read as zeroes, at most `most` bytes with one request."""
    return [one.model_copy(update={"dlfeat": 9, "max_discard": most}) for one in drives]


def one_u_12() -> Inventory:
    """The 1U12 of the talks: one socket of 64 cores, one 400 Gbit/s port."""
    return machine(zeroed(drives_1u12()), [port()], nodes(1, cores=64))


def two_u_24() -> Inventory:
    """The 2U24 of the talks: two sockets, a 400 Gbit/s port at each."""
    return machine(drives_2u24(), [port(0, node=0), port(1, node=1)], nodes(2, cores=64))


def all_nics_on_node_1() -> Inventory:
    """24 drives over two sockets, both cards on the second."""
    return machine(drives_2u24(), [port(0, node=1), port(1, node=1)], nodes(2))


def nics_and_drives_apart() -> Inventory:
    """All drives on one socket, the only card on the other."""
    return machine(on_nodes(drives_1u12(), 0), [port(node=1)], nodes(2))


def nps4() -> Inventory:
    """Two sockets of four nodes each; the cards are on the last node of each socket, drives on others."""
    return machine(
        on_nodes(drives_2u24(), 0, 1, 4, 5), [port(0, node=3), port(1, node=7)], nodes(2, 4, cores=16, memory=96 * GIB)
    )


def eight_nodes() -> Inventory:
    """Eight sockets; the cards are on two of them."""
    return machine(on_nodes(drives_2u24(), *range(8)), [port(0, node=0), port(1, node=4)], nodes(8, cores=24))


def memoryless_nodes() -> Inventory:
    """Four nodes on two sockets, only two of them with memory modules."""
    where = nodes(2, 2, cores=16, memory=192 * GIB)
    where = [node.model_copy(update={"memory": 0}) if node.id % 2 else node for node in where]
    return machine(on_nodes(drives_2u24(), 0, 2), [port(0, node=0), port(1, node=2)], where)


def memory_only_node() -> Inventory:
    """A second node that is memory without processors, as CXL modules are."""
    where = [*nodes(1, cores=64), NumaNode(id=1, cpus=[], cores=0, memory=512 * GIB)]
    return machine(drives_1u12(), [port()], where)


def desktop() -> Inventory:
    """Four old Gen3 drives on a desktop board: no ECC, 2.5 Gbit/s, no RDMA, a SATA boot disk."""
    old = [drive(n, 10**12, model="Old 1TB", link=GEN3_X4, volatile_write_cache=True) for n in range(4)]
    nic = port(speed=2500, driver="igc", rdma_device=None, queues=4, link=None)
    return machine(
        [*old, boot_drive()], [nic], nodes(1, cores=8, memory=32 * GIB, threads=1), smt=False, ecc=False, dimms=[]
    )


def nvme1_and_nvme10() -> Inventory:
    """Kernel names of which one is the beginning of the other, found in an odd order."""
    drives = drives_1u12()
    return machine([*reversed(drives)], [port()], nodes(1))


def duplicate_serials() -> Inventory:
    """Two drives with one serial number."""
    return machine(mark_duplicates(changed(drives_1u12(), "SN001", serial="SN000")), [port()], nodes(1))


def a_drive_with_errors() -> Inventory:
    """A drive that answers every probe with an error."""
    evidence = [Evidence(probe="blkid", finding="failed with status 5: Input/output error")]
    drives = changed(drives_1u12(), "SN003", state=DriveState.UNKNOWN, evidence=evidence)
    return machine(drives, [port()], nodes(1))


def no_nic() -> Inventory:
    """Nothing to serve through."""
    return machine(drives_1u12(), [], nodes(1))


def cables_not_plugged_in() -> Inventory:
    """A card whose port has no link, so nobody knows how fast it will be."""
    return machine(drives_1u12(), [port(speed=None, carrier=False)], nodes(1))


def usb_disk() -> Inventory:
    """A 200 MiB disk on USB, as a BMC's virtual medium."""
    stick = drive(
        50, 200 * MIB, name="sda", serial="USB", transport="usb", removable=True, pci_address="0000:00:14.0", link=None
    )
    return machine([*drives_1u12(), stick], [port()], nodes(1))


def smt_off() -> Inventory:
    """As many logical CPUs as cores."""
    return machine(drives_1u12(), [port()], nodes(1, threads=1), smt=False)


def two_tib() -> Inventory:
    """2 TiB of memory."""
    return machine(drives_2u24(), [port(0, node=0), port(1, node=1)], nodes(2, cores=64, memory=TIB))


def eight_gib() -> Inventory:
    """8 GiB of memory for 64 cores."""
    return machine(drives_1u12(), [port()], nodes(1, cores=64, memory=8 * GIB))


def behind_a_switch() -> Inventory:
    """A 1U12 whose drives share one Gen4 x8 uplink."""
    switch = PcieSwitch(address="0000:41:00.0", numa_node=0, link=GEN4_X8)
    drives = [one.model_copy(update={"switch": switch.address}) for one in drives_1u12()]
    return machine(drives, [port()], nodes(1), switches=[switch])


def four_ports() -> Inventory:
    """One card with four 25 Gbit/s ports without RDMA."""
    nics = [
        port(n, 25_000, pci_address=f"0000:80:00.{n}", rdma_device=None, card_ports=4, link=GEN4_X8) for n in range(4)
    ]
    return machine(drives_1u12(), nics, nodes(1))


def trained_down() -> Inventory:
    """One drive that runs at half its lanes."""
    slow = PcieLink(speed=32.0, width=2, max_speed=32.0, max_width=4, slot_speed=32.0, slot_width=4)
    return machine(changed(drives_1u12(), "SN004", link=slow, slot="12"), [port()], nodes(1))


def gen5_card_in_gen4_slot() -> Inventory:
    """A 400 Gbit/s card in a slot of half its speed."""
    link = PcieLink(speed=16.0, width=16, max_speed=32.0, max_width=16, slot_speed=16.0, slot_width=16)
    return machine(drives_1u12(), [port(link=link)], nodes(1))


def hot_and_worn() -> Inventory:
    """Drives near the end: hot and worn; processors slowed down by heat."""
    drives = changed(drives_1u12(), "SN000", critical_warning=0b10, temperature=84, bay="1")
    drives = changed(drives, "SN001", wear=97, bay="2")
    drives = changed(drives, "SN011", firmware="0.9")
    drives = changed(drives, "SN006", firmware="2.0")
    return machine(drives, [port()], nodes(1), cpu_throttled=311)


def failing() -> Inventory:
    """Drives that have said that they fail: without power-loss protection, short of spare blocks, unreliable."""
    drives = changed(drives_1u12(), "SN002", critical_warning=0b10000, bay="3")
    drives = changed(drives, "SN005", critical_warning=0b101, bay="6")
    drives = changed(drives, "SN008", critical_warning=0b101, bay="9")
    return machine(drives, [port()], nodes(1))


def log_drives_with_caches() -> Inventory:
    """Log drives that say they have a volatile write cache."""
    drives = [
        one.model_copy(update={"volatile_write_cache": one.size == LOG_SIZE}) if one.state is DriveState.BLANK else one
        for one in drives_1u12()
    ]
    return machine(drives, [port()], nodes(1))


ALL: dict[str, Callable[[], Inventory]] = {
    build.__name__: build
    for build in (
        one_u_12, two_u_24, all_nics_on_node_1, nics_and_drives_apart, nps4, eight_nodes, memoryless_nodes,
        memory_only_node, desktop, nvme1_and_nvme10, duplicate_serials, a_drive_with_errors, no_nic,
        cables_not_plugged_in, usb_disk, smt_off, two_tib, eight_gib, behind_a_switch, four_ports, trained_down,
        gen5_card_in_gen4_slot, hot_and_worn, failing, log_drives_with_caches,
    )
}  # fmt: skip
