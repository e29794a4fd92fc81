# SPDX-License-Identifier: Apache-2.0
"""The NFS server: threads, pools, block size, times."""

from millrace.plan import sources
from millrace.plan.model import Decision, Nfsd
from millrace.plan.policy import Policy
from millrace.plan.server import Server
from millrace.plan.units import MIB, clamp

FEWEST_THREADS, MOST_THREADS = 16, 128
POOL_MINIMUM = 8
LEASE = 45  # seconds


def plan_nfsd(server: Server, policy: Policy) -> tuple[Nfsd, list[Decision]]:
    """Size the NFS server after the cores that feed its network ports."""
    pools = server.compute_nodes
    cores = server.nic_cores or server.cores
    threads = max(clamp(cores, FEWEST_THREADS, MOST_THREADS), POOL_MINIMUM * pools)
    nfsd = Nfsd(
        threads_min=POOL_MINIMUM,
        threads_max=threads,
        pool_mode="pernode" if pools > 1 else "global",
        max_block_size=MIB,
        lease_time=LEASE,
        grace_time=LEASE,
    )
    return nfsd, [*_thread_decisions(nfsd, server, cores), *_protocol_decisions(nfsd, policy)]


def _thread_decisions(nfsd: Nfsd, server: Server, cores: int) -> list[Decision]:
    serving = "of the NUMA nodes with network ports" if server.nic_cores else "of the server"
    return [
        Decision(
            name="nfsd.threads",
            value={"min_per_pool": nfsd.threads_min, "max": nfsd.threads_max},
            reason=f"{cores} physical cores {serving}, within 16 to 128: more threads than cores add lock contention, "
            "not throughput; idle ones end, down to 8 in each pool.",
            source=f"{sources.TALK_NFSD}; {sources.NFSD_DYNAMIC}",
        ),
        Decision(
            name="nfsd.pool_mode",
            value=nfsd.pool_mode,
            reason=f"{server.compute_nodes} NUMA node{'s have' if server.compute_nodes > 1 else ' has'} processors: "
            + ("requests stay on the node that received them." if server.compute_nodes > 1 else "one pool is enough."),
            source=sources.NFSD_POOLS,
        ),
    ]


def _protocol_decisions(nfsd: Nfsd, policy: Policy) -> list[Decision]:
    networks = policy.nfs.networks
    return [
        Decision(
            name="nfsd.max_block_size",
            value=nfsd.max_block_size,
            reason="Linux clients ask for 1 MiB at most; 4 MiB would cost four times the memory for each thread.",
            source=sources.NFSD_BLOCK,
        ),
        Decision(
            name="nfsd.lease_time",
            value=nfsd.lease_time,
            reason="45 s instead of 90 s halves the time that clients wait after a restart.",
            source=sources.TALK_NFS_OPTIONS,
        ),
        Decision(
            name="exports.networks",
            value=list(networks),
            reason=f"Only clients in {', '.join(networks)} are served."
            if networks
            else "The policy names no network: the private networks of the server's own ports are served.",
            source=sources.POLICY,
        ),
        Decision(
            name="exports.privileged_ports",
            value=policy.nfs.privileged_ports,
            reason="Clients must use a port below 1024, which only their root can."
            if policy.nfs.privileged_ports
            else "The policy lets clients use any port.",
            source=sources.POLICY,
        ),
    ]
