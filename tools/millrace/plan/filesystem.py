# SPDX-License-Identifier: Apache-2.0
"""The XFS file system of the pool."""

from typing import Literal

from millrace.plan import sources
from millrace.plan.allocation_groups import AllocationGroups, Stripes, equal_groups, planned_groups
from millrace.plan.discard import plan_discard
from millrace.plan.labels import array_path
from millrace.plan.layout import Layout
from millrace.plan.model import Decision, Filesystem
from millrace.plan.override import InapplicablePolicy, by_policy
from millrace.plan.policy import MOUNT_OPTIONS, Policy, XfsPolicy
from millrace.plan.server import Server
from millrace.system.text import MIB, TIB, binary, size

LARGEST_LOG = 2038 * MIB
# md 1.2 keeps superblock, bitmap and room to reshape in front of the data: at most 1/1024 of small members.
MD_HEADROOM = 32 * MIB
SECTOR = 4096
AUTOFSCK: Literal["check"] = "check"


def plan_filesystem(layout: Layout, server: Server, policy: Policy) -> tuple[Filesystem, list[Decision]]:
    """Shape the file system after the array below it. InapplicablePolicy: the policy asks for what XFS cannot do."""
    external = layout.log.mode != "internal"
    stripes = _stripes(layout)
    computed = planned_groups(layout.capacity, layout.data_partition, server.cores, stripes)
    groups = _asked_groups(policy.xfs.agcount, layout, stripes) if policy.xfs.agcount else computed
    discard, about_discard = plan_discard(layout, policy)
    filesystem = Filesystem(
        label="millrace",
        mountpoint="/srv/pool",
        device=array_path("data"),
        log_device=array_path("log") if external else None,
        log_size=_log_size(layout, groups.size, policy),
        stripe_unit=stripes.unit,
        stripe_width=len(layout.legs) if stripes.unit else 0,
        allocation_groups=groups.count,
        allocation_group_size=groups.size,
        sector=SECTOR,
        autofsck=AUTOFSCK,
        discard=discard,
        mount_options=mount_options(external, policy.xfs),
    )
    return filesystem, [
        _stripe(filesystem, layout),
        _groups(filesystem, layout, server, policy, computed),
        _group_size(groups, layout, stripes),
        _log(filesystem, layout, policy),
        _sector(filesystem),
        _autofsck(),
        about_discard,
        _options(filesystem, policy.xfs),
    ]


def log_size(partition: int) -> int:
    """Return the bytes of the external log on a mirror of partitions of `partition` bytes."""
    return min(LARGEST_LOG, (partition - MD_HEADROOM) // MIB * MIB)


def mount_options(external_log: bool, policy: XfsPolicy) -> list[str]:
    """Return the planned options, then those of the policy in place of planned ones of the same name."""
    extra = {option.partition("=")[0]: option for option in policy.mount_options_extra}
    planned = [option for option in MOUNT_OPTIONS if option.partition("=")[0] not in extra]
    return [*planned, *extra.values(), *([f"logdev={array_path('log')}"] if external_log else [])]


def _asked_groups(count: int, layout: Layout, stripes: Stripes) -> AllocationGroups:
    groups = equal_groups(layout.capacity, count, stripes)
    if groups is None:
        fewest = layout.capacity // TIB + 1
        most = _most_groups(layout.capacity, fewest, stripes)
        raise InapplicablePolicy(
            "xfs.agcount",
            f"{size(layout.capacity)} allow {fewest} to {most} allocation groups, not {count}",
            "Set a number in this range: allocation groups of XFS are 16 MiB to 1 TiB, in whole stripe units.",
        )
    return groups


def _most_groups(capacity: int, fewest: int, stripes: Stripes) -> int:
    """The number that doubling `fewest` ends with."""
    most = max(4, fewest)
    while equal_groups(capacity, 2 * most, stripes):
        most *= 2
    return most


def _stripes(layout: Layout) -> Stripes:
    """The full stripe of a leg is the stripe unit: XFS aligns no allocation that is smaller than its unit."""
    legs = len(layout.legs)
    if layout.data.over_arrays:
        return Stripes(layout.data.chunk or 0, legs)
    return Stripes(layout.full_stripe, len(layout.data.members) if layout.full_stripe else 0)


def _log_size(layout: Layout, group: int, policy: Policy) -> int | None:
    wanted = policy.log.size_mib * MIB if policy.log.size_mib else None
    internal = layout.log.mode == "internal"
    # An internal log lies within one group, beside what the group needs for itself.
    most = min(LARGEST_LOG, group * 3 // 4) if internal else log_size(layout.log_partition)
    if wanted and wanted > most:
        where = "an allocation group" if internal else "the log partition"
        raise InapplicablePolicy(
            "log.size_mib",
            f"{where} allows a log of at most {most // MIB} MiB",
            "Set less, or remove the key.",
        )
    return wanted or (None if internal else most)


def _stripe(filesystem: Filesystem, layout: Layout) -> Decision:
    unit, width = filesystem.stripe_unit, filesystem.stripe_width
    of = f"a leg, and there are {width} legs" if layout.data.over_arrays else "the array"
    return Decision(
        name="filesystem.stripe",
        value={"su": unit, "sw": width},
        reason=f"The stripe unit is {binary(unit)}, the full stripe of {of}. XFS aligns a new file from one stripe "
        "unit on: large files begin on a full stripe and are written without a read-modify-write, small ones share "
        "stripes."
        if unit
        else "A mirror has no stripes to align to.",
        source=f"{sources.XFS_ALIGNMENT}; measured: tools/perf newfiles" if unit else sources.TALK_FORMAT,
    )


def _groups(
    filesystem: Filesystem, layout: Layout, server: Server, policy: Policy, computed: AllocationGroups
) -> Decision:
    groups = filesystem.allocation_groups
    decision = Decision(
        name="filesystem.allocation_groups",
        value=groups,
        reason=f"{size(layout.capacity)} and {server.cores} cores: {groups} groups of about "
        f"{binary(layout.capacity // groups)} let as many writers allocate in parallel "
        "(32 to 128 by cores; more only to keep a group below 1 TiB, fewer only on very small drives).",
        source=f"{sources.TALK_FORMAT}; {sources.XFS_GEOMETRY}",
    )
    return by_policy(decision, "xfs.agcount", computed.count) if policy.xfs.agcount else decision


def _group_size(groups: AllocationGroups, layout: Layout, stripes: Stripes) -> Decision:
    units = f"{groups.size // stripes.step} stripe units of {binary(stripes.step)}"
    if layout.data.over_arrays:
        why = (
            f"{units}: no divisor in common with the {stripes.turns} legs, so that groups begin on each leg in turn; "
            "at a multiple of the stripe width all of them would begin on one leg, permanently"
        )
    elif stripes.unit:
        why = f"{units}: no divisor in common with the {stripes.turns} drives of the array, so that groups begin on "
        why += "each drive in turn"
    else:
        why = "Whole MiB: a mirror has no stripes to align to"
    return Decision(
        name="filesystem.allocation_group_size",
        value=groups.size,
        reason=f"{why}. The size is verified after mkfs.xfs.",
        source=sources.XFS_GROUP_SIZE,
    )


def _log(filesystem: Filesystem, layout: Layout, policy: Policy) -> Decision:
    if layout.log.mode == "internal":
        reason = "mkfs.xfs sizes a log inside the file system."
    else:
        reason = f"{binary(filesystem.log_size or 0)} of the log mirror; 2038 MiB is the maximum of XFS."
    decision = Decision(
        name="filesystem.log_size",
        value=filesystem.log_size,
        reason=reason,
        source=f"{sources.TALK_FORMAT}; {sources.XFS_LOG_LIMIT}",
    )
    return by_policy(decision, "log.size_mib", "the largest possible") if policy.log.size_mib else decision


def _sector(filesystem: Filesystem) -> Decision:
    return Decision(
        name="filesystem.sector",
        value=filesystem.sector,
        reason="Log and metadata are written in units of 4096 bytes, so that no drive needs a read-modify-write.",
        source=sources.XFS_SECTOR,
    )


def _autofsck() -> Decision:
    return Decision(
        name="filesystem.autofsck",
        value=AUTOFSCK,
        reason="The weekly xfs_scrub reports damage and changes nothing. It is stored in the file system, because the "
        "default differs between versions of xfsprogs.",
        source=sources.XFS_AUTOFSCK,
    )


def _options(filesystem: Filesystem, policy: XfsPolicy) -> Decision:
    decision = Decision(
        name="filesystem.mount_options",
        value=list(filesystem.mount_options),
        reason="Programs and devices in the pool are data, not for this server to run (nosuid, nodev, noexec). "
        "No access time written for each read (noatime), log writes of 256 KiB instead of 32 (logbsize), "
        "large blocks advertised to programs (largeio), project quotas for limits of shares (prjquota)"
        + (", the log on its own array (logdev)." if filesystem.log_device else "."),
        source=sources.TALK_FORMAT,
    )
    return (
        by_policy(decision, "xfs.mount_options_extra", ",".join(MOUNT_OPTIONS))
        if (policy.mount_options_extra)
        else decision
    )
