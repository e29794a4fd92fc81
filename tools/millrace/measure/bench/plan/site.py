# SPDX-License-Identifier: Apache-2.0
"""What can be measured at this server: drives, the array, the pool, protocols. Reads only."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from millrace.inventory.features import has_localio
from millrace.inventory.model import Drive, DriveState, Inventory
from millrace.measure.bench.result.client import BenchClient
from millrace.plan.model import MdArray, Role
from millrace.storage.record.model import Pool
from millrace.storage.record.pool_file import approved_plan, current_arrays, load_pool, roles
from millrace.system import paths
from millrace.system.documents import read_model
from millrace.system.errors import Refused
from millrace.system.net import has_rdma_device
from millrace.tune.settings import in_force


@dataclass(frozen=True)
class Site:
    """One server. `data` and `log` are the drives of the pool, `blank` those that may be overwritten if confirmed.

    `title` is that of the plan, empty where that is lost; `sysctl` are the keys that are set. `arrays` have their
    members of now. `device` is the array below the file system, or the partition of an external device; `free` and
    `memory` in bytes. `clients` are those of the request.
    """

    pool: Pool
    inventory: Inventory
    title: str
    arrays: list[MdArray]
    sysctl: list[str]
    data: list[Drive]
    log: list[Drive]
    blank: list[Drive]
    device: str
    mountpoint: str
    free: int
    memory: int
    cores: int
    protocols: list[str] = field(default_factory=lambda: ["nfs-tcp", "smb"])
    clients: list[BenchClient] = field(default_factory=list)


def site(clients: Sequence[BenchClient] = ()) -> Site:
    """Read what this server offers; `clients` are those that a run uses. Refused: there is no pool to measure."""
    pool = load_pool()
    mountpoint = pool.filesystem.mountpoint
    where = paths.ROOT / mountpoint.lstrip("/")
    if not os.path.ismount(where):
        raise Refused(f"{mountpoint} is not mounted, nothing to measure: `millrace status` shows the reason")
    space = os.statvfs(where)
    inventory = read_model(paths.inventory_file(), Inventory)
    plan = approved_plan()
    by_role: dict[Role, set[str]] = {Role.DATA: set(), Role.LOG: set()}
    for record in pool.arrays:
        by_role.setdefault(record.array.role, set()).update(member.serial for member in record.members)
    if pool.backend == "external":
        for serial, role in roles(pool).items():
            by_role[role].add(serial)
    # log partitions on data drives: such a drive is a data drive
    log = by_role[Role.LOG] - by_role[Role.DATA]
    return Site(
        pool=pool,
        inventory=inventory,
        title=plan.title if plan else "",
        arrays=current_arrays(pool),
        sysctl=list(in_force(pool).sysctl),
        data=[drive for drive in inventory.drives if drive.serial in by_role[Role.DATA]],
        log=[drive for drive in inventory.drives if drive.serial in log],
        blank=[drive for drive in inventory.drives if drive.state is DriveState.BLANK],
        device=pool.filesystem.device,
        mountpoint=mountpoint,
        free=space.f_bavail * space.f_frsize,
        memory=inventory.memory,
        cores=sum(node.cores for node in inventory.nodes),
        clients=list(clients),
        protocols=_protocols(inventory),
    )


def _protocols(inventory: Inventory) -> list[str]:
    rdma = ["nfs-rdma"] if has_rdma_device() else []
    local = ["nfs-local"] if has_localio(inventory.file_modules) else []
    return ["nfs-tcp", *rdma, *local, "smb"]
