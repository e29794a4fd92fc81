# SPDX-License-Identifier: Apache-2.0
"""The expected performance: the limit of each layer; the lowest is the bottleneck. Pure.

A roofline: no layer helps another, and no layer that is not known is replaced by a guess.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from millrace.inventory.model import Drive, Inventory, Nic, PcieSwitch
from millrace.plan.constants import BITS, GIGA, MEGABIT, Constant, Constants
from millrace.plan.links import raw_bytes
from millrace.plan.model import (
    Direction,
    Evidence,
    LayerName,
    MdArray,
    PlanLayer,
    PlanOutcome,
    Prediction,
    Role,
    State,
    Transport,
)

STRONGEST_FIRST: list[Evidence] = ["measured", "specification", "textbook", "calibrated", "derived", "unknown"]
BUS_BYTES = 8  # of a memory channel
EXTERNAL_MEASURE = "a benchmark of the device alone on this server"


@dataclass(frozen=True)
class PlannedLeg:
    """One redundant part of the pool: its drives, and how many of them hold data in each stripe."""

    array: MdArray
    drives: list[Drive]

    @property
    def parity(self) -> int:
        """Members of each stripe that hold parity; those of a mirror hold copies."""
        return len(self.array.members) - self.array.data_members if self.array.level in ("raid5", "raid6") else 0

    @property
    def redundant(self) -> bool:
        """Whether it survives without one of its drives."""
        return self.array.level != "raid0" and len(self.array.members) > 1


@dataclass(frozen=True)
class HostSpeed:
    """`memory_bandwidth` in bytes/s and `clock` of one core in Hz, None where not known."""

    legs: list[PlannedLeg]
    nics: list[Nic]
    switches: dict[str, PcieSwitch]
    memory_bandwidth: int | None
    clock: int | None
    cores: int

    @property
    def cycles(self) -> int | None:
        """Of all cores per second."""
        return None if self.clock is None else self.clock * self.cores

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


def predict(inventory: Inventory, arrays: Sequence[MdArray], constants: Constants | None = None) -> Prediction:
    """Predict what a server with these arrays reaches at most; transports and states that it lacks are omitted."""
    machine, known = _machine(inventory, arrays), constants or Constants()
    transports: list[Transport] = ["tcp", "rdma", "smb"] if any(_hardware_rdma(machine)) else ["tcp", "smb"]
    redundant = bool(machine.legs) and all(leg.redundant for leg in machine.legs)
    states: list[State] = ["healthy", "degraded"] if redundant else ["healthy"]
    directions: list[Direction] = ["read", "write"]
    return Prediction(
        outcomes=[
            _outcome(machine, known, direction, transport, state)
            for state in states
            for transport in transports
            for direction in directions
        ]
    )


def _machine(inventory: Inventory, arrays: Sequence[MdArray]) -> HostSpeed:
    """Condense what the model needs. Ports without a link carry nothing and are skipped."""
    by_serial = {drive.serial: drive for drive in inventory.drives}
    legs = [
        PlannedLeg(array, [by_serial[serial] for serial in array.members if serial in by_serial])
        for array in arrays
        if array.role is Role.DATA and not array.over_arrays
    ]
    speeds = [dimm.speed for dimm in inventory.dimms]
    return HostSpeed(
        legs=legs,
        nics=[nic for nic in inventory.nics if nic.carrier],
        switches={switch.address: switch for switch in inventory.switches},
        memory_bandwidth=sum(speed or 0 for speed in speeds) * 1_000_000 * BUS_BYTES
        if all(speeds) and speeds
        else None,
        clock=inventory.cpu_mhz * 1_000_000 if inventory.cpu_mhz else None,
        cores=sum(node.cores for node in inventory.nodes),
    )


def _outcome(
    machine: HostSpeed, known: Constants, direction: Direction, transport: Transport, state: State
) -> PlanOutcome:
    layers = [
        _drives(machine, known, direction, state),
        _pcie(machine, known, direction),
        _memory(machine, known, direction, transport, state),
        _cpu(machine, known, direction, transport),
        *_md(machine, known, direction, state),
        _nic(machine, known, transport),
    ]
    limits = [(layer.limit, layer.name) for layer in layers if layer.limit is not None]
    limit, bound_by = min(limits, key=lambda pair: pair[0], default=(None, None))
    return PlanOutcome(
        direction=direction, transport=transport, state=state, limit=limit, bound_by=bound_by, layers=layers
    )


def _drives(machine: HostSpeed, known: Constants, direction: Direction, state: State) -> PlanLayer:
    if not machine.legs:
        return _not_known("drives", "The drives behind an external device do not show.", EXTERNAL_MEASURE)
    links = [drive.link for drive in machine.drives]
    used, gone = (len(links), len(machine.legs)) if direction == "read" else (_data_members(machine), 0)
    # One stripe is as slow as its slowest drive. A write without a drive still writes each of the others once.
    count = used - (gone if state == "degraded" else 0)
    rates: list[float] = []
    constants = [known.pcie_payload]
    sheets = True
    for link in links:
        if link is None:
            return _not_known("drives", "A drive does not report its PCIe link.", "a benchmark of each drive alone")
        rate = raw_bytes(link) * known.pcie_payload.value
        sheet = known.drives.get(link.max_speed)
        if sheet:
            constant = sheet.read if direction == "read" else sheet.write
            constants.append(constant)
            rate = min(rate, constant.value)
        sheets = sheets and sheet is not None
        rates.append(rate)
    slowest = min(rates, default=0.0)
    reason = f"{count} drives × {slowest / GIGA:.1f} GB/s, the slowest one's {'data sheet or ' if sheets else ''}link."
    measure = None if sheets else "a benchmark of each drive alone: only the links are known"
    return _layer("drives", count * slowest, constants, reason, measure)


def _pcie(machine: HostSpeed, known: Constants, direction: Direction) -> PlanLayer:
    payload = known.pcie_payload
    nics, drives = _card_links(machine), _drive_links(machine)
    if drives is not None and direction == "write":
        drives *= _data_members(machine) / max(1, len(machine.drives))
    sides = {"network cards": nics, "drives and switches": drives}
    open_sides = [name for name, side in sides.items() if side is None]
    shown = ", ".join(f"{name} {side * payload.value / GIGA:.0f} GB/s" for name, side in sides.items() if side)
    measure = f"a benchmark: the links of {' and '.join(open_sides)} are not known" if open_sides else None
    limits = [side for side in sides.values() if side is not None]
    if not limits:
        return _not_known("pcie", "No PCIe link is known.", measure or "")
    return _layer("pcie", min(limits) * payload.value, [payload], f"Payload of the links: {shown}.", measure)


def _memory(
    machine: HostSpeed, known: Constants, direction: Direction, transport: Transport, state: State
) -> PlanLayer:
    traffic = _traffic(machine, known, direction, transport, state)
    reason = f"Each byte crosses the memory bus {traffic.value:.1f} times."
    bandwidth, usable = machine.memory_bandwidth, known.memory_usable
    if bandwidth is None:
        return _not_known("memory", reason, "a memory benchmark on this server: its modules do not report their speed")
    reason = f"{reason} The modules carry {bandwidth / GIGA:.0f} GB/s if each has its own channel."
    return _layer("memory", bandwidth * usable.value / traffic.value, [usable, traffic], reason)


def _traffic(
    machine: HostSpeed, known: Constants, direction: Direction, transport: Transport, state: State
) -> Constant:
    """Bytes of memory traffic for each byte served."""
    copies = known.smb_copies.value if transport == "smb" else 0.0
    if direction == "read":
        through_stripes = known.stripe_copy.value if state == "degraded" and _has_parity(machine) else 0.0
        nfs: Transport = "tcp" if transport == "smb" else transport
        return Constant(known.read_traffic[nfs].value + through_stripes + copies, "textbook")
    data, parity, written = 1, 0, 1.0
    if machine.legs:
        leg = machine.legs[0]
        data, parity = leg.array.data_members, leg.parity
        written = len(leg.array.members) / data
    # From the NIC, into and out of the page cache, then md's copy, its parity, and out to the drives.
    with_parity = known.stripe_copy.value + 1 + parity / data if parity else 0.0
    return Constant(1 + 2 + with_parity + written + copies, "textbook")


def _cpu(machine: HostSpeed, known: Constants, direction: Direction, transport: Transport) -> PlanLayer:
    cycles = (known.read_cycles if direction == "read" else known.write_cycles)[transport]
    parity = [known.parity_cycles] if direction == "write" and _has_parity(machine) else []
    needed = cycles.value + sum(constant.value for constant in parity)
    if machine.cycles is None:
        return _not_known("cpu", "The CPU clock is not known.", cycles.measure or "a benchmark")
    reason = f"{machine.cycles / GIGA:.0f} billion cycles/s of all cores, {needed:.2f} for each byte."
    return _layer("cpu", machine.cycles / needed, [cycles, *parity], reason)


def _md(machine: HostSpeed, known: Constants, direction: Direction, state: State) -> list[PlanLayer]:
    """Reads of a whole array go past md's stripe cache; writes, and large reads without a drive, go through it."""
    if not _has_parity(machine) or (direction == "read" and state == "healthy"):
        return []
    arrays, cycles = len(machine.legs), known.md_cycles[direction]
    reason = f"{arrays} parity array{'s, each' * (arrays > 1)} with one thread that hands out the work"
    if machine.clock is None:
        return [_not_known("md", f"{reason}. The CPU clock is not known.", cycles.measure or "a benchmark")]
    reason = f"{reason}: {machine.clock / GIGA:.1f} billion cycles/s of its core, {cycles.value} for each byte."
    return [_layer("md", arrays * machine.clock / cycles.value, [cycles], reason)]


def _nic(machine: HostSpeed, known: Constants, transport: Transport) -> PlanLayer:
    ports = [nic for nic in machine.nics if nic.rdma_device and not nic.software_rdma] if transport == "rdma" else None
    ports = machine.nics if ports is None else ports
    speeds = [nic.speed for nic in ports if nic.speed]
    if not speeds:
        return _not_known("nic", "No network port has a link of known speed.", "plugging in the cables, then ethtool")
    line = sum(speeds) * MEGABIT / BITS
    share = known.nic_rdma if transport == "rdma" else known.nic_tcp
    shown = f"{len(speeds)} port{'s' * (len(speeds) > 1)} with {line / GIGA:.1f} GB/s line rate"
    if share.evidence == "unknown":
        return _layer("nic", line, [Constant(1, "specification")], f"{shown}.", share.measure)
    return _layer("nic", line * share.value, [share], f"{shown}, {100 * share.value:.0f} % of it for data.")


def _card_links(machine: HostSpeed) -> float | None:
    links = [card[0].link for card in machine.cards]
    return sum(raw_bytes(link) for link in links if link) if links and all(links) else None


def _drive_links(machine: HostSpeed) -> float | None:
    """Links of all drives; those behind one switch have no more than its link. None where one is not known."""
    if not machine.drives:
        return None
    behind: dict[str | None, float] = {}
    for drive in machine.drives:
        if drive.link is None:
            return None
        behind[drive.switch] = behind.get(drive.switch, 0.0) + raw_bytes(drive.link)
    total = 0.0
    for address, drives in behind.items():
        switch = machine.switches.get(address or "")
        total += min(drives, raw_bytes(switch.link)) if switch and switch.link else drives
    return total


def _hardware_rdma(machine: HostSpeed) -> Iterable[bool]:
    return (bool(nic.rdma_device and not nic.software_rdma) for nic in machine.nics)


def _data_members(machine: HostSpeed) -> int:
    return sum(leg.array.data_members for leg in machine.legs)


def _has_parity(machine: HostSpeed) -> bool:
    return any(leg.parity for leg in machine.legs)


def _layer(name: LayerName, limit: float, used: list[Constant], reason: str, measure: str | None = None) -> PlanLayer:
    """A layer is known only as far as every constant behind it is."""
    weakest = max(used, key=lambda constant: STRONGEST_FIRST.index(constant.evidence))
    if weakest.evidence == "unknown":
        return _not_known(name, reason, weakest.measure or "a benchmark on this server")
    # what a real CPU needs may be more than what an emulated one counts
    measure = measure or (weakest.measure if weakest.evidence == "derived" else None)
    return PlanLayer(name=name, limit=round(limit), evidence=weakest.evidence, reason=reason, measure=measure)


def _not_known(name: LayerName, reason: str, measure: str) -> PlanLayer:
    return PlanLayer(name=name, limit=None, evidence="unknown", reason=reason, measure=measure)
