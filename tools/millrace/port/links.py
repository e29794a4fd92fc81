# SPDX-License-Identifier: Apache-2.0
"""The Ethernet ports as the kernel has them now."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millrace import paths
from millrace.errors import Failed
from millrace.port.model import Port
from millrace.state.model import Config
from millrace.system.run import Runner, must


@dataclass(frozen=True)
class Link:
    """A port; `addresses` in CIDR form are those that are ready, `mac` is the one that it was made with."""

    name: str
    mac: str
    carrier: bool
    mtu: int | None
    addresses: list[str]
    part_of: str | None


def links(run: Runner) -> list[Link]:
    """Return all Ethernet ports, by name. Failed: iproute2 does not list them."""
    return parse(must(run, ["ip", "-j", "addr"]))


def parse(text: str) -> list[Link]:
    """Return all Ethernet ports in the output of `ip -j addr`, by name. Failed: it is no JSON."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise Failed(f"ip -j addr printed something that is not JSON: {error}") from error
    # A bond or a VLAN is no port: it has no device.
    ports = [one for one in found if one.get("link_type") == "ether" and _exists(str(one["ifname"]), "device")]
    return sorted((_link(one) for one in ports), key=lambda one: one.name)


def with_wanted(found: Sequence[Link], config: Config) -> list[Port]:
    """Return the ports with their fixed addresses of the desired state."""
    return [_port(one, config) for one in found]


def _link(entry: dict[str, Any]) -> Link:
    name = str(entry["ifname"])
    return Link(
        name=name,
        # Ports of a bond all show the same `address`.
        mac=str(entry.get("permaddr") or entry.get("address", "")),
        carrier=_text(name, "carrier") == "1",
        mtu=entry.get("mtu"),
        addresses=[
            f"{one['local']}/{one['prefixlen']}"
            for one in entry.get("addr_info", [])
            if one.get("scope") == "global" and not one.get("tentative") and not one.get("dadfailed")
        ],
        part_of=entry.get("master"),
    )


def _port(link: Link, config: Config) -> Port:
    wanted = config.port(link.mac)
    speed = _text(link.name, "speed")
    return Port(
        name=link.name,
        mac=link.mac,
        carrier=link.carrier,
        speed=int(speed) if speed.isdigit() and int(speed) > 0 else None,
        mtu=link.mtu,
        addresses=link.addresses,
        fixed=wanted.addresses if wanted else [],
        gateway=wanted.gateway if wanted else None,
        dhcp=wanted.dhcp if wanted else False,
        part_of=link.part_of,
        management=link.mac in config.management,
    )


def _exists(name: str, attribute: str) -> bool:
    return (paths.ROOT / "sys/class/net" / name / attribute).exists()


def _text(name: str, attribute: str) -> str:
    # The kernel answers EINVAL where a port is down or its driver does not know.
    try:
        return (paths.ROOT / "sys/class/net" / name / attribute).read_text().strip()
    except OSError:
        return ""
