# SPDX-License-Identifier: Apache-2.0
"""Memory: what nfsd, md and writeback may use of it, and findings on its modules."""

from collections.abc import Sequence

from millrace.inventory.model import Inventory
from millrace.plan import sources
from millrace.plan.finding import PlanFinding, Severity
from millrace.plan.model import Decision, MdArray, MdSettings, Nfsd
from millrace.plan.override import InapplicablePolicy, by_policy
from millrace.plan.policy.model import Policy
from millrace.plan.server import Server
from millrace.plan.sizes import down_to_power_of_two
from millrace.system.text import GIB, KIB, binary

# kernel 7.2, net/sunrpc/svc.c: two page arrays for each thread, each of max_block_size and a few pages.
THREAD_EXTRA = 16 * KIB
NFSD_SHARE, STRIPE_SHARE = 3, 2  # percent of memory
PAGE = 4 * KIB
MOST_DIRTY = GIB


def thread_memory(block: int) -> int:
    """Return the bytes that one thread holds: two arrays of pages for one request of `block` bytes."""
    return 2 * (block + THREAD_EXTRA)


def stripe_cache_memory(entries: int, members: int) -> int:
    """Return the bytes of an array's stripe cache: for each of `entries` a page of each of `members` and its header."""
    return entries * PAGE * (members + 1)


def plan_sysctl(server: Server, policy: Policy) -> tuple[dict[str, str], list[Decision]]:
    """Return the sysctl values that depend on memory; the constant ones are part of the image.

    InapplicablePolicy: the policy asks for more dirty bytes than half of the memory.
    """
    computed = min(MOST_DIRTY, down_to_power_of_two(server.memory // 5))
    dirty = policy.sysctl.dirty_bytes or computed
    if dirty > server.memory // 2:
        raise InapplicablePolicy(
            "sysctl.dirty_bytes",
            f"{binary(dirty)} are more than half of {binary(server.memory)} memory",
            f"Set sysctl.dirty_bytes to at most {server.memory // 2}.",
        )
    sysctl = {"vm.dirty_background_bytes": str(dirty // 4), "vm.dirty_bytes": str(dirty)}
    decision = Decision(
        name="sysctl.dirty_bytes",
        value=dict(sysctl),
        reason=f"Writeback starts at {binary(dirty // 4)} and writers wait at {binary(dirty)}, so that a COMMIT "
        f"never flushes many gigabytes (1 GiB, and at most a fifth of {binary(server.memory)} memory).",
        source=sources.TALK_SERVER,
    )
    if policy.sysctl.dirty_bytes:
        decision = by_policy(decision, "sysctl.dirty_bytes", binary(computed))
    return sysctl, [decision]


def audit_memory(inventory: Inventory, arrays: Sequence[MdArray], nfsd: Nfsd, md: MdSettings) -> list[PlanFinding]:
    """Return findings: buffers of nfsd and md against memory, nodes without memory, error correction."""
    threads = nfsd.threads_max
    buffers = threads * thread_memory(nfsd.max_block_size)
    fewer, smaller = (
        f"set {key} in the policy to a smaller number" for key in ("nfsd.threads", "md.stripe_cache_size")
    )
    return [
        *_share(inventory, "memory.nfsd", f"The buffers of {threads} nfsd threads", buffers, NFSD_SHARE, fewer),
        *_share(inventory, "memory.stripes", "The stripe caches", _stripe_memory(arrays, md), STRIPE_SHARE, smaller),
        *_nodes(inventory),
        *_correction(inventory),
    ]


def _stripe_memory(arrays: Sequence[MdArray], md: MdSettings) -> int:
    members = [len(array.members) for array in arrays if array.level in ("raid5", "raid6")]
    return sum(stripe_cache_memory(md.stripe_cache_size, count) for count in members)


def _share(inventory: Inventory, name: str, who: str, needed: int, percent: int, otherwise: str) -> list[PlanFinding]:
    if needed * 100 <= inventory.memory * percent:
        return []
    what = (
        f"{who} take {binary(needed)}, more than {percent} % of {binary(inventory.memory)} memory: less is "
        "left for the "
        "page cache."
    )
    todo = f"Add memory ({binary(needed * 100 // percent)} would be enough), or {otherwise}."
    return [PlanFinding(name=name, severity=Severity.WARN, subject="memory", what=what, todo=todo)]


def _nodes(inventory: Inventory) -> list[PlanFinding]:
    bare = [node for node in inventory.nodes if node.cores and not node.memory]
    if not bare or len(inventory.nodes) < 2:
        return []
    names = f"{', '.join(str(node.id) for node in bare)} {'have' if len(bare) > 1 else 'has'}"
    return [
        PlanFinding(
            name="memory.node",
            severity=Severity.WARN,
            subject="memory",
            what=f"NUMA node{'s' * (len(bare) > 1)} {names} CPUs and no local memory: all accesses are remote.",
            todo="Distribute the memory modules over the channels of all sockets, as the board's manual says.",
        )
    ]


def _correction(inventory: Inventory) -> list[PlanFinding]:
    if inventory.ecc is not False:
        return []
    return [
        PlanFinding(
            name="memory.ecc",
            severity=Severity.WARN,
            subject="memory",
            what="ECC is off: an uncorrected memory error can be written to the drives as data.",
            todo="Use ECC modules, and enable ECC in the firmware setup.",
        )
    ]
