# SPDX-License-Identifier: Apache-2.0
"""Runtime settings of md that depend on this server."""

from millrace.inventory.model import Drive
from millrace.plan import sources
from millrace.plan.layout import Layout
from millrace.plan.memory import PAGE, stripe_cache_memory
from millrace.plan.model import Decision, MdSettings
from millrace.plan.override import InapplicablePolicy, by_policy
from millrace.plan.policy import MdPolicy, Policy
from millrace.plan.server import Server
from millrace.plan.sizes import clamp, down_to_power_of_two
from millrace.system.text import KIB, MIB, binary

FEWEST_WORKERS, MOST_WORKERS = 4, 16
SLOWEST_SYNC, FASTEST_SYNC = 2_000_000, 5_000_000  # KiB/s
READ_AHEAD_KIB = (8192, 32768)  # 16384 and 65536 sectors
SMALLEST_CACHE, LARGEST_CACHE = 512, 32768
# Part of memory that all stripe caches take by the planner's choice, and at most by the policy's.
CACHE_MEMORY, MOST_CACHE_MEMORY = 0.02, 0.25


def plan_md(layout: Layout, server: Server, policy: Policy) -> tuple[MdSettings, list[Decision]]:
    """Return the settings of each parity array. InapplicablePolicy: the policy asks for more than this server has."""
    requested = policy.md
    computed = MdSettings(
        group_thread_cnt=_workers(layout, server),
        stripe_cache_size=_stripe_cache(layout, server),
        sync_speed_max=_sync_speed([drive for leg in layout.legs for drive in leg]),
        read_ahead=clamp(2 * layout.full_stripe // KIB, *READ_AHEAD_KIB),
    )
    overrides = {
        "group_thread_cnt": requested.group_thread_cnt,
        "stripe_cache_size": requested.stripe_cache_size,
        "sync_speed_max": requested.sync_speed_max_kib,
        "read_ahead": requested.read_ahead_kib,
    }
    settings = computed.model_copy(update={name: value for name, value in overrides.items() if value is not None})
    _check_cache(settings, layout, server, requested)
    return settings, _with_policy(_decisions(settings, layout, server), computed, requested)


def _workers(layout: Layout, server: Server) -> int:
    """Workers of each array on each node. All legs may be busy at once: together they leave half of a node to nfsd."""
    quarter = clamp(server.cores_per_node // 4, FEWEST_WORKERS, MOST_WORKERS)
    return min(quarter, max(2, server.cores_per_node // 2 // len(layout.legs)))


def _stripe_cache(layout: Layout, server: Server) -> int:
    """Entries of 4 KiB of every member; all legs together take at most 2 % of memory."""
    wanted = min(LARGEST_CACHE, max(4096, 256 * (layout.redundant.chunk or 0) // PAGE))
    affordable = int(server.memory * CACHE_MEMORY) // _cache_memory(1, layout)
    return max(SMALLEST_CACHE, down_to_power_of_two(max(1, min(wanted, affordable))))


def _cache_memory(entries: int, layout: Layout) -> int:
    """Bytes of the stripe caches of all legs."""
    return stripe_cache_memory(entries, len(layout.redundant.members)) * len(layout.legs)


def _check_cache(settings: MdSettings, layout: Layout, server: Server, requested: MdPolicy) -> None:
    held = _cache_memory(settings.stripe_cache_size, layout)
    if requested.stripe_cache_size is None or not layout.parity or held <= server.memory * MOST_CACHE_MEMORY:
        return
    most = int(server.memory * MOST_CACHE_MEMORY) // _cache_memory(1, layout)
    raise InapplicablePolicy(
        "md.stripe_cache_size",
        f"{settings.stripe_cache_size} entries for {len(layout.legs)} parity arrays take {binary(held)} of "
        f"{binary(server.memory)} memory",
        f"Set md.stripe_cache_size to at most {most}.",
    )


def _sync_speed(drives: list[Drive]) -> int:
    """A quarter of what the slowest drive's link carries, within 2 to 5 GB/s."""
    links = [drive.link for drive in drives]
    # What the link can do, not what it does: the plan must not depend on a power-saving state.
    carried = [link.max_speed * link.max_width / 8 if link else 0.0 for link in links]
    return clamp(int(min(carried) * 1_000_000) // 4, SLOWEST_SYNC, FASTEST_SYNC)


def _with_policy(decisions: list[Decision], computed: MdSettings, requested: MdPolicy) -> list[Decision]:
    keys = {
        "md.group_thread_cnt": ("md.group_thread_cnt", requested.group_thread_cnt, str(computed.group_thread_cnt)),
        "md.stripe_cache_size": ("md.stripe_cache_size", requested.stripe_cache_size, str(computed.stripe_cache_size)),
        "md.sync_speed_max": (
            "md.sync_speed_max_kib",
            requested.sync_speed_max_kib,
            f"{computed.sync_speed_max} KiB/s",
        ),
        "md.read_ahead": ("md.read_ahead_kib", requested.read_ahead_kib, f"{computed.read_ahead} KiB"),
    }
    result = []
    for decision in decisions:
        key, value, otherwise = keys.get(decision.name, ("", None, ""))
        result.append(decision if value is None else by_policy(decision, key, otherwise))
    return result


def _decisions(settings: MdSettings, layout: Layout, server: Server) -> list[Decision]:
    least, most = (bound * KIB // MIB for bound in READ_AHEAD_KIB)
    everywhere = [
        Decision(
            name="md.sync_speed_max",
            value=settings.sync_speed_max,
            reason=f"A rebuild may use {settings.sync_speed_max / 1_000_000:g} GB/s of each drive, a quarter of its "
            "link within 2 to 5 GB/s, instead of the default of 0.2 GB/s.",
            source=sources.MD_SYNC,
        ),
        Decision(
            name="md.read_ahead",
            value=settings.read_ahead,
            reason=f"Twice the full stripe of {binary(layout.full_stripe)}, within {least} to {most} MiB."
            if layout.full_stripe
            else f"{least} MiB, as a mirror has no stripes.",
            source=sources.TALK_FORMAT,
        ),
    ]
    return [*_parity_decisions(settings, layout, server), *everywhere] if layout.parity else everywhere


def _parity_decisions(settings: MdSettings, layout: Layout, server: Server) -> list[Decision]:
    members, legs = len(layout.redundant.members), len(layout.legs)
    cache = _cache_memory(settings.stripe_cache_size, layout) // legs
    total = settings.group_thread_cnt * server.compute_nodes * legs
    return [
        Decision(
            name="md.group_thread_cnt",
            value=settings.group_thread_cnt,
            reason=f"A quarter of the {server.cores_per_node} cores of a node, within {FEWEST_WORKERS} to "
            f"{MOST_WORKERS}, and for {'the array' if legs == 1 else f'the {legs} parity arrays together'} at most "
            f"half of them: the kernel starts that many on each node, {total} in all, and parity is computed on the "
            "node that received the write.",
            source=sources.RAID5_THREADS,
        ),
        Decision(
            name="md.workqueue",
            value="all CPUs",
            reason="Workers run on the node that submitted the stripe; excluding the CPUs of other nodes would only "
            "delay writes that are received there.",
            source=sources.RAID5_WORKQUEUE,
        ),
        Decision(
            name="md.stripe_cache_size",
            value=settings.stripe_cache_size,
            reason=f"{binary(cache)} for each parity array of {members} drives, of {binary(server.memory)} memory; the "
            "kernel's default of 256 entries holds few full stripes.",
            source=sources.STRIPE_CACHE,
        ),
    ]
