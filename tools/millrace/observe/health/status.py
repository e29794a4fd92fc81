# SPDX-License-Identifier: Apache-2.0
"""One screen, and the overview of the web console: health, pool, shares, jobs, next steps."""

import os
import socket
import time
from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

from millrace.observe.health.accelerators import Fed, fed, sentence
from millrace.observe.health.banner import url
from millrace.observe.health.current import current
from millrace.observe.health.host import Host
from millrace.observe.health.jobs import jobs
from millrace.observe.health.model import SEVERITY, Health, HealthFinding, Level
from millrace.observe.jobs.job_list import CurrentJob
from millrace.serve.share.desired import shares
from millrace.serve.share.model import Share
from millrace.storage.record.model import Pool
from millrace.system import heartbeat, net
from millrace.system.documents import Contract
from millrace.system.errors import MillraceError
from millrace.system.mounts import mounted
from millrace.system.net import Interface
from millrace.system.os_release import image_version
from millrace.system.printing import fields
from millrace.system.text import pace, size

T = TypeVar("T")

# Of 24 lines, which is what a console shows, with room for what belongs to one line only.
MOST_FINDINGS, MOST_SHARES, MOST_JOBS, MOST_NEXT = 5, 3, 2, 4


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

    `next` is what to do, the worst first: each remedy behind the sentence that it belongs to. `as_root` is false where
    the user may not read everything: parts of `health` are then the last results of root, of `health.at`. `notes` are
    what could not be read, and why. `uptime` is the seconds since this server was started. `fed` is how many
    accelerators it keeps busy; null is not known.
    """

    schema_version: Literal[1] = 1
    product: Literal["Millrace"] = "Millrace"
    version: str
    hostname: str
    uptime: int
    addresses: list[Address]
    health: Health
    next: list[str]
    pool: Pool | None
    space: Space | None
    shares: list[Share]
    jobs: list[CurrentJob]
    fed: Fed | None = None
    as_root: bool
    notes: list[str]


def status(host: Host, ports: Callable[[], list[Interface]] = net.serving) -> Status:
    """Return the state of the server, as far as the user may see it."""
    health = current(host)
    notes: list[str] = []
    reached = _value_or_note(ports, notes) or []
    pool = _value_or_note(lambda: host.pool, notes)
    return Status(
        version=image_version(),
        hostname=socket.gethostname(),
        uptime=round(time.monotonic()),
        addresses=[_address(port.name, address) for port in reached for address in port.addresses],
        health=health,
        next=_next(health),
        pool=pool,
        space=space_of(pool.filesystem.mountpoint) if pool else None,
        shares=(_value_or_note(lambda: shares(pool, reached), notes) or []) if pool else [],
        jobs=_value_or_note(lambda: jobs(pool), notes) or [],
        fed=_value_or_note(lambda: fed(pool), notes) if pool else None,
        as_root=os.geteuid() == 0,
        notes=notes,
    )


def _value_or_note(read: Callable[[], T], notes: list[str]) -> T | None:
    """What can be read, or None and a note why not: one broken file hides nothing else."""
    try:
        return read()
    except MillraceError as error:
        notes.append(str(error))
        return None


def _address(interface: str, address: net.Address) -> Address:
    return Address(interface=interface, address=str(address.ip), url=url(address))


def worst_first(health: Health) -> list[HealthFinding]:
    """Return the findings, the worst first."""
    return sorted(health.findings, key=lambda one: SEVERITY.index(one.level), reverse=True)


def _next(health: Health) -> list[str]:
    return [f"{one.sentence} {one.todo}" for one in worst_first(health) if one.todo]


def space_of(mountpoint: str) -> Space | None:
    """Return size and free space of the last heartbeat; None where nothing is mounted or it does not answer."""
    beat = heartbeat.last() if mounted(mountpoint) is not None else None
    if beat is None or beat.size is None or beat.used is None or beat.free is None:
        return None
    return Space(size=beat.size, used=beat.used, free=beat.free)


def lines(status: Status) -> list[str]:
    """Return one screen of text, whatever the number of shares and drives."""
    wrong = [finding for finding in worst_first(status.health) if finding.level is not Level.OK]
    pairs = [
        ("Health", str(status.health.level)),
        *_first("", [f"{finding.level}: {finding.sentence}" for finding in wrong], MOST_FINDINGS, "millrace health"),
        ("Pool", _pool(status)),
        *([("Feeds", sentence(status.fed))] if status.fed else []),
        *_first("Share", [_share(share) for share in status.shares], MOST_SHARES, "millrace share list"),
        *_first("Job", [_job(job) for job in status.jobs], MOST_JOBS, "millrace status --json"),
        *_first("Next", status.next, MOST_NEXT, "millrace health"),
        *_first("Note", status.notes, MOST_JOBS, "millrace status --json"),
    ]
    return list(fields(pairs))


def _first(title: str, entries: Sequence[str], most: int, rest: str) -> list[tuple[str, str]]:
    """A field each for the first of them, and where to read the others."""
    found = [(title, one) for one in entries[:most]]
    if len(entries) > most:
        found.append(("", f"… and {len(entries) - most} more ({len(entries)} in all): {rest}"))
    return found


def _pool(status: Status) -> str:
    if status.pool is None:
        return "none yet"
    where = status.pool.filesystem.mountpoint
    if status.space is None:
        return f"{where}, not available"
    return f"{where}, {size(status.space.size)}, {size(status.space.free)} free"


def _job(job: CurrentJob) -> str:
    progress = job.state if job.progress is None else f"{job.progress:.1%}"
    return f"{job.name}, {job.what}: {progress}{pace(job.bytes_per_second, job.seconds_left)}"


def _share(share: Share) -> str:
    sides = [*(["SMB"] if share.smb else []), *(["SMB Direct"] if share.direct else [])]
    sides += [f"NFS to {', '.join(share.networks)}"] if share.networks else []
    return f"{share.name}  {'; '.join(sides) or 'not served'}" + ("" if share.networks or not sides else " only")
