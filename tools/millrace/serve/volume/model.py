# SPDX-License-Identifier: Apache-2.0
"""A volume: a file of the pool that one host, or hosts that share it, use as an NVMe namespace over the network.

What identifies it lies beside its data on the pool, so that a new boot drive finds both. Its size is that of its file.
"""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from millrace.system.documents import Contract, Count
from millrace.system.names import network
from millrace.system.nvme import FIRST_PORT, Nqn, Secret, Transport
from millrace.system.rule import Check, Rule

MOST_EXPORTED = 64
"""Each exported volume has a port of its own, from 4420 on: the kernel reports who is connected by port alone."""

NSID = 1

volume_name = Rule(
    Check(
        "[a-z0-9][a-z0-9_-]{0,63}",
        "$0 cannot be the name of a volume: use 1 to 64 of a-z, 0-9, - and _, first a letter or a digit",
    )
)

volume_size = Rule(
    Check(
        "[0-9]{1,15}[KMGTPkmgtp]?(?:[iI]?[bB])?",
        "$0 is not the size of a volume: write it like 500G or 10T, 1 MiB at least",
    )
)

VolumeName = Annotated[str, volume_name]
HostAddress = Annotated[str, network]
"""An address (10.0.0.5/32) or a network of hosts."""


class Volume(Contract):
    """What identifies a volume (`volume.json` beside its data): written once and never changed.

    `project` is its number for XFS quotas; `origin` the UUID of the volume that it was cloned from.
    """

    schema_version: Literal[1] = 1
    uuid: UUID
    project: int
    created: str
    by: str
    origin: UUID | None = None

    @property
    def nqn(self) -> str:
        """The NQN of its subsystem."""
        return f"nqn.2014-08.org.nvmexpress:uuid:{self.uuid}"


class VolumeExport(Contract):
    """How a volume is exported. `shared`: several hosts may write it, and NVMe reservations are on.

    `addresses`: addresses and networks of the hosts, as the firewall lets them in; none: all client networks, which an
    export of an earlier release has.
    """

    transport: Transport
    port: int = Field(ge=FIRST_PORT, lt=FIRST_PORT + MOST_EXPORTED)
    hosts: list[Nqn] = Field(min_length=1)
    shared: bool = False
    addresses: list[HostAddress] = Field(default_factory=list)


class Exports(Contract):
    """All exports, by the UUID of the volume, and the DH-HMAC-CHAP secrets of hosts (`exports.json`; root alone).

    The kernel knows one secret a host, whatever volumes it connects.
    """

    schema_version: Literal[1] = 1
    volumes: dict[UUID, VolumeExport] = Field(default_factory=dict)
    secrets: dict[Nqn, Secret] = Field(default_factory=dict)


class ConnectedHost(Contract):
    """An address that has connections to the port of a volume."""

    address: str
    connections: Count


class VolumeRow(Contract):
    """One volume. `size` and `allocated` in bytes: what is not allocated was discarded by its host.

    `export` None: it is not exported. `connect`: the line that connects it on a host, for each address; what stands
    for the secret is to be replaced there. `problem`: why it is not served as it should be, in words.
    """

    name: str
    uuid: UUID
    nqn: str
    size: Count
    allocated: Count
    origin: UUID | None
    created: str
    by: str
    export: VolumeExport | None
    authenticated: bool
    addresses: list[str]
    connect: list[str]
    connected: list[ConnectedHost]
    problem: str | None


class VolumeList(Contract):
    """All volumes, sorted by name."""

    schema_version: Literal[1] = 1
    volumes: list[VolumeRow]


class VolumeDetails(Contract):
    """One volume."""

    schema_version: Literal[1] = 1
    volume: VolumeRow


class VolumeReport(Contract):
    """A change of a volume: how it is now, None where it was removed, and what to know about it."""

    schema_version: Literal[1] = 1
    name: str
    volume: VolumeRow | None
    done: str
    warnings: list[str] = Field(default_factory=list)
