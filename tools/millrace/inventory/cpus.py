# SPDX-License-Identifier: Apache-2.0
"""CPUs, NUMA nodes and memory."""

import re
from collections.abc import Sequence
from pathlib import Path

from millrace.inventory.model import NumaNode
from millrace.system import sysfs
from millrace.system.text import KIB

L3 = 3


def nodes(sysroot: Path) -> list[NumaNode]:
    """Return the NUMA nodes; a kernel without NUMA is one node."""
    directory = sysroot / "sys/devices/system/node"
    numbers = sorted(int(name[4:]) for name in sysfs.names(directory) if re.fullmatch(r"node\d+", name))
    if not numbers:
        return [_node(sysroot, 0, sysroot / "sys/devices/system/cpu/online", memory(sysroot))]
    return [
        _node(sysroot, number, directory / f"node{number}/cpulist", _mem_total(directory / f"node{number}/meminfo"))
        for number in numbers
    ]


def memory(sysroot: Path) -> int:
    """Return the memory of the server in bytes."""
    return _mem_total(sysroot / "proc/meminfo")


def cpu_model(sysroot: Path) -> str:
    """Return the model of the CPU as the kernel prints it, empty where it prints none."""
    found = re.search(r"^model name\s*:\s*(.+)$", sysfs.text(sysroot / "proc/cpuinfo") or "", re.MULTILINE)
    return found[1].strip() if found else ""


def sockets(sysroot: Path, cpus: list[int]) -> int:
    """Return how many sockets the logical CPUs `cpus` belong to, at least 1."""
    packages = {sysfs.text(_topology(sysroot, cpu) / "physical_package_id") for cpu in cpus}
    return max(1, len(packages - {None}))


def smt(sysroot: Path) -> bool | None:
    """Return whether cores run several threads each; None where the kernel does not report it."""
    active = sysfs.number(sysroot / "sys/devices/system/cpu/smt/active")
    return None if active is None else bool(active)


def clock(sysroot: Path) -> int | None:
    """Return the sustained clock of the first CPU in MHz: the base clock, else the highest one that is advertised."""
    frequencies = sysroot / "sys/devices/system/cpu/cpu0/cpufreq"
    khz = sysfs.number(frequencies / "base_frequency") or sysfs.number(frequencies / "cpuinfo_max_freq")
    return khz // 1000 if khz else None


def throttled(sysroot: Path, cpus: list[int]) -> int | None:
    """Return how often cores of `cpus` were slowed down by heat since the boot; None where there is no counter."""
    counters = (f"sys/devices/system/cpu/cpu{cpu}/thermal_throttle/core_throttle_count" for cpu in cpus)
    counts = [count for count in (sysfs.number(sysroot / counter) for counter in counters) if count is not None]
    return sum(counts) if counts else None


def cpu_list(ranges: str) -> list[int]:
    """Parse `0-3,8` into [0, 1, 2, 3, 8]."""
    found: list[int] = []
    for part in filter(None, ranges.strip().split(",")):
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return found


def ranges(cpus: Sequence[int]) -> str:
    """Return [0, 1, 2, 8] as `0-2,8`; the CPUs are in order."""
    runs: list[list[int]] = []
    for cpu in cpus:
        if runs and cpu == runs[-1][-1] + 1:
            runs[-1].append(cpu)
        else:
            runs.append([cpu])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _node(sysroot: Path, number: int, cpulist: Path, size: int) -> NumaNode:
    cpus = cpu_list(sysfs.text(cpulist) or "")
    packages = [sysfs.number(_topology(sysroot, cpu) / "physical_package_id") for cpu in cpus[:1]]
    return NumaNode(
        id=number,
        cpus=cpus,
        cores=_cores(sysroot, cpus),
        memory=size,
        socket=packages[0] if packages else None,
        l3=_l3(sysroot, cpus),
    )


def _l3(sysroot: Path, cpus: list[int]) -> int | None:
    """Bytes of all L3 caches of these CPUs together; CPUs that share one print the same list."""
    found: dict[str, int] = {}
    for cpu in cpus:
        caches = sysroot / f"sys/devices/system/cpu/cpu{cpu}/cache"
        for name in sysfs.names(caches):
            size = re.fullmatch(r"(\d+)K", sysfs.text(caches / name / "size") or "")
            if size and sysfs.number(caches / name / "level") == L3:
                found[sysfs.text(caches / name / "shared_cpu_list") or f"cpu{cpu}"] = int(size[1]) * KIB
    return sum(found.values()) or None


def _cores(sysroot: Path, cpus: list[int]) -> int:
    """Physical cores: CPUs that share one core print the same list. A CPU without topology counts for itself."""
    return len({sysfs.text(_topology(sysroot, cpu) / "thread_siblings_list") or f"cpu{cpu}" for cpu in cpus})


def _topology(sysroot: Path, cpu: int) -> Path:
    return sysroot / f"sys/devices/system/cpu/cpu{cpu}/topology"


def _mem_total(meminfo: Path) -> int:
    found = re.search(r"MemTotal:\s+(\d+) kB", sysfs.text(meminfo) or "")
    return int(found[1]) * KIB if found else 0
