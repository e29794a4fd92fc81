# SPDX-License-Identifier: Apache-2.0
"""One screen for a person: health, pool, shares, what to do next."""

import os
from typing import Literal

from millrace import paths
from millrace.health.checks.filesystem import bytes_in_words
from millrace.health.model import Health, Level
from millrace.inventory.model import Contract
from millrace.provision.model import Pool
from millrace.share.model import Share


class Space(Contract):
    """Bytes of a mounted file system."""

    size: int
    free: int


class Status(Contract):
    """The status contract (`millrace status --json`)."""

    schema_version: Literal[1] = 1
    health: Health
    pool: Pool | None
    space: Space | None
    shares: list[Share]


def space_of(mountpoint: str) -> Space | None:
    """Size and free space; None where nothing is mounted or it does not answer."""
    path = paths.ROOT / mountpoint.lstrip("/")
    try:
        if not os.path.ismount(path):
            return None
        space = os.statvfs(path)
    except OSError:
        return None
    return Space(size=space.f_blocks * space.f_frsize, free=space.f_bavail * space.f_frsize)


def lines(status: Status) -> list[str]:
    """The screen."""
    return [
        f"Health   {status.health.level}",
        *(f"         {one.level}: {one.sentence}" for one in status.health.findings if one.level is not Level.OK),
        f"Pool     {_pool(status)}",
        *(f"Share    {_share(share)}" for share in status.shares),
        *(f"Next     {one.todo}" for one in status.health.findings if one.todo),
    ]


def _pool(status: Status) -> str:
    if status.pool is None:
        return "none yet"
    where = status.pool.filesystem.mountpoint
    if status.space is None:
        return f"{where}, not mounted"
    return f"{where}, {bytes_in_words(status.space.size)}, {bytes_in_words(status.space.free)} free"


def _share(share: Share) -> str:
    sides = ["SMB"] if share.smb else []
    sides += [f"NFS to {', '.join(share.networks)}"] if share.networks else []
    return f"{share.name}  {'; '.join(sides) or 'not served'}" + ("" if share.networks or not share.smb else " only")
