# SPDX-License-Identifier: Apache-2.0
"""The CPUs of this server as they are online now."""

import re
from pathlib import Path

from millrace.inventory.cpus import cpu_list
from millrace.plan.ports import Core
from millrace.system import paths, sysfs


def node_cpus() -> dict[int, list[int]]:
    """Return the logical CPUs of each NUMA node that has any; a kernel without NUMA is node 0."""
    directory = paths.ROOT / "sys/devices/system"
    names = [name for name in sysfs.names(directory / "node") if re.fullmatch(r"node\d+", name)]
    found = {int(name[4:]): cpu_list(sysfs.text(directory / "node" / name / "cpulist") or "") for name in names}
    if not found:
        found = {0: cpu_list(sysfs.text(directory / "cpu/online") or "")}
    return {node: cpus for node, cpus in sorted(found.items()) if cpus}


def cores() -> list[Core]:
    """Return the physical cores by node, each with its threads."""
    return [core for node, cpus in node_cpus().items() for core in _of_node(node, cpus)]


def _of_node(node: int, cpus: list[int]) -> list[Core]:
    found: dict[str, list[int]] = {}
    for cpu in cpus:
        found.setdefault(sysfs.text(_topology(cpu) / "thread_siblings_list") or str(cpu), []).append(cpu)
    return [Core(node, _package(node, threads[0]), tuple(sorted(threads))) for threads in found.values()]


def _package(node: int, cpu: int) -> int:
    package = sysfs.number(_topology(cpu) / "physical_package_id")
    return node if package is None else package


def _topology(cpu: int) -> Path:
    return paths.ROOT / f"sys/devices/system/cpu/cpu{cpu}/topology"
