# SPDX-License-Identifier: Apache-2.0
"""A planned server as the performance model sees it."""

from dataclasses import dataclass

from millrace.inventory.model import Drive, Inventory, Nic, PcieLink, PcieSwitch
from millrace.plan.model import Array, Plan, Role

BITS = 8
GIGATRANSFERS = 1_000_000_000
OLD_ENCODING_UP_TO = 5.0  # GT/s: PCIe 1 and 2 carry 8 bits in 10, later ones 128 in 130
BUS_BYTES = 8  # of a memory channel


@dataclass(frozen=True)
class Leg:
    """One redundant part of the pool: its drives, and how many of them hold data per stripe."""

    array: Array
    drives: list[Drive]

    @property
    def parity(self) -> int:
        """Members per stripe that hold parity; those of a mirror hold copies."""
        return len(self.array.members) - self.array.data_members if self.array.level in ("raid5", "raid6") else 0

    @property
    def redundant(self) -> bool:
        """Whether it lives on without one of its drives."""
        return self.array.level != "raid0" and len(self.array.members) > 1


@dataclass(frozen=True)
class Machine:
    """`memory_bandwidth` in bytes/s and `cycles` of all cores per second, None where not known."""

    legs: list[Leg]
    nics: list[Nic]
    switches: dict[str, PcieSwitch]
    memory_bandwidth: int | None
    cycles: int | None

    @property
    def drives(self) -> list[Drive]:
        """The drives of all legs."""
        return [drive for leg in self.legs for drive in leg.drives]

    @property
    def cards(self) -> list[list[Nic]]:
        """The ports that are in use, by the card whose PCIe link they share."""
        cards: dict[str, list[Nic]] = {}
        for nic in self.nics:
            cards.setdefault((nic.pci_address or nic.name).rpartition(".")[0] or nic.name, []).append(nic)
        return list(cards.values())


def machine_of(inventory: Inventory, plan: Plan) -> Machine:
    """Condense what the model needs. Ports without a link carry nothing and are left out."""
    by_serial = {drive.serial: drive for drive in inventory.drives}
    arrays = [array for array in plan.arrays if array.role is Role.DATA and not array.over_arrays]
    legs = [Leg(array, [by_serial[serial] for serial in array.members if serial in by_serial]) for array in arrays]
    cores = sum(node.cores for node in inventory.nodes)
    speeds = [dimm.speed for dimm in inventory.dimms]
    return Machine(
        legs=legs,
        nics=[nic for nic in inventory.nics if nic.carrier],
        switches={switch.address: switch for switch in inventory.switches},
        memory_bandwidth=sum(speed or 0 for speed in speeds) * 1_000_000 * BUS_BYTES
        if all(speeds) and speeds
        else None,
        cycles=cores * inventory.cpu_mhz * 1_000_000 if inventory.cpu_mhz else None,
    )


def raw_bytes(link: PcieLink) -> float:
    """Bytes/s that a link carries now, headers included."""
    encoding = 8 / 10 if link.speed <= OLD_ENCODING_UP_TO else 128 / 130
    return link.speed * GIGATRANSFERS * encoding * link.width / BITS
