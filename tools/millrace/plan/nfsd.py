# SPDX-License-Identifier: Apache-2.0
"""The NFS server: threads, pools, block size, times."""

from dataclasses import dataclass

from millrace.plan import sources
from millrace.plan.defaults import BUFFERED
from millrace.plan.memory import thread_memory
from millrace.plan.model import Decision, Nfsd
from millrace.plan.override import InapplicablePolicy, by_policy
from millrace.plan.policy.model import NfsdPolicy, Policy
from millrace.plan.server import Server
from millrace.plan.sizes import clamp
from millrace.system.text import MIB, binary

FEWEST_THREADS, MOST_THREADS = 16, 128
POOL_MINIMUM = 8
LEASE = 45  # seconds
# Part of memory that threads may hold by the planner's choice, and at most by the policy's.
THREAD_MEMORY, MOST_THREAD_MEMORY = 0.03, 0.25


@dataclass(frozen=True)
class ThreadSizing:
    """The threads and what they follow from. `affordable` is what memory allows."""

    cores: int
    affordable: int
    pools: int
    most: int
    least: int


def plan_nfsd(server: Server, policy: Policy) -> tuple[Nfsd, list[Decision]]:
    """Size the NFS server after the cores near its network ports.

    InapplicablePolicy: the policy asks for more than memory allows.
    """
    requested = policy.nfsd
    block = requested.max_block_size or MIB
    computed_mode = "pernode" if server.compute_nodes > 1 and server.ports_on_every_node else "global"
    mode = requested.pool_mode or computed_mode
    size = _size(server, requested, block, server.compute_nodes if mode == "pernode" else 1)
    nfsd = Nfsd(
        threads_min=size.least,
        threads_max=size.most,
        pool_mode=mode,
        max_block_size=block,
        lease_time=requested.lease_time or min(LEASE, requested.grace_time or LEASE),
        grace_time=requested.grace_time or max(LEASE, requested.lease_time or LEASE),
        localio=requested.localio is not False,
        copy_from=policy.nfs.copy_from,
    )
    decisions = [
        _threads(size, server, requested),
        _pool_mode(mode, computed_mode, server, requested),
        _block(nfsd, requested),
        _io_modes(requested),
        _localio(nfsd, requested),
        _copy_from(nfsd),
        _times(nfsd, requested),
        *_exports(policy),
    ]
    return nfsd, decisions


def grace_decision(nfsd: Nfsd, policy: Policy) -> Decision:
    """Return the decision about the grace time, which a plan has with that of the lease."""
    decision = Decision(
        name="nfsd.grace_time",
        value=nfsd.grace_time,
        reason="As long as the lease: every client that was served before a restart can reclaim its locks.",
        source=sources.TALK_NFS_OPTIONS,
    )
    keys = [key for key in ("grace_time", "lease_time") if getattr(policy.nfsd, key) is not None]
    return by_policy(decision, " and ".join(f"nfsd.{key}" for key in keys), f"{LEASE} s") if keys else decision


def _size(server: Server, requested: NfsdPolicy, block: int, pools: int) -> ThreadSizing:
    cores = server.nic_cores or server.cores
    affordable = max(FEWEST_THREADS, int(server.memory * THREAD_MEMORY) // thread_memory(block))
    computed = max(min(clamp(cores, FEWEST_THREADS, MOST_THREADS), affordable), POOL_MINIMUM * pools)
    most = requested.threads or max(computed, (requested.threads_min or 0) * pools)
    least = requested.threads_min or min(POOL_MINIMUM, max(1, most // pools))
    _check(server, requested, block, ThreadSizing(cores, affordable, pools, most, least))
    return ThreadSizing(cores, affordable, pools, most, least)


def _check(server: Server, requested: NfsdPolicy, block: int, size: ThreadSizing) -> None:
    if size.most < size.pools * size.least:
        key = "nfsd.threads" if requested.threads_min is None else "nfsd.threads_min"
        raise InapplicablePolicy(
            key,
            f"{size.pools} pools of at least {size.least} threads are more than {size.most} threads",
            f"Set nfsd.threads to at least {size.pools * size.least}, or nfsd.threads_min lower.",
        )
    held = size.most * thread_memory(block)
    if held > server.memory * MOST_THREAD_MEMORY and (
        requested.threads or requested.threads_min or requested.max_block_size
    ):
        most = int(server.memory * MOST_THREAD_MEMORY) // thread_memory(block)
        raise InapplicablePolicy(
            "nfsd.max_block_size" if requested.max_block_size and not requested.threads else "nfsd.threads",
            f"{size.most} threads with blocks of {binary(block)} take {binary(held)} of {binary(server.memory)} memory",
            f"Set nfsd.threads to at most {most}, or nfsd.max_block_size lower.",
        )


def _threads(size: ThreadSizing, server: Server, requested: NfsdPolicy) -> Decision:
    serving = (
        "near the network ports"
        if server.nic_cores
        else "of the server, as the location of the network ports is unknown"
    )
    limited = f"memory allows {size.affordable}" if size.affordable < size.cores else "more would only contend"
    pools = f"each of {size.pools} pools" if size.pools > 1 else "the pool"
    decision = Decision(
        name="nfsd.threads",
        value={"min_per_pool": size.least, "max": size.most},
        reason=f"{size.cores} physical cores {serving}, within {FEWEST_THREADS} to {MOST_THREADS} and at least "
        f"{POOL_MINIMUM} in {pools}; {limited}. Idle threads end, down to "
        f"{size.least} in each pool.",
        source=f"{sources.TALK_NFSD}; {sources.NFSD_DYNAMIC}",
    )
    keys = [key for key in ("threads", "threads_min") if getattr(requested, key) is not None]
    computed = f"{size.cores} physical cores {serving}, within {FEWEST_THREADS} to {MOST_THREADS}"
    return by_policy(decision, " and ".join(f"nfsd.{key}" for key in keys), computed) if keys else decision


def _pool_mode(mode: str, computed: str, server: Server, requested: NfsdPolicy) -> Decision:
    nodes = server.compute_nodes
    if nodes == 1:
        reason = "Only one NUMA node has CPUs: one pool is enough."
    elif computed == "pernode":
        reason = (
            f"{nodes} NUMA nodes have CPUs and a network port each: a request is served on the node that received it."
        )
    else:
        reason = (
            f"{nodes} NUMA nodes have CPUs and {len(server.nic_nodes)} of them a network port: a pool only gets "
            "requests "
            "that its own CPUs receive, so pools of the other nodes would idle; threads of one pool run on any node."
        )
    decision = Decision(name="nfsd.pool_mode", value=mode, reason=reason, source=sources.NFSD_POOLS)
    return by_policy(decision, "nfsd.pool_mode", computed) if requested.pool_mode else decision


def _block(nfsd: Nfsd, requested: NfsdPolicy) -> Decision:
    decision = Decision(
        name="nfsd.max_block_size",
        value=nfsd.max_block_size,
        reason="Linux clients use at most 1 MiB; 4 MiB would take four times the memory for each thread.",
        source=sources.NFSD_BLOCK,
    )
    return by_policy(decision, "nfsd.max_block_size", binary(MIB)) if requested.max_block_size else decision


def _io_modes(requested: NfsdPolicy) -> Decision:
    """The kernel's default: its switches are in debugfs, without a promise to stay."""
    decision = Decision(
        name="nfsd.io_modes",
        value={"read": requested.io_cache_read or BUFFERED, "write": requested.io_cache_write or BUFFERED},
        reason="Through the page cache a second read comes from memory, 2.7 times as fast as a direct one. Direct "
        "reads gain 8 % the first time only; reads that drop their pages (dontcache) discard the read-ahead as well.",
        source=sources.NFSD_IO_MODES,
    )
    keys = [key for key in ("io_cache_read", "io_cache_write") if getattr(requested, key) is not None]
    return by_policy(decision, " and ".join(f"nfsd.{key}" for key in keys), BUFFERED) if keys else decision


def _localio(nfsd: Nfsd, requested: NfsdPolicy) -> Decision:
    decision = Decision(
        name="nfsd.localio",
        value=nfsd.localio,
        reason="NFS clients on the server itself, such as containers, read and write the files directly, without "
        "requests to nfsd. The kernel needs the rebuilt modules for it.",
        source=sources.NFSD_LOCALIO,
    )
    return decision if requested.localio is None else by_policy(decision, "nfsd.localio", "on")


def _copy_from(nfsd: Nfsd) -> Decision:
    return Decision(
        name="nfsd.copy_from",
        value=list(nfsd.copy_from),
        reason=f"A client of both servers can let this server copy files from {', '.join(nfsd.copy_from)} without "
        "passing the data itself. The kernel needs the rebuilt modules for it; without them the client copies."
        if nfsd.copy_from
        else "The policy names no server (nfs.copy_from): this server does not connect to other NFS servers, and a "
        "client copies between two servers itself.",
        source=f"{sources.NFSD_COPY}; {sources.POLICY}",
    )


def _times(nfsd: Nfsd, requested: NfsdPolicy) -> Decision:
    decision = Decision(
        name="nfsd.lease_time",
        value=nfsd.lease_time,
        reason="45 s instead of 90 s halves the time that clients wait after a restart.",
        source=sources.TALK_NFS_OPTIONS,
    )
    keys = [key for key in ("lease_time", "grace_time") if getattr(requested, key) is not None]
    return by_policy(decision, " and ".join(f"nfsd.{key}" for key in keys), f"{LEASE} s") if keys else decision


def _exports(policy: Policy) -> list[Decision]:
    networks = policy.nfs.networks
    return [
        Decision(
            name="exports.networks",
            value=list(networks),
            reason=f"Only clients in {', '.join(networks)} are served."
            if networks
            else "The policy names no network: NFS is closed until an administrator confirms the client networks.",
            source=sources.POLICY,
        ),
        Decision(
            name="exports.privileged_ports",
            value=policy.nfs.privileged_ports,
            reason="Clients must use a port below 1024, which only root on the client can."
            if policy.nfs.privileged_ports
            else "The policy allows clients any port.",
            source=sources.POLICY,
        ),
    ]
