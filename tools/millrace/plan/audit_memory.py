# SPDX-License-Identifier: Apache-2.0
"""Is there enough memory, where it is needed, and are its errors corrected?"""

from millrace.inventory.model import Inventory
from millrace.plan.finding import Finding, Severity
from millrace.plan.model import Plan
from millrace.system.text import KIB, binary

# kernel 7.2, net/sunrpc/svc.c: two page arrays for each thread, each of max_block_size and a few pages.
THREAD_EXTRA = 16 * KIB
NFSD_SHARE, STRIPE_SHARE = 3, 2  # percent of memory
PAGE = 4 * KIB


def nfsd_memory(plan: Plan) -> int:
    """Bytes that the buffers of all nfsd threads take."""
    return plan.nfsd.threads_max * 2 * (plan.nfsd.max_block_size + THREAD_EXTRA)


def stripe_memory(plan: Plan) -> int:
    """Bytes that the stripe caches of all parity arrays take: for each entry a page of each member and its header."""
    members = [len(array.members) for array in plan.arrays if array.level in ("raid5", "raid6")]
    return sum(plan.md.stripe_cache_size * PAGE * (count + 1) for count in members)


def audit_memory(inventory: Inventory, plan: Plan) -> list[Finding]:
    """Buffers of nfsd and md against memory, nodes without memory, error correction."""
    return [
        *_share(inventory, "memory.nfsd", f"The buffers of {plan.nfsd.threads_max} nfsd threads", nfsd_memory(plan),
                NFSD_SHARE, "set nfsd.threads_max in the policy to a smaller number"),
        *_share(inventory, "memory.stripes", "The stripe caches", stripe_memory(plan),
                STRIPE_SHARE, "set md.stripe_cache_size in the policy to a smaller number"),
        *_nodes(inventory),
        *_correction(inventory),
    ]  # fmt: skip


def _share(inventory: Inventory, name: str, who: str, needed: int, percent: int, otherwise: str) -> list[Finding]:
    if needed * 100 <= inventory.memory * percent:
        return []
    what = (
        f"{who} take {binary(needed)}, more than {percent} % of {binary(inventory.memory)} memory: little is left to "
        "cache files."
    )
    todo = f"Add memory ({binary(needed * 100 // percent)} would be enough), or {otherwise}."
    return [Finding(name=name, severity=Severity.WARN, subject="memory", what=what, todo=todo)]


def _nodes(inventory: Inventory) -> list[Finding]:
    bare = [node for node in inventory.nodes if node.cores and not node.memory]
    if not bare or len(inventory.nodes) < 2:
        return []
    names = ", ".join(str(node.id) for node in bare)
    return [
        Finding(
            name="memory.node",
            severity=Severity.WARN,
            subject="memory",
            what=f"The processors of NUMA node {names} have no memory of their own: all of it is on other nodes.",
            todo="Spread the memory modules over the channels of all processors, as the board's manual says.",
        )
    ]


def _correction(inventory: Inventory) -> list[Finding]:
    if inventory.ecc is not False:
        return []
    return [
        Finding(
            name="memory.ecc",
            severity=Severity.WARN,
            subject="memory",
            what="Memory errors are not corrected (ECC is off): a flipped bit becomes data on the drives.",
            todo="Use ECC modules and switch ECC on in the firmware's setup.",
        )
    ]
