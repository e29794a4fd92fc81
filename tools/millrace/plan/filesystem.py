# SPDX-License-Identifier: Apache-2.0
"""The XFS file system of the pool."""

from millrace.plan import sources
from millrace.plan.layout import Layout
from millrace.plan.model import Decision, Filesystem
from millrace.plan.server import Server
from millrace.plan.units import GIB, MIB, TIB, clamp, words

LARGEST_LOG = 2038 * MIB
# md 1.2 keeps superblock, bitmap and room to reshape in front of the data: at most 1/1024 of small members.
MD_HEADROOM = 32 * MIB
FEWEST_GROUPS, MOST_GROUPS = 32, 128
REAL_MEMBER = 100 * 10**9
SMALLEST_GROUP_REAL, SMALLEST_GROUP = 4 * GIB, 64 * MIB
SECTOR = 4096
LOG_DEVICE = "/dev/md/millrace-log"


def plan_filesystem(layout: Layout, server: Server) -> tuple[Filesystem, list[Decision]]:
    """Shape the file system after the array below it."""
    unit = layout.data.chunk or 0
    width = layout.data.data_members
    filesystem = Filesystem(
        label="millrace",
        mountpoint="/srv/pool",
        device="/dev/md/millrace-data",
        log_device=LOG_DEVICE,
        log_size=log_size(layout.log_partition),
        stripe_unit=unit,
        stripe_width=width,
        allocation_groups=allocation_groups(layout.capacity, layout.data_partition, server.cores),
        sector=SECTOR,
        mount_options=["noatime", "logbsize=256k", "largeio", "prjquota", f"logdev={LOG_DEVICE}"],
    )
    return filesystem, _decisions(filesystem, layout, server)


def log_size(partition: int) -> int:
    """Bytes of the external log on a mirror of partitions of this size."""
    return min(LARGEST_LOG, (partition - MD_HEADROOM) // MIB * MIB)


def allocation_groups(capacity: int, member: int, cores: int) -> int:
    """How many allocation groups, from cores and size; never a group above 1 TiB."""
    wanted = clamp(cores, FEWEST_GROUPS, MOST_GROUPS)
    smallest = SMALLEST_GROUP_REAL if member >= REAL_MEMBER else SMALLEST_GROUP
    fitting = max(4, min(wanted, capacity // smallest))
    return max(fitting, capacity // TIB + 1)


def _decisions(filesystem: Filesystem, layout: Layout, server: Server) -> list[Decision]:
    groups = filesystem.allocation_groups
    unit, width = filesystem.stripe_unit, filesystem.stripe_width
    below = "legs" if layout.data.over_arrays else "data drives"
    return [
        Decision(
            name="filesystem.stripe",
            value={"su": unit, "sw": width},
            reason=f"Stripe unit {words(unit)} and {width} {below}: the file system aligns large files to the "
            f"{words(unit * width)} stripe of the array.",
            source=sources.TALK_FORMAT,
        ),
        Decision(
            name="filesystem.allocation_groups",
            value=groups,
            reason=f"{words(layout.capacity)} and {server.cores} cores: {groups} groups of about "
            f"{words(layout.capacity // groups)} let that many writers allocate at once "
            "(32 to 128 by cores; more only to keep a group below 1 TiB, fewer only on very small drives).",
            source=f"{sources.TALK_FORMAT}; {sources.XFS_GEOMETRY}",
        ),
        Decision(
            name="filesystem.log_size",
            value=filesystem.log_size,
            reason=f"{words(filesystem.log_size or 0)} on the mirror of the two small drives keeps the small log "
            "writes off the parity array; 2038 MiB is the most that XFS takes.",
            source=f"{sources.TALK_FORMAT}; {sources.XFS_LOG_LIMIT}",
        ),
        Decision(
            name="filesystem.sector",
            value=filesystem.sector,
            reason="Log and metadata are written in units of 4096 bytes, which no drive has to read back first.",
            source=sources.XFS_SECTOR,
        ),
        Decision(
            name="filesystem.mount_options",
            value=list(filesystem.mount_options),
            reason="No write for each read (noatime), log writes of 256 KiB instead of 32 (logbsize), "
            "large blocks advertised to programs (largeio), room for limits of shares (prjquota), the log on its own "
            "array (logdev).",
            source=sources.TALK_FORMAT,
        ),
    ]
