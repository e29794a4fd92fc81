# SPDX-License-Identifier: Apache-2.0
"""The external device under a pool: found by the GUIDs of our partitions, whatever its name is now."""

from millrace.plan.model import Role
from millrace.storage.array.devices import block
from millrace.storage.array.machine import Report, System
from millrace.storage.array.signature import describe, signature
from millrace.storage.provision.filesystem import OnPartition, carriers
from millrace.storage.record.model import DriveRecord, Pool
from millrace.storage.record.pool_file import save_pool
from millrace.system import paths, sysfs
from millrace.system.errors import Failed

LIMIT = 120.0
"""Seconds to wait for a device that is missing: one that comes over a network comes when its links are up."""
POLL = 0.5
"""Seconds between two looks."""
AGAIN = "systemctl restart millrace-assemble"


def gather(system: System, pool: Pool, report: Report) -> Pool:
    """Wait for the partitions of the pool and verify what they hold. `report` gets a line for each.

    Returns the pool with the serial numbers that the devices have here: over another transport, or on another server,
    one may have another. Failed: one is missing, is there twice, or holds something else; a sentence for each.
    """
    wanted = parts(pool)
    waited = 0.0
    while waited < LIMIT and not all(part.is_there(system) for part in wanted):
        system.wait(POLL)
        waited += POLL
    problems = [problem for part in wanted if (problem := _problem(system, pool, part))]
    if problems:
        raise Failed("; ".join(problems))
    for part in wanted:
        report(f"{part.title}: {system.partition(part.record.partuuid)}")
    return _known_here(system, pool, report)


def _known_here(system: System, pool: Pool, report: Report) -> Pool:
    drives = [_renamed(system, one) for one in pool.drives]
    if drives == pool.drives:
        return pool
    changed = pool.model_copy(update={"drives": drives, "generation": pool.generation + 1})
    try:
        save_pool(changed)
    except OSError as error:
        report(f"cannot record the serial number of the external device: {error}")
    return changed


def _renamed(system: System, drive: DriveRecord) -> DriveRecord:
    name = system.partition(drive.partitions[0].partuuid)
    if name is None:
        return drive
    here = system.identity(name)
    return drive.model_copy(update={"serial": here.serial, "wwid": here.wwid})


def parts(pool: Pool) -> list[OnPartition]:
    """Return the partitions under the pool; none for a pool on arrays."""
    return [one for one in carriers(pool.drives, pool.arrays) if isinstance(one, OnPartition)]


def _problem(system: System, pool: Pool, part: OnPartition) -> str | None:
    device = f"external device {part.serial}"
    if not part.is_there(system):
        return f"{device} with partition {part.record.label} is missing: connect it again, then: {AGAIN}"
    # a second path to it, or a snapshot that was taken below: udev's name leads to one of them, and to which is chance
    if len(twice := devices(part.record.partuuid)) > 1:
        return (
            f"{device} is there {len(twice)} times ({', '.join(twice)}): disconnect the snapshot or the second path, "
            f"then: {AGAIN}"
        )
    held = signature(system, part.device)
    kind, key = ("xfs", "UUID") if part.record.role is Role.DATA else ("xfs_external_log", "LOGUUID")
    if held.get("TYPE") != kind or held.get(key) != pool.filesystem_uuid:
        what = describe(held) if held else "nothing"
        return f"{part.title} holds {what}, and not the pool {pool.filesystem_uuid}: connect the device of the pool"
    return None


def devices(partuuid: str) -> list[str]:
    """Return the kernel's names of all partitions with this GUID: none, one, or those of snapshots and other paths."""
    names = sysfs.names(paths.ROOT / "sys/class/block")
    return [one for one in names if sysfs.uevent(block(one)).get("PARTUUID", "").lower() == partuuid]
