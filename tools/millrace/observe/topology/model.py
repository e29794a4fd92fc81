# SPDX-License-Identifier: Apache-2.0
"""The contract of `millrace topology --json`."""

from typing import Literal

from millrace.inventory.model import DriveState
from millrace.plan.finding import Severity
from millrace.plan.model import Role
from millrace.storage.array.live_model import MemberState
from millrace.system.documents import Contract


class TopologyLink(Contract):
    """A PCIe link: GT/s of a lane and lanes now, and the most that device and slot can do together."""

    gts: float
    width: int
    gts_most: float
    width_most: int


class TopologyDrive(Contract):
    """One drive at its place. `state` is what was on it at boot, `role` what the plan has for it.

    `array` is the one that administrators know (data, log), `leg` the part of it that the drive is in where it has
    legs; `member` is its state in md now, null where it is in no array. `present` is false for a drive that was pulled.
    `bay` is the bay, else the slot. Temperature in degrees Celsius, wear in percent of the rated endurance, at boot.
    """

    serial: str
    name: str
    model: str
    bay: str | None
    size_bytes: int
    state: DriveState
    present: bool
    role: Role | None
    array: str | None
    leg: str | None
    member: MemberState | None
    pci_address: str | None
    link: TopologyLink | None
    temperature_celsius: int | None
    wear_percent: int | None


class TopologyPort(Contract):
    """One network port. `link` is whether it has one. `irq_cpus` are the CPUs that take its interrupts, as a list.

    `rdma` is its RDMA device; `software_rdma`: that is made of software.
    """

    name: str
    driver: str
    speed_mbit: int | None
    link: bool
    addresses: list[str]
    rdma: str | None
    software_rdma: bool
    queues: int
    irq_cpus: str
    pci_address: str | None
    slot: str | None
    pcie: TopologyLink | None


class NfsdThreads(Contract):
    """Threads of the NFS server, and the CPUs that they may run on, as a list; null where none runs."""

    threads: int
    cpus: str | None


class TopologyNode(Contract):
    """One NUMA node with its devices; `node` is null where the firmware does not report it.

    `nfsd` counts the threads that run on this node only.
    """

    node: int | None
    socket: int | None
    cpus: str
    cores: int
    memory_bytes: int
    drives: list[TopologyDrive]
    ports: list[TopologyPort]
    nfsd: NfsdThreads


class TopologyArray(Contract):
    """One array of the pool, or of the plan while there is no pool. `over` are its legs."""

    name: str
    level: Literal["raid0", "raid1", "raid5", "raid6"]
    role: Role
    over: list[str]


class Where(Contract):
    """What a finding is about: serials of drives, names of ports, NUMA nodes; nothing for the whole server."""

    drives: list[str]
    ports: list[str]
    nodes: list[int]


class TopologyFinding(Contract):
    """One thing of the hardware that is not as it could be."""

    name: str
    severity: Severity
    subject: str
    what: str
    todo: str
    where: Where


class Topology(Contract):
    """The server. `sockets` is how many it has; `nfsd` counts the threads that run on any node.

    `planned` tells whether the arrays are those of a plan that is not built yet.
    """

    schema_version: Literal[1] = 1
    cpu_model: str
    sockets: int
    nodes: list[TopologyNode]
    arrays: list[TopologyArray]
    planned: bool
    nfsd: NfsdThreads
    findings: list[TopologyFinding]
