# SPDX-License-Identifier: Apache-2.0
"""Settings that depend on this server and that the kernel forgets at every boot."""

from millrace.inventory.model import Drive
from millrace.plan import sources
from millrace.plan.layout import Layout
from millrace.plan.model import Decision, MdKnobs
from millrace.plan.server import Server
from millrace.plan.units import GIB, KIB, MIB, clamp, down_to_power_of_two, words

PAGE = 4 * KIB
SLOWEST_SYNC, FASTEST_SYNC = 2_000_000, 5_000_000  # KiB/s
READ_AHEAD_KIB = (8192, 32768)  # 16384 and 65536 sectors
SMALLEST_CACHE, LARGEST_CACHE = 512, 32768
MOST_DIRTY = GIB


def plan_md(layout: Layout, server: Server) -> tuple[MdKnobs, list[Decision]]:
    """Settings of each parity array."""
    knobs = MdKnobs(
        group_thread_cnt=clamp(server.cores_per_node // 4, 4, 16),
        stripe_cache_size=_stripe_cache(layout, server),
        sync_speed_max=_sync_speed([drive for leg in layout.legs for drive in leg]),
        read_ahead=clamp(2 * layout.full_stripe // KIB, *READ_AHEAD_KIB),
    )
    return knobs, _decisions(knobs, layout, server)


def plan_sysctl(server: Server) -> tuple[dict[str, str], list[Decision]]:
    """The sysctl values that depend on memory; the constant ones are part of the image."""
    dirty = min(MOST_DIRTY, down_to_power_of_two(server.memory // 5))
    sysctl = {"vm.dirty_background_bytes": str(dirty // 4), "vm.dirty_bytes": str(dirty)}
    decision = Decision(
        name="sysctl.dirty_bytes",
        value=dict(sysctl),
        reason=f"Writing back starts at {words(dirty // 4)} and writers wait at {words(dirty)}, so that a COMMIT never "
        f"has gigabytes to flush (1 GiB, and at most a fifth of {words(server.memory)} memory).",
        source=sources.TALK_SERVER,
    )
    return sysctl, [decision]


def _stripe_cache(layout: Layout, server: Server) -> int:
    """Entries of 4 KiB of every member; all legs together take at most 2 % of memory."""
    leg = layout.redundant
    wanted = min(LARGEST_CACHE, max(4096, 256 * (leg.chunk or 0) // PAGE))
    affordable = server.memory // 50 // len(layout.legs) // (PAGE * (len(leg.members) + 1))
    return max(SMALLEST_CACHE, down_to_power_of_two(max(1, min(wanted, affordable))))


def _sync_speed(drives: list[Drive]) -> int:
    """A quarter of what the slowest drive's link carries, within 2 to 5 GB/s."""
    links = [drive.link for drive in drives]
    # What the link can do, not what it does: the plan must not depend on a power-saving state.
    carried = [link.max_speed * link.max_width / 8 if link else 0.0 for link in links]
    return clamp(int(min(carried) * 1_000_000) // 4, SLOWEST_SYNC, FASTEST_SYNC)


def _decisions(knobs: MdKnobs, layout: Layout, server: Server) -> list[Decision]:
    members = len(layout.redundant.members)
    cache = knobs.stripe_cache_size * PAGE * (members + 1)
    return [
        Decision(
            name="md.group_thread_cnt",
            value=knobs.group_thread_cnt,
            reason=f"A quarter of the {server.cores_per_node} cores of a node, within 4 to 16: parity is computed by "
            "that many threads on each node instead of one in all.",
            source=sources.RAID5_THREADS,
        ),
        Decision(
            name="md.stripe_cache_size",
            value=knobs.stripe_cache_size,
            reason=f"{words(cache)} for each parity array of {members} drives, of {words(server.memory)} memory; the "
            "kernel's 256 entries hold a handful of full stripes.",
            source=sources.STRIPE_CACHE,
        ),
        Decision(
            name="md.sync_speed_max",
            value=knobs.sync_speed_max,
            reason=f"A rebuild may use {knobs.sync_speed_max // 1_000_000} GB/s of each drive, a quarter of its link "
            "within 2 to 5 GB/s, instead of 0.2 GB/s.",
            source=sources.MD_SYNC,
        ),
        Decision(
            name="md.read_ahead",
            value=knobs.read_ahead,
            reason=f"Twice the full stripe of {words(layout.full_stripe)}, within {READ_AHEAD_KIB[0] * KIB // MIB} to "
            f"{READ_AHEAD_KIB[1] * KIB // MIB} MiB.",
            source=sources.TALK_FORMAT,
        ),
    ]
