# SPDX-License-Identifier: Apache-2.0
"""The port contract (`millrace port list --json`)."""

from typing import Literal

from millrace.system.documents import Contract


class Port(Contract):
    """One Ethernet port. `speed` in Mbit/s and `mtu` in bytes where they are known.

    `addresses` are those that it has now, in CIDR form; `fixed` those of the desired state, none where DHCP or a
    credential decides. `part_of` is the bond or bridge that it belongs to. A `management` port has the web console and
    serves no client.
    """

    name: str
    mac: str
    carrier: bool
    speed: int | None
    mtu: int | None
    addresses: list[str]
    fixed: list[str]
    gateway: str | None
    dhcp: bool
    part_of: str | None
    management: bool


class PortList(Contract):
    """All Ethernet ports of this server."""

    schema_version: Literal[1] = 1
    ports: list[Port]


class PortReport(Contract):
    """The result of a change of one port."""

    schema_version: Literal[1] = 1
    serial: int
    port: Port
    verified: list[str]
    warnings: list[str]
