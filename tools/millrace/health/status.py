# SPDX-License-Identifier: Apache-2.0
"""One screen for a person, and the overview of the web console: health, pool, shares, jobs, what to do next."""

import os
import socket
from collections.abc import Callable
from typing import Literal

from millrace import paths
from millrace.errors import Failed
from millrace.health.banner import image_version, url
from millrace.health.checks.filesystem import bytes_in_words
from millrace.health.current import current
from millrace.health.host import Host
from millrace.health.jobs import Job, jobs
from millrace.health.model import SEVERITY, Health, Level
from millrace.inventory.model import Contract
from millrace.provision.model import Pool
from millrace.share import interfaces
from millrace.share.desired import shares
from millrace.share.interfaces import Interface
from millrace.share.model import Share


class Space(Contract):
    """Bytes of a mounted file system."""

    size: int
    used: int
    free: int


class Address(Contract):
    """An address on which clients reach this server, its port, and the web console there."""

    interface: str
    address: str
    url: str


class Status(Contract):
    """The status contract (`millrace status --json`).

    `next` is what a person should do, the worst first. `as_root` is false where somebody asked who may not look at
    everything: parts of `health` are then what root saw last, at `health.at`, and `notes` say what is missing.
    """

    schema_version: Literal[1] = 1
    product: Literal["Millrace"] = "Millrace"
    version: str
    hostname: str
    addresses: list[Address]
    health: Health
    next: list[str]
    pool: Pool | None
    space: Space | None
    shares: list[Share]
    jobs: list[Job]
    as_root: bool
    notes: list[str]


def status(host: Host, ports: Callable[[], list[Interface]] = interfaces.serving) -> Status:
    """How the server is, for whoever asks."""
    found = current(host)
    notes = []
    try:
        reached = ports()
    except Failed as error:
        reached = []
        notes.append(str(error))
    pool = host.pool
    return Status(
        version=image_version(),
        hostname=socket.gethostname(),
        addresses=[_address(one.name, address) for one in reached for address in one.addresses],
        health=found,
        next=_next(found),
        pool=pool,
        space=space_of(pool.filesystem.mountpoint) if pool else None,
        shares=shares(pool, reached) if pool else [],
        jobs=jobs(pool),
        as_root=os.geteuid() == 0,
        notes=notes,
    )


def _address(interface: str, address: interfaces.Address) -> Address:
    return Address(interface=interface, address=str(address.ip), url=url(address))


def _next(health: Health) -> list[str]:
    worst_first = sorted(health.findings, key=lambda one: SEVERITY.index(one.level), reverse=True)
    return list(dict.fromkeys(one.todo for one in worst_first if one.todo))


def space_of(mountpoint: str) -> Space | None:
    """Size and free space; None where nothing is mounted or it does not answer."""
    path = paths.ROOT / mountpoint.lstrip("/")
    try:
        if not os.path.ismount(path):
            return None
        space = os.statvfs(path)
    except OSError:
        return None
    used = (space.f_blocks - space.f_bfree) * space.f_frsize
    return Space(size=space.f_blocks * space.f_frsize, used=used, free=space.f_bavail * space.f_frsize)


def lines(status: Status) -> list[str]:
    """The screen."""
    return [
        f"Health   {status.health.level}",
        *(f"         {one.level}: {one.sentence}" for one in status.health.findings if one.level is not Level.OK),
        f"Pool     {_pool(status)}",
        *(f"Share    {_share(share)}" for share in status.shares),
        *(f"Job      {_job(job)}" for job in status.jobs),
        *(f"Next     {todo}" for todo in status.next),
    ]


def _pool(status: Status) -> str:
    if status.pool is None:
        return "none yet"
    where = status.pool.filesystem.mountpoint
    if status.space is None:
        return f"{where}, not mounted"
    return f"{where}, {bytes_in_words(status.space.size)}, {bytes_in_words(status.space.free)} free"


def _job(job: Job) -> str:
    progress = "waiting" if job.progress is None else f"{job.progress:.1%}"
    left = "" if job.seconds_left is None else f", {job.seconds_left / 60:.0f} min left"
    return f"{job.name}, {job.what}: {progress}{left}"


def _share(share: Share) -> str:
    sides = ["SMB"] if share.smb else []
    sides += [f"NFS to {', '.join(share.networks)}"] if share.networks else []
    return f"{share.name}  {'; '.join(sides) or 'not served'}" + ("" if share.networks or not share.smb else " only")
