# SPDX-License-Identifier: Apache-2.0
"""Runtime settings of md that depend on this server."""

from collections.abc import Iterable, Sequence

from millrace.inventory.model import Drive
from millrace.plan import sources
from millrace.plan.memory import PAGE, stripe_cache_memory
from millrace.plan.model import Decision, MdArray, MdSettings
from millrace.plan.override import InapplicablePolicy, by_policy
from millrace.plan.policy.model import MdPolicy, Policy
from millrace.plan.server import Server
from millrace.plan.sizes import clamp, down_to_power_of_two
from millrace.system.documents import Contract
from millrace.system.text import binary

FEWEST_WORKERS, MOST_WORKERS = 4, 16
SLOWEST_SYNC, FASTEST_SYNC = 2_000_000, 5_000_000  # KiB/s
READ_AHEAD_KIB = 768
"""The largest that loses nowhere: 16 readers with 8 MiB each are all of the stripe cache where a drive is dead."""
SMALLEST_CACHE, LARGEST_CACHE = 512, 32768
# Part of memory that all stripe caches take by the planner's choice, and at most by the policy's.
CACHE_MEMORY, MOST_CACHE_MEMORY = 0.02, 0.25


class DataArrays(Contract):
    """The arrays of the data, as far as settings depend on them.

    `legs` redundant arrays of `members` drives each, their chunk and the full stripe of all of them in bytes (None, 0
    for a mirror), and whether they have parity. `external`: there are none, the full stripe is that of the device.
    """

    legs: int
    members: int
    chunk: int | None
    full_stripe: int
    parity: bool
    external: bool = False


def no_arrays(stripe: int) -> DataArrays:
    """Return what settings depend on where the data is on an external device with full stripes of so many bytes."""
    return DataArrays(legs=1, members=1, chunk=None, full_stripe=stripe, parity=False, external=True)


def data_arrays(arrays: Sequence[MdArray]) -> DataArrays:
    """Return what settings depend on, of all arrays of a plan or a pool."""
    data = next(array for array in arrays if array.name == "data")
    legs = [array for array in arrays if array.name in data.members] if data.over_arrays else [data]
    leg = legs[0] if legs else data
    return DataArrays(
        legs=max(1, len(legs)),
        members=len(leg.members),
        chunk=leg.chunk,
        full_stripe=(data.chunk or 0) * data.data_members,
        parity=leg.level in ("raid5", "raid6"),
    )


def slowest_link(drives: Iterable[Drive]) -> int:
    """Return what the slowest link of these drives carries in KB/s; 0 where one is not known."""
    links = [drive.link for drive in drives]
    # What the link can do, not what it does: a setting must not depend on a power-saving state.
    carried = [link.max_speed * link.max_width / 8 if link else 0.0 for link in links]
    return int(min(carried, default=0.0) * 1_000_000)


def plan_md(data: DataArrays, link: int, server: Server, policy: Policy) -> tuple[MdSettings, list[Decision]]:
    """Return the settings of each parity array; `link` is that of the slowest drive in KB/s.

    InapplicablePolicy: the policy asks for more than this server has.
    """
    requested = policy.md
    computed = MdSettings(
        group_thread_cnt=_workers(data, server),
        stripe_cache_size=_stripe_cache(data, server),
        # A quarter of what the slowest drive's link carries, within 2 to 5 GB/s.
        sync_speed_max=clamp(link // 4, SLOWEST_SYNC, FASTEST_SYNC),
        read_ahead=READ_AHEAD_KIB,
    )
    overrides = {
        "group_thread_cnt": requested.group_thread_cnt,
        "stripe_cache_size": requested.stripe_cache_size,
        "sync_speed_max": requested.sync_speed_max_kib,
        "read_ahead": requested.read_ahead_kib,
    }
    settings = computed.model_copy(update={name: value for name, value in overrides.items() if value is not None})
    _check_cache(settings, data, server, requested)
    return settings, _with_policy(_decisions(settings, data, server), computed, requested)


def _workers(data: DataArrays, server: Server) -> int:
    """Workers of each array on each node. All legs may be busy at once: together they leave half of a node to nfsd."""
    quarter = clamp(server.cores_per_node // 4, FEWEST_WORKERS, MOST_WORKERS)
    return min(quarter, max(2, server.cores_per_node // 2 // data.legs))


def _stripe_cache(data: DataArrays, server: Server) -> int:
    """Entries of 4 KiB of every member; all legs together take at most 2 % of memory."""
    wanted = min(LARGEST_CACHE, max(4096, 256 * (data.chunk or 0) // PAGE))
    affordable = int(server.memory * CACHE_MEMORY) // _cache_memory(1, data)
    return max(SMALLEST_CACHE, down_to_power_of_two(max(1, min(wanted, affordable))))


def _cache_memory(entries: int, data: DataArrays) -> int:
    """Bytes of the stripe caches of all legs."""
    return stripe_cache_memory(entries, data.members) * data.legs


def _check_cache(settings: MdSettings, data: DataArrays, server: Server, requested: MdPolicy) -> None:
    held = _cache_memory(settings.stripe_cache_size, data)
    if requested.stripe_cache_size is None or not data.parity or held <= server.memory * MOST_CACHE_MEMORY:
        return
    most = int(server.memory * MOST_CACHE_MEMORY) // _cache_memory(1, data)
    raise InapplicablePolicy(
        "md.stripe_cache_size",
        f"{settings.stripe_cache_size} entries for {data.legs} parity arrays take {binary(held)} of "
        f"{binary(server.memory)} memory",
        f"Set md.stripe_cache_size to at most {most}.",
    )


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


def _decisions(settings: MdSettings, data: DataArrays, server: Server) -> list[Decision]:
    gain = (
        "One reader over NFS reads 3.8 times as fast as with the kernel's default where latency is the bottleneck, and "
        "nothing is slower."
    )
    more = (
        " That was measured on arrays of md, not on a device such as this one."
        if data.external
        else " With 8 MiB that one reads 5.7 times as fast, but 16 local readers lose a third with a drive dead."
    )
    read_ahead = Decision(
        name="md.read_ahead",
        value=settings.read_ahead,
        reason=gain + more,
        source=f"{sources.TALK_FORMAT}; measured: tools/perf streams, farstreams",
    )
    if data.external:
        return [read_ahead]
    sync = Decision(
        name="md.sync_speed_max",
        value=settings.sync_speed_max,
        reason=f"A rebuild may use {settings.sync_speed_max / 1_000_000:g} GB/s of each drive, a quarter of its "
        "link within 2 to 5 GB/s, instead of the default of 0.2 GB/s.",
        source=sources.MD_SYNC,
    )
    everywhere = [sync, read_ahead]
    return [*_parity_decisions(settings, data, server), *everywhere] if data.parity else everywhere


def _parity_decisions(settings: MdSettings, data: DataArrays, server: Server) -> list[Decision]:
    members, legs = data.members, data.legs
    cache = _cache_memory(settings.stripe_cache_size, data) // legs
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
