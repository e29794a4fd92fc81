# SPDX-License-Identifier: Apache-2.0
"""The network contract (`millrace network show --json`)."""

from typing import Literal

from pydantic import Field

from millrace.serve.config.network import BondMode, DesiredNetwork, DesiredPort, DesiredRoute, Mac
from millrace.system.documents import Contract

LinkKind = Literal["port", "bond", "vlan"]
TrialState = Literal["applying", "waiting", "failed", "confirmed", "rolled-back"]


class LinkReport(Contract):
    """One port, bond or VLAN. `speed` in Mbit/s and MTUs in bytes where they are known.

    `addresses` are those that it has now, in CIDR form; `fixed` those of the desired state, none where DHCP or a
    credential decides. `decided`: it has settings of its own in the desired state. `part_of` is the bond or bridge that
    it belongs to. A `management` port has the web console and serves no client. `members` are the ports of a bond,
    `active` those of them that carry data, `partner` the MAC address of the switch that answers LACP. `vlan` is the
    VLAN ID, `parent` what it is on.
    """

    name: str
    kind: LinkKind
    mac: str
    carrier: bool
    speed: int | None
    mtu: int | None
    addresses: list[str]
    decided: bool
    fixed: list[str]
    gateway: str | None
    dhcp: bool
    wanted_mtu: int | None
    part_of: str | None
    management: bool
    mode: BondMode | None = None
    members: list[str] = Field(default_factory=list)
    active: list[str] = Field(default_factory=list)
    partner: str | None = None
    vlan: int | None = None
    parent: str | None = None


class TrialReport(Contract):
    """The last change of the network. `seconds` are those that are left to confirm it while it is `waiting`."""

    who: str
    what: str
    state: TrialState
    seconds: int
    problem: str | None
    verified: list[str]
    warnings: list[str]


class NetworkReport(Contract):
    """The network of this server now; `trial` is the last change since it was started."""

    schema_version: Literal[1] = 1
    host_name: str
    domain: str | None
    links: list[LinkReport]
    routes: list[DesiredRoute]
    dns: list[str]
    search: list[str]
    ntp: list[str]
    trial: TrialReport | None


class NetworkChange(Contract):
    """The result of a change. It is in force, and rolled back after `seconds` unless it is confirmed; 0 is for good."""

    schema_version: Literal[1] = 1
    what: str
    seconds: int
    verified: list[str]
    warnings: list[str]


class PathMtu(Contract):
    """The largest packet to a client that is not fragmented, in bytes; `configured` is the MTU of the link to it.

    `carried` is None where the client answers no ping of any size.
    """

    schema_version: Literal[1] = 1
    client: str
    link: str
    configured: int
    carried: int | None
    sentence: str


class NetworkPart(Contract):
    """What a change of the network changes in the desired state."""

    ports: list[DesiredPort]
    management: list[Mac]
    network: DesiredNetwork


class NetworkTrial(Contract):
    """A change that is made, or waits for its confirmation until `deadline`, in seconds of CLOCK_MONOTONIC.

    `begun`: a process has begun to apply it; where another one finds it so, that was killed.
    """

    schema_version: Literal[1] = 1
    who: str
    what: str
    part: NetworkPart
    state: TrialState = "applying"
    begun: bool = False
    deadline: float = 0.0
    problem: str | None = None
    verified: list[str] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)
