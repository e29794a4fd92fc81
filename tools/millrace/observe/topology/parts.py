# SPDX-License-Identifier: Apache-2.0
"""One drive, one port, one link of the topology, with what the rest of the server reports about them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millrace.inventory.cpus import cpu_list, ranges
from millrace.inventory.model import Drive, Nic, PcieLink
from millrace.observe.topology.model import TopologyDrive, TopologyLink, TopologyPort
from millrace.plan.model import MdArray, Role
from millrace.storage.array.live_model import LiveArray, MemberState
from millrace.system import paths, sysfs
from millrace.system.net import Interface
from millrace.tune.vectors import vectors


@dataclass(frozen=True)
class ArrayPlace:
    """The part of a drive in the arrays. Data comes before log for a drive that has a partition of each."""

    array: str
    leg: str | None


@dataclass(frozen=True)
class DriveFacts:
    """What is known of the drives beside the inventory, by serial; `present` are those that the kernel has now."""

    roles: Mapping[str, Role]
    places: Mapping[str, ArrayPlace]
    members: Mapping[str, MemberState]
    present: set[str]


def places(arrays: Sequence[MdArray], live: Sequence[LiveArray]) -> dict[str, ArrayPlace]:
    """Return array and leg of each drive: as planned, and as md has them where it does."""
    over = {leg: array.name for array in arrays if array.over_arrays for leg in array.members}
    drive_places: dict[str, ArrayPlace] = {}
    members = {array.name: [member.serial for member in array.members] for array in live}
    for array in sorted(arrays, key=lambda array: array.role is not Role.DATA):
        if array.over_arrays:
            continue
        place = ArrayPlace(over.get(array.name, array.name), array.name if array.name in over else None)
        for serial in [*array.members, *array.spares, *members.get(array.name, [])]:
            drive_places.setdefault(serial, place)
    return drive_places


def drive(device: Drive, known: DriveFacts) -> TopologyDrive:
    """Return a drive at its place."""
    place = known.places.get(device.serial)
    return TopologyDrive(
        serial=device.serial,
        name=device.name,
        model=device.model,
        bay=device.bay or device.slot,
        size_bytes=device.size,
        state=device.state,
        present=device.serial in known.present,
        role=known.roles.get(device.serial),
        array=place.array if place else None,
        leg=place.leg if place else None,
        member=known.members.get(device.serial),
        pci_address=device.pci_address,
        link=link(device.link),
        temperature_celsius=device.temperature,
        wear_percent=device.wear,
    )


def port(nic: Nic, interfaces: Sequence[Interface]) -> TopologyPort:
    """Return a port with its addresses and the CPUs that serve it."""
    return TopologyPort(
        name=nic.name,
        driver=nic.driver,
        speed_mbit=nic.speed,
        link=nic.carrier,
        addresses=[str(address) for each in interfaces if each.name == nic.name for address in each.addresses],
        rdma=nic.rdma_device,
        software_rdma=nic.software_rdma,
        queues=nic.queues,
        irq_cpus=_interrupt_cpus(nic.name),
        pci_address=nic.pci_address,
        slot=nic.slot,
        pcie=link(nic.link),
    )


def link(one: PcieLink | None) -> TopologyLink | None:
    """Return the present link, and the most that device and slot can do together."""
    if one is None:
        return None
    return TopologyLink(
        gts=one.speed,
        width=one.width,
        gts_most=one.max_speed if one.slot_speed is None else min(one.max_speed, one.slot_speed),
        width_most=one.max_width if one.slot_width is None else min(one.max_width, one.slot_width),
    )


def _interrupt_cpus(name: str) -> str:
    cpus: set[int] = set()
    for vector in vectors(name):
        cpus |= set(cpu_list(sysfs.text(paths.ROOT / f"proc/irq/{vector.irq}/smp_affinity_list") or ""))
    return ranges(sorted(cpus))
