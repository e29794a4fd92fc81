# SPDX-License-Identifier: Apache-2.0
"""Do the threads of nfsd reach the CPUs of all NUMA nodes?

Kernels 6.18 to 7.1 kept the threads of a global pool on the node of the process that started them (truenas/linux#322):
half of a server with two sockets was idle and nothing reported it. A pool without threads, in the other mode, looks the
same.
"""

import re
from collections.abc import Iterator, Mapping

from millrace.inventory.cpus import cpu_list
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.system import paths, sysfs
from millrace.system.nfsd import is_serving
from millrace.tune.topology import node_cpus

NAME = "nfsd_nodes"


def check(host: Host) -> list[HealthFinding]:
    """Return one finding wherever nfsd serves a pool."""
    if host.pool is None or not is_serving():
        return []
    nodes = node_cpus()
    idle = unreached({node: set(cpus) for node, cpus in nodes.items()}) if len(nodes) > 1 else []
    if not idle:
        where = f"all {len(nodes)} NUMA nodes" if len(nodes) > 1 else "all CPUs"
        return [HealthFinding(check=NAME, level=Level.OK, sentence=f"Threads of the NFS server run on {where}.")]
    named = ", ".join(map(str, idle))
    return [
        host.absent(
            NAME,
            f"No thread of the NFS server may run on NUMA node {named}: its CPUs serve nothing.",
            "systemctl restart nfs-server.service; if it stays like this, boot the release before: this kernel keeps "
            "the threads where they were started (truenas/linux#322)",
        )
    ]


def unreached(nodes: Mapping[int, set[int]]) -> list[int]:
    """Return the nodes, by their CPUs, on which no thread of nfsd may run. ValueError: it has no threads."""
    idle, threads = dict(nodes), 0
    for allowed in thread_cpus():
        threads += 1
        idle = {node: cpus for node, cpus in idle.items() if not allowed & cpus}
        # a server has thousands of processes, and each one is read for this
        if not idle:
            return []
    if not threads:
        raise ValueError("nfsd is running, but /proc shows none of its threads")
    return list(idle)


def thread_cpus() -> Iterator[set[int]]:
    """Yield the CPUs on which each thread of nfsd may run; threads may start and end during this."""
    for process in (paths.ROOT / "proc").glob("[0-9]*"):
        if sysfs.text(process / "comm") != "nfsd":
            continue
        status = sysfs.text(process / "status") or ""
        allowed = re.search(r"^Cpus_allowed_list:\s*(\S+)$", status, re.MULTILINE)
        # kthreadd is process 2: a program may be called nfsd too
        if allowed and re.search(r"^PPid:\s*2$", status, re.MULTILINE):
            yield set(cpu_list(allowed[1]))
