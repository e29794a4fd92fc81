# SPDX-License-Identifier: Apache-2.0
"""A connection to a subsystem of NVMe over Fabrics, over one or more paths."""

from ipaddress import ip_address
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from millrace.system.documents import Contract, Count
from millrace.system.nvme import Nqn, Secret, SubsystemNqn, Transport
from millrace.system.text import shown


def _address(text: str) -> str:
    try:
        found = ip_address(text)
    except ValueError as error:
        raise ValueError(f"{shown(text)} is not an address: write it like 10.0.0.1") from error
    if found.is_unspecified or found.is_multicast:
        raise ValueError(f"{shown(text)} is not the address of a target: write one like 10.0.0.1")
    return str(found)


Address = Annotated[str, AfterValidator(_address)]
Port = Annotated[int, Field(ge=1, le=65535)]


class FabricsConnection(Contract):
    """What is connected: a subsystem at each of its addresses, which are paths to the same namespaces.

    `host_nqn` is that of this server when it was connected: the target allows it, also after an adoption has brought
    back another one.
    """

    nqn: SubsystemNqn
    host_nqn: Nqn
    transport: Transport
    port: Port
    addresses: list[Address] = Field(min_length=1, max_length=16)
    authenticated: bool = False


class FabricsConnections(Contract):
    """All connections that are made at each boot (`connections.json`)."""

    schema_version: Literal[1] = 1
    connections: list[FabricsConnection] = Field(default_factory=list)


class FabricsSecrets(Contract):
    """The DH-HMAC-CHAP secret of this host for each subsystem, by its NQN (`secrets.json`; root alone)."""

    schema_version: Literal[1] = 1
    secrets: dict[SubsystemNqn, Secret] = Field(default_factory=dict)


class PathRow(Contract):
    """One path. `state` is that of the kernel's controller (live, connecting, …), or `missing` without one."""

    address: str
    controller: str | None
    state: str


class NamespaceRow(Contract):
    """A block device of the subsystem; `device` is a name that no restart changes, `size` in bytes."""

    name: str
    device: str
    size: Count


class ConnectionRow(Contract):
    """One connection with its paths and block devices as they are now."""

    nqn: str
    host_nqn: str
    transport: Transport
    port: int
    authenticated: bool
    paths: list[PathRow]
    namespaces: list[NamespaceRow]


class ConnectionList(Contract):
    """All connections. `host_nqn`: what a target knows this server by and must allow, "" before it has one."""

    schema_version: Literal[1] = 1
    host_nqn: str
    connections: list[ConnectionRow]


class ConnectionReport(Contract):
    """A change: how the connection is now, None where it was removed, and what to know about it."""

    schema_version: Literal[1] = 1
    nqn: str
    connection: ConnectionRow | None
    done: str
    warnings: list[str] = Field(default_factory=list)
