# SPDX-License-Identifier: Apache-2.0
"""Figures of the NFS server of the kernel that node_exporter does not have.

They are operations of NFSv4.1 and 4.2, work of each pool of threads, clients, and the time of calls.

Kernel 7.2 counts neither busy threads (the figures after the first of `th` are 0 since 2.6.29) nor the time of one
operation: the tracepoint has that of a call, which is a compound. The pools, clients with state and the time of calls
are shown to root.
"""

from collections.abc import Mapping, Sequence

from millrace.observe.live import counters, latency
from millrace.observe.metrics.family import Family, counter, gauge, summary
from millrace.system import nfsd, paths, sysfs

# RFC 8881, RFC 7862, RFC 8276: operations by their number, from 40 on. node_exporter counts those before.
OPERATIONS = (
    "backchannel_ctl", "bind_conn_to_session", "exchange_id", "create_session", "destroy_session", "free_stateid",
    "get_dir_delegation", "getdeviceinfo", "getdevicelist", "layoutcommit", "layoutget", "layoutreturn",
    "secinfo_no_name", "sequence", "set_ssv", "test_stateid", "want_delegation", "destroy_clientid",
    "reclaim_complete", "allocate", "copy", "copy_notify", "deallocate", "io_advise", "layouterror", "layoutstats",
    "offload_cancel", "offload_status", "read_plus", "seek", "write_same", "clone", "getxattr", "setxattr",
    "listxattrs", "removexattr",
)  # fmt: skip
FIRST = 40


def families() -> list[Family]:
    """Return the metrics of nfsd; none where it is not loaded.

    ValueError: the kernel's counters are not as kernel 7.2 has them.
    """
    text = sysfs.text(paths.ROOT / "proc/net/rpc/nfsd")
    if text is None:
        return []
    latency.enable()
    words = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.strip()}
    timed = latency.calls()
    return [
        counter(
            "nfsd_operations",
            "Operations of NFSv4.1 and 4.2; a compound has several.",
            *((number, {"operation": name}) for name, number in _operations(words)),
        ),
        *_pools(nfsd.lines("pool_stats")),
        gauge("nfsd_clients", "NFS clients.", (counters.nfs_clients(), {})),
        gauge(
            "nfsd_stateful_clients",
            "NFSv4 clients that the server keeps state of, with a connection or without.",
            (_stateful(), {}),
        ),
        gauge(
            "nfsd_listening",
            "Whether the NFS server listens on a transport.",
            *((name in counters.listeners(), {"transport": name}) for name in ("tcp", "rdma")),
        ),
        *(
            [summary("nfsd_call_seconds", "Time from a call to its reply, since it is measured.", *timed)]
            if timed
            else []
        ),
    ]


def _operations(words: Mapping[str, Sequence[str]]) -> list[tuple[str, int]]:
    """`proc4ops COUNT` and the calls of each operation by number, beginning with 0."""
    if "proc4ops" not in words:
        return []
    return list(zip(OPERATIONS, map(int, words["proc4ops"][1 + FIRST :]), strict=False))


def _pools(lines: Sequence[str]) -> list[Family]:
    """Work of each pool of threads; none where nfsd does not show it. ValueError: it shows something else.

    A kernel since 6.6 counts every piece of work as enqueued, also one that an idle thread takes at once: work without
    a woken thread waited for a busy one, or was taken by it.
    """
    if not lines:
        return []
    columns = lines[0].removeprefix("# ").split()
    if columns[2:4] != ["sockets-enqueued", "threads-woken"]:
        raise ValueError(f"/proc/fs/nfsd/pool_stats has columns that kernel 7.2 has not: {lines[0]}")
    rows = [[int(word) for word in line.split()] for line in lines[1:]]
    named = [({"pool": str(row[0])}, row[2], row[3]) for row in rows]
    return [
        counter(
            "nfsd_pool_enqueued",
            "Pieces of work that a pool of threads got.",
            *((enqueued, labels) for labels, enqueued, _ in named),
        ),
        counter(
            "nfsd_pool_threads_woken",
            "Pieces of work for which a thread of the pool was idle.",
            *((woken, labels) for labels, _, woken in named),
        ),
    ]


def _stateful() -> int | None:
    try:
        return sum(1 for _ in (paths.ROOT / "proc/fs/nfsd/clients").iterdir())
    except OSError:
        return None
