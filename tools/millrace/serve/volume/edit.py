# SPDX-License-Identifier: Apache-2.0
"""Create, resize, clone, export, detach and remove a volume: each is done or not, also after a power cut."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

from millrace.serve.share import quota
from millrace.serve.share.options import size as parsed_size
from millrace.serve.volume import carrier, export, model
from millrace.serve.volume.export import VolumeOrder
from millrace.serve.volume.model import Exports, Volume, VolumeReport
from millrace.serve.volume.serve import Volumes, record, rows, settle, this_volumes
from millrace.system import paths
from millrace.system.errors import BadInput, Refused
from millrace.system.text import shown, size
from millrace.system.users import invoking_user, only_root

NO_QUOTA = (
    "the pool is mounted without project quotas (the option prjquota), so that the volume has no quota of its own"
)
DISCONNECT = "disconnect it there first (nvme disconnect -n {nqn})"
SMALLEST, RESERVE = 1 << 20, 100
"""Bytes of a volume; a hundredth of the pool stays free for the file system itself."""

This = Callable[[], Volumes]


def create(name: str, typed_size: str, order: VolumeOrder | None, this: This = this_volumes) -> VolumeReport:
    """Create a volume, and export it where `order` says so.

    Refused: there is one of this name, the pool has too little space, or it is not served. BadInput: a name, a size, a
    host or a secret is none.
    """
    with _changing(this) as volumes:
        wanted = _size(typed_size, volumes)
        _refuse_name(name, volumes)
        checked = export.verified(order, name, volumes) if order else None
        _refuse_space(name, wanted, volumes)

        def allocate(descriptor: int) -> None:
            carrier.grow(descriptor, wanted, volumes.xfs)

        return _made(name, wanted, None, allocate, checked, volumes)


def clone(source: str, name: str, this: This = this_volumes) -> VolumeReport:
    """Clone a volume by reflink; the clone is not exported.

    A connected host is not interrupted and what it has not flushed is not in the clone, as after a power cut of that
    host at this moment: the kernel lets no write into the file meanwhile. Refused, BadInput: as for `create`.
    """
    with _changing(this) as volumes:
        origin = volumes.store.volume(source)
        _refuse_name(name, volumes)
        path = volumes.store.data(source)
        whole = carrier.size(path)

        def share(descriptor: int) -> None:
            with carrier.opened(path) as original:
                volumes.xfs.share(original, descriptor)

        report = _made(name, whole, origin.uuid, share, None, volumes)
        if _free(volumes) >= whole:
            return report
        warning = (
            f"{source} and {name} share their blocks, and each write to them takes new ones: the pool has "
            f"{size(_free(volumes))} left for {size(whole)}"
        )
        return report.model_copy(update={"warnings": [*report.warnings, warning]})


def resize(name: str, typed_size: str, this: This = this_volumes) -> VolumeReport:
    """Let a volume grow; connected hosts see it at once.

    Refused: it would shrink, or the pool has too little space. BadInput: a name or a size is none.
    """
    with _changing(this) as volumes:
        volume, path = volumes.store.volume(name), volumes.store.data(name)
        before, wanted = carrier.size(path), _size(typed_size, volumes)
        if wanted < before:
            raise Refused(f"volume {name} has {size(before)} and cannot shrink: its host would lose what is at its end")
        if wanted == before:
            raise Refused(f"volume {name} has {size(before)} already: nothing was changed")
        _refuse_space(name, wanted - before, volumes)
        _cap(volume.project, wanted, volumes)
        try:
            with carrier.opened(path) as descriptor:
                carrier.grow(descriptor, wanted, volumes.xfs)
        except OSError as error:
            _cap(volume.project, before, volumes)
            raise Refused(f"volume {name} stays as it is: {error.strerror or error}") from error
        settle(volumes)
        return _report(name, f"volume {name} has {size(wanted)} now", volumes)


def export_volume(name: str, order: VolumeOrder, this: This = this_volumes) -> VolumeReport:
    """Export a volume, or change how it is. Refused, BadInput: as for `create`; or a host is connected."""
    with _changing(this) as volumes:
        volume = volumes.store.volume(name)
        checked = export.verified(order, name, volumes)
        export.refuse_connected(name, volume, volumes, DISCONNECT.format(nqn=volume.nqn))
        before = volumes.store.exports()
        volumes.store.save_exports(export.added(before, volume.uuid, checked))
        export.serve(name, before, volumes)
        return _report(name, f"volume {name} is exported", volumes)


def detach(name: str, disconnect: bool, this: This = this_volumes) -> VolumeReport:
    """Export a volume no more; its data stays.

    Refused: it is not exported, or a host is connected and `disconnect` is false. BadInput: `name` is no name.
    """
    with _changing(this) as volumes:
        volume = volumes.store.volume(name)
        before = volumes.store.exports()
        if volume.uuid not in before.volumes:
            raise Refused(f"volume {name} is not exported: nothing was changed")
        if not disconnect:
            export.refuse_connected(name, volume, volumes, f"{DISCONNECT.format(nqn=volume.nqn)}, or add --disconnect")
        volumes.store.save_exports(export.without(before, volume.uuid))
        settle(volumes)
        return _report(name, f"volume {name} is no longer exported; its data stays", volumes)


def remove(name: str, delete_data: str, this: This = this_volumes) -> VolumeReport:
    """Remove a volume with its data.

    BadInput: `delete_data` is another name. Refused: there is no such volume, or a host is connected.
    """
    if delete_data != name:
        raise BadInput(f"--delete-data says {shown(delete_data)}, not {shown(name)}: nothing was removed")
    with _changing(this) as volumes:
        volume = volumes.store.volume(name)
        export.refuse_connected(name, volume, volumes, DISCONNECT.format(nqn=volume.nqn))
        before = volumes.store.exports()
        volumes.store.retire(name)
        # From here on it is gone: what fails now is finished by the next change or boot. Its blocks are freed before
        # anything is written: so a full pool gets room again.
        settle(volumes)
        volumes.store.sweep(volumes.run)
        volumes.store.save_exports(export.without(before, volume.uuid))
        mountpoint = volumes.server.context.mountpoint
        if quota.enabled(mountpoint):
            quota.release(volume.project, mountpoint, volumes.run)
        return VolumeReport(name=name, volume=None, done=f"volume {name} and its data are removed")


@contextmanager
def _changing(this: This) -> Iterator[Volumes]:
    """Hold the lock of changes, on a store without the rest of one that a power cut ended."""
    only_root()
    volumes = this()
    with volumes.store.change():
        volumes.store.sweep(volumes.run)
        yield volumes


def _made(
    name: str,
    whole: int,
    origin: UUID | None,
    content: Callable[[int], None],
    order: VolumeOrder | None,
    volumes: Volumes,
) -> VolumeReport:
    """Make a volume out of the way, then let it appear."""
    store, filesystem = volumes.store, volumes.server.pool.filesystem
    volume = _identity(origin, volumes)
    before = store.exports()
    warnings = []
    if not _cap(volume.project, whole, volumes):
        warnings.append(NO_QUOTA)
    try:
        place = store.new(volume)
        with carrier.created(place / "data", volume.project, filesystem, volumes.xfs) as descriptor:
            content(descriptor)
        if order is not None:
            # by its UUID, and without an effect until the volume is there
            store.save_exports(export.added(before, volume.uuid, order))
        store.finish(place, name, volume)
    except BaseException as error:
        _undo(volume, before, volumes)
        if isinstance(error, OSError):
            raise Refused(f"volume {name} is not created: {error.strerror or error}; nothing of it remains") from error
        raise
    if order is not None:
        try:
            export.serve(name, before, volumes)
        except Refused:
            store.retire(name)
            _undo(volume, before, volumes)
            record(volumes)
            raise
    else:
        record(volumes)
    what = "cloned" if origin else "created"
    return _report(name, f"volume {name} is {what}: {size(whole)}", volumes).model_copy(update={"warnings": warnings})


def _undo(volume: Volume, before: Exports, volumes: Volumes) -> None:
    volumes.store.save_exports(before)
    volumes.store.sweep(volumes.run)
    mountpoint = volumes.server.context.mountpoint
    if quota.enabled(mountpoint):
        quota.release(volume.project, mountpoint, volumes.run)


def _identity(origin: UUID | None, volumes: Volumes) -> Volume:
    used = {one.project for one in volumes.store.all().values()}
    uuid = uuid4()
    while _project(uuid) in used:
        uuid = uuid4()
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Volume(uuid=uuid, project=_project(uuid), created=now, by=invoking_user(), origin=origin)


def _project(uuid: UUID) -> int:
    """A number that no share and no directory of one ever has (serve/share/child_quota.py)."""
    return (1 << 31) | (uuid.int & ((1 << 30) - 1))


def _size(text: str, volumes: Volumes) -> int:
    found = None if model.volume_size.problem(text) else parsed_size(text)
    if found is None or found < SMALLEST:
        raise BadInput(model.volume_size.checks[0].sentence_for(text))
    return carrier.rounded(found, volumes.server.pool.filesystem)


def _refuse_name(name: str, volumes: Volumes) -> None:
    try:
        model.volume_name(name)
    except ValueError as error:
        raise BadInput(str(error)) from error
    if name in volumes.store.all():
        raise Refused(f"volume {name} already exists: choose another name")


def _free(volumes: Volumes) -> int:
    found = os.statvfs(_top(volumes))
    return max(found.f_bavail * found.f_frsize - found.f_blocks * found.f_frsize // RESERVE, 0)


def _refuse_space(name: str, more: int, volumes: Volumes) -> None:
    free = _free(volumes)
    if more > free:
        raise Refused(f"volume {name} needs {size(more)} and the pool has {size(free)} for it: nothing was changed")


def _cap(project: int, whole: int, volumes: Volumes) -> bool:
    mountpoint = volumes.server.context.mountpoint
    if not quota.enabled(mountpoint):
        return False
    quota.cap(project, carrier.limit(whole), mountpoint, volumes.run)
    return True


def _top(volumes: Volumes) -> Path:
    return paths.ROOT / volumes.server.context.mountpoint.lstrip("/")


def _report(name: str, done: str, volumes: Volumes) -> VolumeReport:
    found = next(one for one in rows(volumes) if one.name == name)
    return VolumeReport(name=name, volume=found, done=done)
