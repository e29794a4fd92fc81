# SPDX-License-Identifier: Apache-2.0
"""Settings of the network ports that carry data: queues, interrupts, transmit queues."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from millrace.inventory.model import Nic
from millrace.inventory.nics import nics
from millrace.plan.defaults import PortSettings
from millrace.plan.ports import Core, DriverPort, Placement, place
from millrace.plan.server import data_ports
from millrace.system import paths, sysfs
from millrace.system.errors import MillraceError
from millrace.system.run import Runner
from millrace.tune.ethtool import Channels, ChannelsKnob, Direction, RingKnob, channels, rings
from millrace.tune.knob import InterruptKnob, MaskKnob, Setting, mask
from millrace.tune.vectors import vectors

# One packet in a hundred thousand, and not just a few after the link came up.
LOST, FEW = 100_000, 1000


@dataclass(frozen=True)
class PortView:
    """The data ports as they are now."""

    ports: list[Nic]
    channels: dict[str, Channels]
    placements: dict[str, Placement]
    warnings: list[str]


def read_ports(cores: Sequence[Core], run: Runner, wanted: PortSettings) -> PortView:
    """Read all data ports and place their queues."""
    ports = data_ports(nics(paths.ROOT, run))
    known: dict[str, Channels] = {}
    warnings: list[str] = []
    for port in ports:
        try:
            queues = channels(port.name, run)
        except MillraceError as error:
            warnings += [str(error)] if str(error) not in warnings else []
            continue
        if queues:
            known[port.name] = queues
    offered = {name: min(queues.most, wanted.most_queues or queues.most) for name, queues in known.items()}
    asked = [DriverPort(port.name, port.numa_node, offered.get(port.name)) for port in ports]
    return PortView(ports, known, place(asked, cores), warnings)


def queue_settings(view: PortView, wanted: PortSettings, run: Runner) -> list[Setting]:
    """Return the number of queues of each port that can be set, and the rings that the policy has."""
    reason = "one queue for each physical core of the port's node"
    if wanted.most_queues is not None:
        reason = f"{reason}, at most {wanted.most_queues} by the policy"
    queues: list[Setting] = [
        ChannelsKnob(name, str(placement.queues), reason, run)
        for name, placement in view.placements.items()
        if placement.queues is not None
    ]
    return [*queues, *_rings(view, wanted, run)]


def core_settings(view: PortView, wanted: PortSettings) -> list[Setting]:
    """Return which cores take the interrupts of each queue and send through it, once the numbers of queues are set."""
    sending = [one for name, placement in view.placements.items() for one in _transmit(name, placement)]
    return [*interrupt_settings(view, wanted), *sending]


def interrupt_settings(view: PortView, wanted: PortSettings) -> list[Setting]:
    """Return which core takes the interrupts of each queue."""
    most = wanted.interrupt_cores
    return [one for name, placement in view.placements.items() for one in _interrupts(name, placement, most)]


def packet_losses(view: PortView) -> list[str]:
    """Return ports that drop packets for lack of receive buffers: the one case for a larger ring."""
    told = []
    for port in view.ports:
        statistics = paths.ROOT / "sys/class/net" / port.name / "statistics"
        missed = sysfs.number(statistics / "rx_missed_errors") or 0
        received = sysfs.number(statistics / "rx_packets") or 0
        if missed > FEW and missed * LOST > received:
            told.append(
                f"port {port.name} dropped {missed} of {received + missed} packets: its receive buffers were full, "
                f"check the ring size with ethtool -g {port.name}"
            )
    return told


def _rings(view: PortView, wanted: PortSettings, run: Runner) -> list[Setting]:
    asked: dict[Direction, int | None] = {"rx": wanted.rx_ring, "tx": wanted.tx_ring}
    numbers = {direction: number for direction, number in asked.items() if number is not None}
    if not numbers:
        return []
    return [
        RingKnob(port.name, direction, str(numbers[direction]), "set by the policy", ring.most, run)
        for port in view.ports
        for direction, ring in rings(port.name, run).items()
        if direction in numbers
    ]


def _interrupts(name: str, placement: Placement, most: int | None) -> list[Setting]:
    reason = f"each queue of {name} has its own core on the node of the port"
    if most is not None:
        reason = f"the policy has {most} cores take the interrupts of {name}"
    return [
        InterruptKnob(
            paths.ROOT / f"proc/irq/{vector.irq}/smp_affinity_list",
            str(placement.interrupt_cpu(vector.queue, most)),
            reason,
        )
        for vector in vectors(name)
    ]


def _transmit(name: str, placement: Placement) -> list[Setting]:
    directory = paths.ROOT / "sys/class/net" / name / "queues"
    numbers = sorted(int(queue[3:]) for queue in sysfs.names(directory) if queue.startswith("tx-"))
    count = min(len(numbers), placement.queues or len(numbers))
    if count < 2:
        # The kernel has nothing to choose from, and says ENOENT.
        return []
    reason = f"cores send through the queue of {name} whose interrupts they handle"
    return [
        MaskKnob(directory / f"tx-{number}/xps_cpus", mask(placement.transmit_cpus(number, count)), reason, default="0")
        for number in numbers
        if number < count and _is_supported(directory / f"tx-{number}/xps_cpus")
    ]


def _is_supported(path: Path) -> bool:
    return sysfs.text(path) is not None
