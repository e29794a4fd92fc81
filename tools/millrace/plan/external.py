# SPDX-License-Identifier: Apache-2.0
"""Backend `external`: the file system lies on one device that something else keeps, without arrays of md. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from millrace.inventory.model import Drive, DriveState, Inventory
from millrace.plan import sources
from millrace.plan.allocation_groups import Stripes
from millrace.plan.discard import NEVER, WEEKLY
from millrace.plan.failing import failing
from millrace.plan.filesystem import LARGEST_LOG, SECTOR, Base, why_aligned
from millrace.plan.model import Decision, PlannedPartition, PlanObstacle, Role
from millrace.plan.obstacles import RESCAN, SMALLEST_DATA_DRIVE, SMALLEST_LOG_DRIVE, named, remedy
from millrace.plan.other_pool import belongs_to_pool, other_pool
from millrace.plan.override import by_policy
from millrace.plan.policy.model import Policy
from millrace.plan.sizes import START, TABLE_END, aligned_start
from millrace.system.text import GIB, KIB, MIB, binary, size

BY_ID = "/dev/disk/by-id/"
LARGEST_START = GIB
"""Bytes that may be lost in front of the partition, so that its stripes are those of the device."""


@dataclass(frozen=True)
class DeviceGeometry:
    """Chunk and full stripe of a device in bytes; both 0 where it has no stripes, for the reason `why`."""

    chunk: int
    stripe: int
    why: str = ""


@dataclass(frozen=True)
class External:
    """The devices that the policy names, and the partitions that are made on them. Sizes in bytes."""

    device: str
    data: Drive
    log_device: str | None
    log: Drive | None
    geometry: DeviceGeometry

    @property
    def start(self) -> int:
        """Where the partition of the data begins."""
        return aligned_start(self.geometry.stripe)

    @property
    def capacity(self) -> int:
        """The partition of the data: all of the device."""
        return (self.data.size - self.start - TABLE_END) // MIB * MIB

    @property
    def log_partition(self) -> int:
        """The partition of the log, 0 for a log inside XFS."""
        return min(LARGEST_LOG, (self.log.size - START - TABLE_END) // MIB * MIB) if self.log else 0

    @property
    def title(self) -> str:
        """What is built, in one line."""
        where = f"file system log on {self.log_device}" if self.log_device else "log inside the file system"
        return f"XFS on the external device {self.device}, {where}"

    def partitions(self, drive: Drive) -> list[PlannedPartition]:
        """Return what is made on a drive."""
        if drive is self.data:
            return [PlannedPartition(role=Role.DATA, size=self.capacity)]
        return [PlannedPartition(role=Role.LOG, size=self.log_partition)] if drive is self.log else []


def external_obstacles(inventory: Inventory, policy: Policy) -> list[PlanObstacle]:
    """Return every reason not to build on the devices that the policy names; none means that they can be used."""
    wanted = policy.external
    if policy.log.mode is not None:
        what = "The policy's log.mode cannot be used with backend external: there are no arrays to put the log on."
        todo = "Remove the key. external.log names a device for the log; without it the log is inside the file system."
        return [PlanObstacle(drives=[], what=what, todo=todo)]
    if not wanted.devices:
        return [_policy("devices", "it names no device.", 'Name one: devices = ["/dev/disk/by-id/…"] in [external].')]
    if len(wanted.devices) > 1:
        what = f"it names {len(wanted.devices)} devices, and without md nothing joins them."
        return [_policy("devices", what, "Name one device; join them in the array or appliance that they come from.")]
    named = [("devices", wanted.devices[0], SMALLEST_DATA_DRIVE)]
    named += [("log", wanted.log, SMALLEST_LOG_DRIVE)] if wanted.log else []
    obstacles = [obstacle for key, name, least in named for obstacle in _about(inventory.drives, key, name, least)]
    if obstacles:
        return obstacles
    chosen = [drive for _, name, _ in named if (drive := find(inventory.drives, name))]
    if len(chosen) > 1 and chosen[0] is chosen[1]:
        return [_policy("log", "it is the device of the data.", "Name another device, or remove the key.")]
    return [*other_pool(chosen, RESCAN), *_geometry_obstacles(chosen[0], policy)]


def find(drives: Sequence[Drive], name: str) -> Drive | None:
    """Return the drive with this name in /dev/disk/by-id or in /dev; None if there is none, or if several have it."""
    found = [one for one in drives if name in one.links or name == f"/dev/{one.name}"]
    return found[0] if len(found) == 1 else None


def external_of(inventory: Inventory, policy: Policy) -> External:
    """Return what is built on devices against which nothing stands. ValueError: something does."""
    wanted = policy.external
    data = find(inventory.drives, wanted.devices[0]) if wanted.devices else None
    log = find(inventory.drives, wanted.log) if wanted.log else None
    if data is None:
        raise ValueError("the device is not there")
    return External(wanted.devices[0], data, wanted.log, log, _geometry(data, policy))


def base(planned: External) -> Base:
    """Return what the file system lies on."""
    stripe = planned.geometry.stripe
    return Base(
        device=planned.device,
        capacity=planned.capacity,
        member=planned.capacity,
        stripes=Stripes(stripe, 1 if stripe else 0),
        width=1 if stripe else 0,
        log_device=planned.log_device,
        log=planned.log_partition,
        logdev=[],
        why_stripe=why_aligned(stripe, "the device") if stripe else planned.geometry.why,
        why_size=", which begin on full stripes of the device"
        if stripe
        else "Whole MiB: there are no stripes to align to",
        log_place=planned.log_device or "",
    )


def plan_external_discard(planned: External, policy: Policy) -> tuple[bool, Decision]:
    """Return whether discards may reach the device, and why."""
    able = bool(planned.data.max_discard)
    allowed = able and policy.md.discard is None
    decision = Decision(
        name="discard",
        value=WEEKLY if allowed else NEVER,
        reason="The device takes discards, and it keeps its own copies or parity in step with them: free space is "
        "deallocated once a week, in slices with pauses. The file system is never mounted with the option discard."
        if able
        else "The device does not take discards, so that free space is never trimmed.",
        source=f"{sources.EXTERNAL}; {sources.TRIM}" if able else sources.EXTERNAL,
    )
    planned_without = WEEKLY if able else NEVER
    return allowed, by_policy(decision, "md.discard", planned_without) if policy.md.discard else decision


def external_decisions(planned: External, policy: Policy) -> list[Decision]:
    """Return what is decided about the devices, in the order in which an administrator asks."""
    log = planned.log.serial if planned.log else None
    parts = {"start": planned.start, "data": planned.capacity}
    return [
        Decision(
            name="layout",
            value=planned.title,
            reason=f"Backend external: {planned.device} is {planned.data.model or 'a device'} with the serial number "
            f"{planned.data.serial}, {size(planned.data.size)}. Redundancy, spares and rebuilds are those of the "
            "device; Millrace makes no arrays.",
            source=f"{sources.POLICY}: layout.backend, external.devices",
        ),
        _geometry_decision(planned.geometry, policy),
        Decision(
            name="partition",
            value=parts | ({"log": planned.log_partition} if log else {}),
            reason="A partition and not the whole device: its label shows any other system whose it is, and its GUID "
            "is the same name on every server and over every transport. It begins where a full stripe of the device "
            "begins.",
            source=sources.DISK_RULES,
        ),
        Decision(
            name="log",
            value={"drive": log, "partition": planned.log_partition},
            reason="The policy gives the log of XFS a device of its own (external.log)."
            if log
            else "The log is inside the file system: the policy names no device for it (external.log).",
            source=f"{sources.POLICY}: external.log" if log else sources.EXTERNAL,
        ),
    ]


def external_warnings(planned: External) -> list[str]:
    """Return what an administrator should know before approving."""
    warnings = [
        f"Millrace does not see the drives behind {planned.device}: watch them with the tools of what keeps them. "
        "`millrace health` reports the device as a whole."
    ]
    if planned.log_device:
        warnings.append(
            f"The log of the file system has one copy, on {planned.log_device}, unless that device is redundant: "
            "without it the pool cannot be mounted."
        )
    return warnings


def why_no_backend(drive: Drive) -> str:
    """Return why a drive has no part in the plan."""
    return "Boot drive of the running system." if drive.state is DriveState.BOOT else "The policy does not name it."


def _about(drives: Sequence[Drive], key: str, name: str, least: int) -> list[PlanObstacle]:
    drive = find(drives, name)
    if drive is None:
        what = f"this server has no device {name}."
        todo = (
            "Connect it, or correct the name: `ls -l /dev/disk/by-id` lists those of now. Devices of device-mapper and "
        )
        return [_policy(key, what, f"{todo}md are not taken. {RESCAN[0].upper()}{RESCAN[1:]}.")]
    here = named([drive])
    if drive.state is DriveState.BOOT:
        why = drive.evidence[0].finding if drive.evidence else "carries the running system"
        return [PlanObstacle(drives=here, what=f"{name} is in use: it {why}.", todo="Name another device.")]
    if drive.serial and sum(other.serial == drive.serial for other in drives) > 1:
        what = f"{name} has the serial number {drive.serial} of another device: they cannot be told apart."
        return [
            PlanObstacle(drives=here, what=what, todo="Give each device a serial number of its own where it is made.")
        ]
    if drive.state in (DriveState.UNKNOWN, DriveState.FOREIGN) and not belongs_to_pool(drive):
        words = "; ".join(dict.fromkeys(evidence.finding for evidence in drive.evidence)) or "no evidence was recorded"
        what = f"{name} is {drive.state.value}, not blank: {words}."
        return [PlanObstacle(drives=here, what=what, todo=remedy(drive))]
    if reasons := failing(drive):
        what = f"{name} is failing: {' '.join(finding.what for finding in reasons)}"
        return [PlanObstacle(drives=here, what=what, todo="Use another device.")]
    if drive.size < least:
        what = f"{name} is too small: {size(drive.size)}."
        return [PlanObstacle(drives=here, what=what, todo=f"Use a device of {size(least)} or more.")]
    if drive.logical_block > SECTOR:
        what = f"{name} has sectors of {drive.logical_block} bytes, and XFS writes units of {SECTOR}."
        return [PlanObstacle(drives=here, what=what, todo=f"Use a device with sectors of at most {SECTOR} bytes.")]
    return []


def _geometry_obstacles(drive: Drive, policy: Policy) -> list[PlanObstacle]:
    """A geometry that was given is used or refused; one that the device reports may be no good, and is left out."""
    wanted, found = policy.external, _geometry(drive, policy)
    if found.stripe or (wanted.io_min_kib is None and wanted.io_opt_kib is None):
        return []
    key = "io_opt_kib" if wanted.io_opt_kib is not None else "io_min_kib"
    todo = "Give chunk and full stripe of the device: io_opt_kib is a multiple of io_min_kib. Or remove both keys."
    return [_policy(key, found.why, todo)]


def _geometry(drive: Drive, policy: Policy) -> DeviceGeometry:
    wanted = policy.external
    chunk = wanted.io_min_kib * KIB if wanted.io_min_kib is not None else drive.minimum_io or 0
    stripe = wanted.io_opt_kib * KIB if wanted.io_opt_kib is not None else drive.optimal_io or 0
    if not stripe:
        return DeviceGeometry(0, 0, "The device reports no full stripe (optimal_io_size) to align to.")
    shown = f"chunk {chunk} bytes, full stripe {stripe} bytes"
    if stripe <= max(SECTOR, drive.physical_block):
        return DeviceGeometry(
            0, 0, f"The full stripe is no larger than a sector ({shown}): there is nothing to align to."
        )
    if chunk % SECTOR or stripe % SECTOR:
        return DeviceGeometry(0, 0, f"The geometry is in no units of {SECTOR} bytes, which XFS needs ({shown}).")
    if not chunk or stripe % chunk:
        return DeviceGeometry(0, 0, f"The full stripe is no multiple of the chunk ({shown}).")
    if aligned_start(stripe) > min(LARGEST_START, drive.size // 16):
        return DeviceGeometry(0, 0, f"No partition begins at a whole MiB and at a full stripe ({shown}).")
    return DeviceGeometry(chunk, stripe)


def _geometry_decision(geometry: DeviceGeometry, policy: Policy) -> Decision:
    wanted = policy.external
    keys = [f"external.{key}" for key in ("io_min_kib", "io_opt_kib") if getattr(wanted, key) is not None]
    value = {"io_min": geometry.chunk, "io_opt": geometry.stripe}
    if keys:
        return Decision(
            name="geometry",
            value=value,
            reason=f"Chunk {binary(geometry.chunk)} and full stripe {binary(geometry.stripe)} of the device, set by "
            f"the policy ({' and '.join(keys)}).",
            source=f"{sources.POLICY}: {', '.join(keys)}",
        )
    return Decision(
        name="geometry",
        value=value,
        reason=f"The device reports a chunk of {binary(geometry.chunk)} and a full stripe of {binary(geometry.stripe)}."
        if geometry.stripe
        else geometry.why,
        source=sources.DEVICE_GEOMETRY,
    )


def _policy(key: str, why: str, todo: str) -> PlanObstacle:
    return PlanObstacle(
        drives=[], what=f"The policy's external.{key} cannot be used on this server: {why.rstrip('.')}.", todo=todo
    )
