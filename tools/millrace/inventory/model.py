# SPDX-License-Identifier: Apache-2.0
"""The inventory contract (`/run/millrace/inventory.json`, `millrace inventory --json`)."""

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict


class Contract(BaseModel):
    """Unknown keys are refused: a file of a newer release is not half understood."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class DriveState(StrEnum):
    """What is on a drive. UNKNOWN outranks everything: a probe that failed proves nothing."""

    BLANK = "blank"
    OURS = "ours"
    FOREIGN = "foreign"
    UNKNOWN = "unknown"
    BOOT = "boot"


class Evidence(Contract):
    """One thing that one probe found, or the reason why it could not look."""

    probe: str
    finding: str


class PcieLink(Contract):
    """A PCIe link, now and at most. Speeds in GT/s per lane."""

    speed: float
    width: int
    max_speed: float
    max_width: int


class Drive(Contract):
    """One drive as the kernel's block device for it. Sizes in bytes.

    `name` (nvme3n1) is for people and changes between boots; `serial` and `wwid` are the identity.
    """

    name: str
    serial: str
    wwid: str
    model: str
    firmware: str
    transport: str
    size: int
    logical_block: int
    physical_block: int
    rotational: bool
    removable: bool
    pci_address: str | None
    numa_node: int | None
    link: PcieLink | None
    state: DriveState
    evidence: list[Evidence]


class Nic(Contract):
    """One physical network port. `speed` in Mbit/s, None where the driver does not say."""

    name: str
    driver: str
    pci_address: str | None
    numa_node: int | None
    speed: int | None
    carrier: bool
    queues: int
    rdma_device: str | None
    link: PcieLink | None


class Node(Contract):
    """One NUMA node: its logical CPUs, its physical cores, its memory in bytes."""

    id: int
    cpus: list[int]
    cores: int
    memory: int


class Inventory(Contract):
    """Everything that the planner may look at."""

    schema_version: Literal[1] = 1
    kernel: str
    cpu_model: str
    sockets: int
    nodes: list[Node]
    memory: int
    drives: list[Drive]
    nics: list[Nic]
