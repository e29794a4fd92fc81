# SPDX-License-Identifier: Apache-2.0
"""The description of this server in the format of a submission: what the inventory knows, and "unknown" for the rest.

github.com/mlcommons/storage, mlpstorage_py/system_description/schema.yaml. "unknown" is no value of most fields there:
the validation names every one that is left to fill in.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from millrace import __version__
from millrace.inventory.model import Drive, Nic
from millrace.measure.bench.plan.site import Site
from millrace.system.text import GIB

UNKNOWN = "unknown"
# /sys/class/net/*/type, linux/if_arp.h
LINKS = {1: "ethernet", 32: "infiniband"}

Value: TypeAlias = "str | int | bool | list[Value] | Mapping[str, Value]"


@dataclass(frozen=True)
class SystemFacts:
    """What the inventory does not have. `links` are /sys/class/net/*/type, `roles` the traffic of each port.

    `memory` is that of one client in bytes.
    """

    product: str | None
    virtual: bool
    links: Mapping[str, int | None]
    roles: Mapping[str, list[str]]
    sysctl: Mapping[str, str]
    clients: int
    memory: int


def document(name: str, site: Site, facts: SystemFacts) -> Mapping[str, Value]:
    """Return the description of the system `name`."""
    return {
        "system_under_test": {
            "solution": {
                "submission_name": name,
                "friendly_description": f"Millrace file server: {site.title}" if site.title else "Millrace file server",
                "architecture": {
                    "storage_location": "remote",
                    "benchmark_API": "file",
                    "product_API": "file",
                    "client_footprint": "open_source",
                    "client_installation": "in_box",
                },
                "capabilities": {
                    "multi_host": True,
                    "simultaneous_write": True,
                    "simultaneous_read": True,
                    "remap_time_in_seconds": 0,
                },
            },
            # a virtual server may be anywhere
            "deployment": UNKNOWN if facts.virtual else "onprem",
            "product_nodes": [_server(site, facts)],
            "total_rack_units": UNKNOWN,
            "clients": [_client(facts)],
        }
    }


def _server(site: Site, facts: SystemFacts) -> Mapping[str, Value]:
    seen = site.inventory
    return {
        "friendly_description": "File server",
        "quantity": 1,
        "chassis": {
            "model_name": facts.product or UNKNOWN,
            "rack_units": UNKNOWN,
            "cpu_model": seen.cpu_model,
            "cpu_qty": seen.sockets,
            "cpu_cores": site.cores,
            "memory_capacity": round(seen.memory / GIB),
            "power": _POWER,
        },
        "networking": _ports(seen.nics, facts),
        "drives": _drives([*site.data, *site.log]),
        "operating_system": {"name": "Millrace", "version": __version__},
        "sysctl": [{"name": name, "value": value} for name, value in sorted(facts.sysctl.items())],
    }


# Nothing but the management controller knows the supplies.
_POWER: Mapping[str, Value] = {
    "min_psus_active": UNKNOWN,
    "psus_configured": [
        {
            "unit_count": UNKNOWN,
            "inlet_voltage": UNKNOWN,
            "nameplate_power_watts": UNKNOWN,
            "efficiency": UNKNOWN,
        }
    ],
}


def _ports(nics: Iterable[Nic], facts: SystemFacts) -> list[Value]:
    def facts_of(nic: Nic) -> tuple[str, bool, int | str, tuple[str, ...]]:
        speed = round(nic.speed / 1000) if nic.speed and nic.speed >= 1000 else UNKNOWN
        kind = facts.links.get(nic.name)
        roles = tuple(facts.roles.get(nic.name) or [UNKNOWN])
        return LINKS.get(kind or 0, UNKNOWN if kind is None else "other"), nic.carrier, speed, roles

    ports: list[Value] = []
    for (kind, up, speed, roles), count in Counter(facts_of(nic) for nic in nics).items():
        port: dict[str, Value] = {"unit_count": count, "type": kind, "state": "up" if up else "down"}
        # of a port without a link nothing more is asked
        ports.append({**port, "speed": speed, "traffic": list(roles)} if up else port)
    return ports


def _drives(drives: Iterable[Drive]) -> list[Value]:
    groups = Counter((drive.model, drive.transport, drive.size // 10**9) for drive in drives)
    return [
        {
            "unit_count": count,
            "vendor_name": UNKNOWN,
            "model_name": model,
            "interface": transport if transport in ("nvme", "sas", "sata") else UNKNOWN,
            "media_type": UNKNOWN,
            "capacity_in_GB": size,
        }
        for (model, transport, size), count in groups.items()
    ]


def _client(facts: SystemFacts) -> Mapping[str, Value]:
    return {
        "friendly_description": "Client that runs the benchmark",
        "quantity": facts.clients,
        "chassis": {
            "model_name": UNKNOWN,
            "rack_units": UNKNOWN,
            "cpu_model": UNKNOWN,
            "cpu_qty": UNKNOWN,
            "cpu_cores": UNKNOWN,
            "memory_capacity": round(facts.memory / GIB),
            "power": _POWER,
        },
        "networking": [{"unit_count": UNKNOWN, "type": UNKNOWN, "state": "up", "speed": UNKNOWN, "traffic": ["data"]}],
        "operating_system": {"name": UNKNOWN, "version": UNKNOWN},
    }


def unknown(value: Value, path: str = "") -> list[str]:
    """Return the paths of the fields that are left to fill in."""
    if isinstance(value, Mapping):
        return [each for key, one in value.items() for each in unknown(one, f"{path}.{key}" if path else key)]
    if isinstance(value, list):
        return [each for number, one in enumerate(value) for each in unknown(one, f"{path}[{number}]")]
    return [path] if value == UNKNOWN else []


def yaml(value: Value, indent: int = 0) -> str:
    """Return YAML with indentation of two blanks; every text is in quotes, as JSON has it."""
    pad = "  " * indent
    if isinstance(value, Mapping):
        return "".join(f"{pad}{key}:{_after(one, indent)}" for key, one in value.items())
    if isinstance(value, list):
        return "".join(f"{pad}-{_item(one, indent)}" for one in value)
    return f"{pad}{json.dumps(value)}\n"


def _after(value: Value, indent: int) -> str:
    if isinstance(value, Mapping | list) and value:
        return f"\n{yaml(value, indent + 1)}"
    return f" {json.dumps(value, ensure_ascii=False)}\n"


def _item(value: Value, indent: int) -> str:
    if isinstance(value, Mapping | list) and value:
        return f" {yaml(value, indent + 1).lstrip()}"
    return f" {json.dumps(value, ensure_ascii=False)}\n"
