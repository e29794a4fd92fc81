# SPDX-License-Identifier: Apache-2.0
"""What the destruction of the pool would end and leave. Nothing is written."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime

from millrace.inventory.present import present
from millrace.lifecycle.destroy.destroy_job import JOB
from millrace.lifecycle.destroy.model import DestroyedDrive, DestroyedShare, DestroyedVolume, DestroyStatus
from millrace.lifecycle.update import records
from millrace.serve.config import store
from millrace.serve.config.model import Config
from millrace.serve.share import kept_snapshots
from millrace.serve.share.session import ClientSession, sessions
from millrace.serve.share.usage import usage
from millrace.serve.volume.store import Store
from millrace.storage.drive import drive_history
from millrace.storage.record.destruction import is_open, last_destruction
from millrace.storage.record.model import Pool
from millrace.storage.record.pool_file import known_pool
from millrace.system import ages, paths, sysfs
from millrace.system.command import command
from millrace.system.errors import BadInput, Failed
from millrace.system.files import describe
from millrace.system.jobs import pairs
from millrace.system.jobs.kinds import BY_NAME, JobName
from millrace.system.mounts import mounted
from millrace.system.run import Runner
from millrace.system.text import moment, one_line
from millrace.system.trees import nofollow
from millrace.system.units import states

ENDED: Sequence[JobName] = (
    *("clone", "copy", "snapshot", "backup", "permissions", "benchmark", "tuner"),
    *("scrub", "damaged-files", "unclean", "trim"),
)
"""Jobs that use the pool and are ended where that was asked for: what they do is lost with it."""
NO_POOL = "this server has no pool; read its plan with `millrace plan`"


def host_name() -> str:
    """Return the host name of this server as the kernel has it: what is typed to confirm a destruction."""
    return sysfs.text(paths.ROOT / "proc/sys/kernel/hostname") or ""


def status(run: Runner) -> DestroyStatus:
    """Return what a destruction ends and leaves. Failed: systemd does not report its units, or the state is damaged.

    BadInput: a record of the pool or of a destruction cannot be read.
    """
    pool, config = known_pool(), store.load()
    clients = sessions(run).sessions if pool else []
    jobs = working(run) if pool else []
    volumes = _volumes(pool) if pool else []
    return DestroyStatus(
        name=host_name(),
        pool=pool.filesystem_uuid if pool else None,
        used=_used(pool) if pool else None,
        shares=_shares(pool, config, run) if pool else [],
        volumes=volumes,
        drives=_drives(pool) if pool else [],
        clients=clients,
        jobs=jobs,
        obstacle=obstacle(pool, config, run),
        in_use=in_use(clients, volumes, jobs),
        last=last_destruction(),
        running=JOB.runs(run),
    )


def obstacle(pool: Pool | None, config: Config, run: Runner) -> str | None:
    """Return why no destruction can begin, with the remedy. Failed: systemd does not report its units."""
    if is_open():
        return JOB.busy if JOB.runs(run) else None
    if pool is None:
        return NO_POOL
    if locked := _locked(pool):
        return locked
    if sealed := next((share.name for share in config.shares if share.sealed), None):
        return f"share {sealed} is sealed: unseal it first: {command('millrace share unseal', sealed)}"
    if (trial := records.trial()) is not None:
        return f"version {trial.version} is not accepted yet; reboot, or go back: millrace update rollback"
    blocker = pairs.obstacle("destroy", run, allowed=ENDED)
    return blocker.sentence if blocker else None


def _locked(pool: Pool) -> str | None:
    """Why a pool is not destroyed that has a locked snapshot; None also where the pool cannot be read any more."""
    point = pool.filesystem.mountpoint
    try:
        locks = kept_snapshots.locks(point) if mounted(point) is not None else []
    except (BadInput, Failed, OSError) as error:
        return f"it is not known which snapshots are locked: {describe(error)}" if _opens(point) else None
    now = datetime.now(UTC)
    last = max(locks, key=lambda lock: ages.when(lock.end(now)), default=None)
    if last is None:
        return None
    end, by = moment(last.end(now)), one_line(last.by)
    return f"snapshot {last.share}@{last.name} is locked until {end}, as {by} decided: wait until then"


def _opens(mountpoint: str) -> bool:
    # a pool that has failed as a whole can be destroyed, as nothing on it can be read again
    try:
        with nofollow.directory(paths.ROOT / mountpoint.lstrip("/")):
            return True
    except Failed:
        return False


def in_use(clients: Sequence[ClientSession], volumes: Sequence[DestroyedVolume], jobs: Sequence[JobName]) -> str | None:
    """Return what uses the pool now, as a sentence with the remedy; None where nothing does."""
    what = []
    if clients:
        hosts = len({client.host for client in clients})
        what.append(f"{hosts} client{'s are' if hosts > 1 else ' is'} connected")
    if exported := [volume.name for volume in volumes if volume.exported]:
        what.append(f"volume{'s' if len(exported) > 1 else ''} {', '.join(exported)} exported")
    what += [BY_NAME[name].busy.partition(",")[0] for name in jobs]
    return f"the pool is in use: {'; '.join(what)}; end that first, or add --end, which ends it" if what else None


def working(run: Runner) -> list[JobName]:
    """Return the jobs that use the pool now. Failed: systemd does not report its units."""
    found = states([BY_NAME[name].unit for name in ENDED], run)
    return [name for name in ENDED if BY_NAME[name].works(found[BY_NAME[name].unit])]


def _shares(pool: Pool, config: Config, run: Runner) -> list[DestroyedShare]:
    used, _ = usage(pool, run)
    return [DestroyedShare(name=share.name, used=used.get(share.project)) for share in config.shares]


def _used(pool: Pool) -> int | None:
    point = pool.filesystem.mountpoint
    if mounted(point) is None:
        return None
    try:
        space = os.statvfs(paths.ROOT / point.lstrip("/"))
    except OSError:
        return None
    return (space.f_blocks - space.f_bfree) * space.f_frsize


def _volumes(pool: Pool) -> list[DestroyedVolume]:
    if mounted(pool.filesystem.mountpoint) is None:
        return []
    volumes = Store(pool.filesystem.mountpoint)
    exports = volumes.exports().volumes
    return [
        DestroyedVolume(name=name, size=volumes.data(name).stat().st_size, exported=volume.uuid in exports)
        for name, volume in volumes.all().items()
    ]


def _drives(pool: Pool) -> list[DestroyedDrive]:
    here = {drive.serial: drive for drive in present()}
    bays = {drive.serial: drive.bay for drive in drive_history.load().drives if drive.bay}
    members = [member.serial for record in pool.arrays for member in (*record.members, *record.spares)]
    serials = [*(drive.serial for drive in pool.drives), *members]
    return [
        DestroyedDrive(
            serial=serial,
            bay=(drive.bay or drive.slot) if (drive := here.get(serial)) else bays.get(serial),
            here=serial in here,
        )
        for serial in dict.fromkeys(serials)
    ]
