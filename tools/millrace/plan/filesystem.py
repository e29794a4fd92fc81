# SPDX-License-Identifier: Apache-2.0
"""The XFS file system of the pool."""

from dataclasses import dataclass
from typing import Literal

from millrace.plan import sources, xfs_features
from millrace.plan.allocation_groups import AllocationGroups, Stripes, equal_groups, planned_groups
from millrace.plan.discard import plan_discard
from millrace.plan.labels import array_path
from millrace.plan.layout import Layout
from millrace.plan.model import Decision, Filesystem
from millrace.plan.override import InapplicablePolicy, by_policy
from millrace.plan.policy.model import MOUNT_OPTIONS, Policy, XfsPolicy
from millrace.plan.server import Server
from millrace.system.text import MIB, TIB, binary, size

LARGEST_LOG = 2038 * MIB
# md 1.2 keeps superblock, bitmap and room to reshape in front of the data: at most 1/1024 of small members.
MD_HEADROOM = 32 * MIB
SECTOR = 4096
AUTOFSCK: Literal["check"] = "check"


@dataclass(frozen=True)
class Base:
    """What the file system lies on. Sizes in bytes.

    `member` is the smallest part of the `capacity`; `width` in stripe units. `log` is the largest log on `log_device`,
    and `logdev` its mount option where that is known already. `why_stripe` and `why_size` are the reasons of the stripe
    unit and of the size of allocation groups, `log_place` where the log is.
    """

    device: str
    capacity: int
    member: int
    stripes: Stripes
    width: int
    log_device: str | None
    log: int
    logdev: list[str]
    why_stripe: str
    why_size: str
    log_place: str


def plan_filesystem(layout: Layout, server: Server, policy: Policy) -> tuple[Filesystem, list[Decision]]:
    """Shape the file system after the array below it. InapplicablePolicy: the policy asks for what XFS cannot do."""
    return shaped(_base(layout), plan_discard(layout, policy), server, policy)


def shaped(
    base: Base, discard: tuple[bool, Decision], server: Server, policy: Policy
) -> tuple[Filesystem, list[Decision]]:
    """Shape the file system after what is below it. InapplicablePolicy: the policy asks for what XFS cannot do."""
    computed = planned_groups(base.capacity, base.member, server.cores, base.stripes)
    groups = _asked_groups(policy.xfs.agcount, base.capacity, base.stripes) if policy.xfs.agcount else computed
    filesystem = Filesystem(
        label="millrace",
        mountpoint="/srv/pool",
        device=base.device,
        log_device=base.log_device,
        log_size=_log_size(base, groups.size, policy),
        stripe_unit=base.stripes.unit,
        stripe_width=base.width,
        allocation_groups=groups.count,
        allocation_group_size=groups.size,
        sector=SECTOR,
        autofsck=AUTOFSCK,
        discard=discard[0],
        features=xfs_features.NAMES,
        mount_options=[*mount_options(policy.xfs), *base.logdev],
    )
    return filesystem, [
        _stripe(filesystem, base),
        _groups(filesystem, base.capacity, server, policy, computed),
        _group_size(groups, base),
        _log(filesystem, base, policy),
        _sector(filesystem),
        _features(),
        _autofsck(),
        discard[1],
        _options(filesystem, base, policy.xfs),
    ]


def log_size(partition: int) -> int:
    """Return the bytes of the external log on a mirror of partitions of `partition` bytes."""
    return min(LARGEST_LOG, (partition - MD_HEADROOM) // MIB * MIB)


def mount_options(policy: XfsPolicy) -> list[str]:
    """Return the planned options, then those of the policy in place of planned ones of the same name."""
    extra = {option.partition("=")[0]: option for option in policy.mount_options_extra}
    planned = [option for option in MOUNT_OPTIONS if option.partition("=")[0] not in extra]
    return [*planned, *extra.values()]


def _base(layout: Layout) -> Base:
    """The arrays of a layout."""
    external, stripes = layout.log.mode != "internal", _stripes(layout)
    return Base(
        device=array_path("data"),
        capacity=layout.capacity,
        member=layout.data_partition,
        stripes=stripes,
        width=len(layout.legs) if stripes.unit else 0,
        log_device=array_path("log") if external else None,
        log=log_size(layout.log_partition) if external else 0,
        logdev=[f"logdev={array_path('log')}"] if external else [],
        why_stripe=_why_stripe(layout, stripes.unit),
        why_size=_why_size(layout, stripes),
        log_place="the log mirror",
    )


def _asked_groups(count: int, capacity: int, stripes: Stripes) -> AllocationGroups:
    groups = equal_groups(capacity, count, stripes)
    if groups is None:
        fewest = capacity // TIB + 1
        most = _most_groups(capacity, fewest, stripes)
        raise InapplicablePolicy(
            "xfs.agcount",
            f"{size(capacity)} allow {fewest} to {most} allocation groups, not {count}",
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


def _log_size(base: Base, group: int, policy: Policy) -> int | None:
    wanted = policy.log.size_mib * MIB if policy.log.size_mib else None
    internal = base.log_device is None
    # An internal log lies within one group, beside what the group needs for itself.
    most = min(LARGEST_LOG, group * 3 // 4) if internal else base.log
    if wanted and wanted > most:
        where = "an allocation group" if internal else "the log partition"
        raise InapplicablePolicy(
            "log.size_mib",
            f"{where} allows a log of at most {most // MIB} MiB",
            "Set less, or remove the key.",
        )
    return wanted or (None if internal else most)


def why_aligned(unit: int, of: str) -> str:
    """Return why the stripe unit is the full stripe of what is below the file system."""
    return (
        f"The stripe unit is {binary(unit)}, the full stripe of {of}. XFS aligns a new file from one stripe "
        "unit on: large files begin on a full stripe and are written without a read-modify-write, small ones share "
        "stripes."
    )


def _why_stripe(layout: Layout, unit: int) -> str:
    of = f"a leg, and there are {len(layout.legs)} legs" if layout.data.over_arrays else "the array"
    return why_aligned(unit, of) if unit else "A mirror has no stripes to align to."


def _stripe(filesystem: Filesystem, base: Base) -> Decision:
    unit, width = filesystem.stripe_unit, filesystem.stripe_width
    return Decision(
        name="filesystem.stripe",
        value={"su": unit, "sw": width},
        reason=base.why_stripe,
        source=f"{sources.XFS_ALIGNMENT}; measured: tools/perf newfiles" if unit else sources.TALK_FORMAT,
    )


def _groups(
    filesystem: Filesystem, capacity: int, server: Server, policy: Policy, computed: AllocationGroups
) -> Decision:
    groups = filesystem.allocation_groups
    decision = Decision(
        name="filesystem.allocation_groups",
        value=groups,
        reason=f"{size(capacity)} and {server.cores} cores: {groups} groups of about "
        f"{binary(capacity // groups)} let as many writers allocate in parallel "
        "(32 to 128 by cores; more only to keep a group below 1 TiB, fewer only on very small drives).",
        source=f"{sources.TALK_FORMAT}; {sources.XFS_GEOMETRY}",
    )
    return by_policy(decision, "xfs.agcount", computed.count) if policy.xfs.agcount else decision


def _why_size(layout: Layout, stripes: Stripes) -> str:
    if layout.data.over_arrays:
        return (
            f": no divisor in common with the {stripes.turns} legs, so that groups begin on each leg in turn; "
            "at a multiple of the stripe width all of them would begin on one leg, permanently"
        )
    if stripes.unit:
        return (
            f": no divisor in common with the {stripes.turns} drives of the array, so that groups begin on "
            "each drive in turn"
        )
    return "Whole MiB: a mirror has no stripes to align to"


def _group_size(groups: AllocationGroups, base: Base) -> Decision:
    stripes = base.stripes
    units = f"{groups.size // stripes.step} stripe units of {binary(stripes.step)}" if stripes.unit else ""
    return Decision(
        name="filesystem.allocation_group_size",
        value=groups.size,
        reason=f"{units}{base.why_size}. The size is verified after mkfs.xfs.",
        source=sources.XFS_GROUP_SIZE,
    )


def _log(filesystem: Filesystem, base: Base, policy: Policy) -> Decision:
    if base.log_device is None:
        reason = "mkfs.xfs sizes a log inside the file system."
    else:
        reason = f"{binary(filesystem.log_size or 0)} of {base.log_place}; 2038 MiB is the maximum of XFS."
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


def _features() -> Decision:
    return Decision(
        name="filesystem.features",
        value=list(xfs_features.NAMES),
        reason="Names of damaged files need rmapbt and parent, clones reflink, checks of metadata crc, times after "
        "2038 bigtime; sparse and finobt keep a pool fast that is nearly full. Each is named for mkfs.xfs and verified "
        "after it: its defaults differ between versions, and most cannot be added later.",
        source=sources.XFS_FEATURES,
    )


def _autofsck() -> Decision:
    return Decision(
        name="filesystem.autofsck",
        value=AUTOFSCK,
        reason="The weekly xfs_scrub reports damage and changes nothing. It is stored in the file system, because the "
        "default differs between versions of xfsprogs.",
        source=sources.XFS_AUTOFSCK,
    )


def _options(filesystem: Filesystem, base: Base, policy: XfsPolicy) -> Decision:
    own = "array" if base.logdev else "device"
    decision = Decision(
        name="filesystem.mount_options",
        value=list(filesystem.mount_options),
        reason="Programs and devices in the pool are data, not for this server to run (nosuid, nodev, noexec). "
        "No access time written for each read (noatime), log writes of 256 KiB instead of 32 (logbsize), "
        "large blocks advertised to programs (largeio), project quotas for limits of shares (prjquota)"
        + (f", the log on its own {own} (logdev)." if filesystem.log_device else "."),
        source=sources.TALK_FORMAT,
    )
    return (
        by_policy(decision, "xfs.mount_options_extra", ",".join(MOUNT_OPTIONS))
        if (policy.mount_options_extra)
        else decision
    )
