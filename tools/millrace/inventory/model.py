# SPDX-License-Identifier: Apache-2.0
"""The inventory contract (`/run/millrace/inventory.json`, `millrace inventory --json`)."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from millrace.system.documents import Contract, Count, Positive, Rate
from millrace.system.text import one_line


class DriveState(StrEnum):
    """What is on a drive. UNKNOWN outranks everything: a probe that failed proves nothing."""

    BLANK = "blank"
    OURS = "ours"
    FOREIGN = "foreign"
    UNKNOWN = "unknown"
    BOOT = "boot"


OpalState = Literal["off", "unlocked", "locked"]
"""A drive that can lock itself (TCG Opal): it was not told to, it is open until it loses power, or it is locked."""


class Evidence(Contract):
    """One thing that one probe found, or the reason why it failed."""

    probe: str
    # labels and names on a drive are chosen by the system that wrote them
    finding: Annotated[str, AfterValidator(one_line)]


class PcieLink(Contract):
    """A PCIe link, now and at most. Speeds in GT/s per lane.

    `max_…` is what the device can do, `slot_…` what the port that it is plugged into can do (None: not known).
    """

    speed: Rate
    width: Positive
    max_speed: Rate
    max_width: Positive
    slot_speed: Rate | None = None
    slot_width: Positive | None = None


class PcieSwitch(Contract):
    """The upstream port of a PCIe switch: all that hangs off the switch shares its link."""

    address: str
    numa_node: int | None
    link: PcieLink | None


class LbaFormat(Contract):
    """A sector format that a drive could be given. `block` and `metadata` in bytes; `performance` 0 is best."""

    block: Positive
    metadata: Count
    performance: int
    in_use: bool


class Drive(Contract):
    """One drive as the kernel's block device for it. Sizes in bytes.

    `name` (nvme3n1) is for display and changes between boots; `serial` and `wwid` are the identity. What follows
    `evidence` is None or empty where it is not reported: `dlfeat` as in the NVMe specification, `max_discard` what the
    drive deallocates with one request, 0 where it cannot, `temperature` in
    degrees Celsius, `wear` in percent of the rated endurance, `critical_warning` the bits of the NVMe health log,
    `available_spare` and its `spare_threshold` in percent,
    `slot` the PCIe slot, `bay` the bay of an enclosure, `switch` the PCI address of the PCIe switch above the drive.
    `links` are its names in /dev/disk/by-id; `minimum_io` and `optimal_io` the sizes of requests that it prefers
    (chunk and full stripe of a RAID), 0 for none. `opal` is null where a drive cannot lock itself, too.
    """

    name: str
    serial: str
    wwid: str
    model: str
    firmware: str
    transport: str
    size: Count
    logical_block: Positive
    physical_block: Positive
    rotational: bool
    removable: bool
    pci_address: str | None
    numa_node: int | None
    link: PcieLink | None
    state: DriveState
    evidence: list[Evidence]
    eui64: str | None = None
    nguid: str | None = None
    lba_formats: list[LbaFormat] = Field(default=[])
    dlfeat: Count | None = None
    max_discard: Count | None = None
    volatile_write_cache: bool | None = None
    temperature: int | None = None
    wear: Count | None = None
    critical_warning: Count | None = None
    available_spare: Count | None = None
    spare_threshold: Count | None = None
    slot: str | None = None
    bay: str | None = None
    switch: str | None = None
    links: list[str] = Field(default=[])
    minimum_io: Count | None = None
    optimal_io: Count | None = None
    opal: OpalState | None = None


class Nic(Contract):
    """One physical network port. `speed` in Mbit/s, None where the driver does not report it.

    `software_rdma`: the RDMA device is made of software over this port. `card_ports`: ports of the card it is on.
    """

    name: str
    driver: str
    pci_address: str | None
    numa_node: int | None
    speed: Positive | None
    carrier: bool
    queues: Count
    rdma_device: str | None
    link: PcieLink | None
    software_rdma: bool = False
    firmware: str | None = None
    card_ports: Positive | None = None
    slot: str | None = None
    switch: str | None = None


class NumaNode(Contract):
    """One NUMA node: its logical CPUs, its physical cores, its memory and its L3 cache in bytes, its socket.

    A node may be without memory or without CPUs; the latter has no socket.
    """

    id: int
    cpus: list[Count]
    cores: Count
    memory: Count
    socket: int | None = None
    l3: Count | None = None


class Dimm(Contract):
    """One memory module: bytes, and the transfers per second in millions that it is run at (None: not known)."""

    size: Count
    speed: Positive | None


class KernelModule(Contract):
    """A kernel module of NFS, SMB or parity RAID: which build the kernel loads, Debian's or Millrace's."""

    name: str
    build: Literal["debian", "millrace"]


class Inventory(Contract):
    """Everything that the planner may use; what follows `nics` is None or empty where it is not reported.

    `cpu_mhz` is the sustained clock, `cpu_throttled` how often a core was slowed down by heat since the boot, `ecc`
    whether memory errors are corrected, `kernel_features` which modules that a pool may need exist, `lockdown` the mode
    of the kernel's lockdown, `file_modules` the modules of NFS, SMB and parity RAID.
    """

    schema_version: Literal[1] = 1
    kernel: str
    cpu_model: str
    sockets: Positive
    nodes: list[NumaNode]
    memory: Count
    drives: list[Drive]
    nics: list[Nic]
    smt: bool | None = None
    cpu_mhz: Positive | None = None
    cpu_throttled: Count | None = None
    ecc: bool | None = None
    dimms: list[Dimm] = Field(default=[])
    switches: list[PcieSwitch] = Field(default=[])
    kernel_features: dict[str, bool] = Field(default={})
    lockdown: str | None = None
    file_modules: list[KernelModule] = Field(default=[])
