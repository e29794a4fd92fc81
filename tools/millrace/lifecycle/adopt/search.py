# SPDX-License-Identifier: Apache-2.0
"""Find the pool on the drives of a server that has none, and read the state that it carries. Nothing is written."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from millrace.lifecycle.adopt import adopt_paths, restore
from millrace.lifecycle.adopt.arrays import MIXED, OnDrives, named, of_one_pool, on_drives
from millrace.lifecycle.adopt.external import OnExternal, on_external, verify_external
from millrace.lifecycle.adopt.model import FoundArray, FoundPool, KeptState, Origin, SearchResult
from millrace.lifecycle.adopt.ports import kept_ports
from millrace.lifecycle.adopt.rebuilt_state import NUMBER, rebuilt, rebuilt_external
from millrace.lifecycle.adopt.search_result import refuse_if_pool
from millrace.lifecycle.adopt.snapshots import snapshots
from millrace.lifecycle.keep import generation_store
from millrace.lifecycle.keep.generation_store import LaterState, Newest
from millrace.lifecycle.keep.model import Manifest
from millrace.lifecycle.keep.trust import trusted
from millrace.plan import xfs_features
from millrace.plan.model import Role
from millrace.serve.config.model import Config
from millrace.storage.array import md
from millrace.storage.array.machine import System
from millrace.storage.array.md import load_modules
from millrace.storage.array.signature import signature
from millrace.storage.array.superblock import Superblock, examine
from millrace.storage.assemble import unclean
from millrace.storage.record.model import Pool
from millrace.system import paths, sysfs, xfs
from millrace.system.documents import parse_model
from millrace.system.errors import BadInput, Failed, LaterRelease, MillraceError, Refused
from millrace.system.files import describe
from millrace.system.run import Runner, must

POOL = "var/lib/millrace/pool.json"

Parsed = TypeVar("Parsed")
NOTHING = "no drive of this server carries a pool of Millrace"
BY_HAND = (
    "keep the drives as they are: the boot drive of the server that created the pool starts it, on this server too"
)
UNTIL_THEN = "nothing was written; keep the drives as they are until then"


@dataclass(frozen=True)
class Seen:
    """What is on the drives: arrays, the UUID of the file system, and the newest kept state with its files.

    `external` has the devices of a pool without arrays. `features` is XFS_FSOP_GEOM_FLAGS_* of the file system, None
    where they are not known.
    """

    arrays: list[OnDrives]
    uuid: str
    newest: Newest
    external: OnExternal | None = None
    features: int | None = None


def find(system: System, run: Runner) -> SearchResult:
    """Return the pool on the drives and what its kept state has; a pool that cannot be adopted with the reason.

    Refused: this server has a pool, or one is being built. Failed: a tool fails in an unforeseen way.
    """
    refuse_if_pool()
    arrays: list[OnDrives] = []
    external: OnExternal | None = None
    uuid, kept, problem, todo, state, lacks = None, None, None, None, None, list[str]()
    try:
        arrays = on_drives(system)
        external = None if arrays else on_external(system)
        if not arrays and external is None:
            return SearchResult(pool=None, problem=NOTHING, todo="`millrace plan` proposes a new pool")
        seen = see_any(system, arrays, external)
        arrays, uuid = seen.arrays, seen.uuid
        lacks = xfs_features.clauses(seen.features)
        kept, state = _kept(seen, run), pool_of(seen.newest)
    except LaterRelease as error:
        problem, todo = str(error), UNTIL_THEN
    except MillraceError as error:
        problem, todo = str(error), BY_HAND
    except OSError as error:
        problem, todo = describe(error), BY_HAND
    missing = sum(array.missing for array in arrays)
    devices = external.serials if external else []
    pool = FoundPool(
        uuid=uuid,
        arrays=_shown(arrays, state),
        missing=missing,
        kept=kept,
        problem=problem,
        devices=devices,
        lacks=lacks,
    )
    return SearchResult(pool=pool, problem=problem, todo=todo)


def look_for(system: System) -> Seen:
    """Find the pool of this server and read it. Refused: there is none. See `see` for the other errors."""
    arrays = on_drives(system)
    external = None if arrays else on_external(system)
    if not arrays and external is None:
        raise Refused(NOTHING)
    return see_any(system, arrays, external)


def see_any(system: System, arrays: Sequence[OnDrives], external: OnExternal | None) -> Seen:
    """Read the pool on arrays, or on an external device. See `see` for the errors."""
    if external is not None:
        return see_external(system, external)
    of_one_pool(arrays)
    return see(system, arrays)


def see_external(system: System, external: OnExternal) -> Seen:
    """Mount the file system of an external device over a snapshot and read the newest kept state that can be read.

    Refused: the device is in use. BadInput: the state is that of another pool. LaterState: a later release wrote the
    newest. Failed: the file system cannot be mounted.
    """
    _refuse_used(system, external.names)
    with _private_mounts(system), snapshots(system, external.names) as devices:
        data = f"/dev/{devices[external.data]}"
        log = f"/dev/{devices[external.log]}" if external.log else None
        with _mounted(system, data, log) as where:
            features = xfs.features_at(where)
            newest = _kept_on(where) or rebuilt_external(
                system, external, data, where, _damaged(generation_store.directory(where))
            )
    _refuse_other(newest, external.uuid)
    return Seen([], external.uuid, newest, external, features)


def see(system: System, arrays: Sequence[OnDrives]) -> Seen:
    """Start the arrays over snapshots, mount the file system and read the newest kept state that can be read.

    Where there is none, the state is made of what superblocks and directories say. Refused: a member is in use, or is
    missing where there is no kept state; the drives are those of several pools. BadInput: the state is that of another
    pool. LaterState: a later release wrote the newest. Failed: the arrays or the file system do not start.
    """
    names = [name for array in arrays for name in array.members]
    _refuse_used(system, names)
    load_modules(system)
    with _private_mounts(system), snapshots(system, names) as devices:
        started = {array.name: _started(system, array, [devices[name] for name in array.members]) for array in arrays}
        over = _over(system, arrays, started)
        # the array over the legs of one pool may have the name of an array of another
        arrays = [*arrays, *over]
        of_one_pool(arrays)
        started |= {array.name: _started(system, array, list(array.members)) for array in over}
        if Role.DATA.value not in started:
            raise Failed("the array with the file system is not on these drives")
        data = f"/dev/{started[Role.DATA.value]}"
        log = f"/dev/{started[Role.LOG.value]}" if Role.LOG.value in started else None
        uuid = signature(system, data).get("UUID", "")
        with _mounted(system, data, log) as where:
            features = xfs.features_at(where)
            newest = _kept_on(where)
            if newest is None:
                of = {device: array for array, device in started.items()}
                newest = rebuilt(system, arrays, of, where, uuid, _damaged(generation_store.directory(where)))
    _refuse_other(newest, uuid)
    return Seen([array for array in arrays if array.level != "raid0"], uuid, newest, features=features)


def _refuse_used(system: System, names: Sequence[str]) -> None:
    for name in names:
        if (why := system.in_use(name)) is not None:
            raise Refused(f"{name} is in use ({why}): this server uses the drives of the pool already")


def _refuse_other(newest: Newest, uuid: str) -> None:
    if newest.generation.manifest.pool != uuid:
        raise BadInput("the state on the pool is that of another pool")


def _kept_on(where: Path) -> Newest | None:
    """The newest kept state of a mounted pool; None where none can be read. LaterState: a later release wrote it."""
    try:
        return generation_store.newest(generation_store.directory(where))
    except LaterState:
        raise
    except BadInput:
        return None


def _damaged(where: Path) -> dict[Path, str]:
    """Kept states that cannot be read, with the reason."""
    found = {}
    for number in generation_store.numbers(where):
        path = generation_store.file(where, number)
        try:
            generation_store.read(path)
        except BadInput as error:
            found[path] = str(error)
    return found


def _over(system: System, arrays: Sequence[OnDrives], started: Mapping[str, str]) -> list[OnDrives]:
    """The arrays over those that are started, with the drives of these."""
    serials = {started[one.name]: ", ".join(one.serials) for one in arrays}
    return [
        replace(one, members={device: serials[device] for device in one.members})
        for one in on_drives(system, list(started.values()))
    ]


def _started(system: System, array: OnDrives, devices: Sequence[str]) -> str:
    """Start an array over snapshots, without a rebuild; return its md device.

    One that was written while degraded when the power went is started as `assemble.assemble` will start it.
    """
    try:
        _assemble(system, array, devices)
    except Failed:
        blocks: list[Superblock] = [block for device in devices if (block := examine(system, device)) is not None]
        members = unclean.forceable(blocks, array.needed)
        if not members:
            raise
        _assemble(system, array, [block.name for block in members], force=True)
    active = md.find(system, array.uuid)
    if active is None or not active.running:
        raise Failed(f"array {array.name} does not start from the drives in this server; see `journalctl -k`")
    if array.level != "raid0":
        # what md would rebuild would be written to memory
        sysfs.write(paths.ROOT / "sys/block" / active.device / "md/sync_action", "frozen")
    must(system.attempt, ["mdadm", "--readwrite", f"/dev/{active.device}"])
    return active.device


def _assemble(system: System, one: OnDrives, devices: Sequence[str], force: bool = False) -> None:
    left = md.find(system, one.uuid)
    if left is not None and not left.running:
        must(system.attempt, ["mdadm", "--stop", f"/dev/{left.device}"])
    argv = ["mdadm", "--assemble", f"/dev/md/millrace-find-{one.name}", "--run", "--readonly"]
    argv += [*(["--force"] if force else []), f"--uuid={one.uuid}", f"--homehost={md.HOMEHOST}"]
    must(system.attempt, [*argv, *(f"/dev/{device}" for device in devices)])


@contextmanager
def _private_mounts(system: System) -> Iterator[None]:
    """No other process sees what is mounted here, and it is gone with this process."""
    os.unshare(os.CLONE_NEWNS)  # type: ignore[attr-defined,unused-ignore]  # the tools' Python may be older
    must(system.attempt, ["mount", "--make-rprivate", "/"])
    yield


@contextmanager
def _mounted(system: System, data: str, log: str | None) -> Iterator[Path]:
    """Mount the file system read-only, with its log replayed; without, where that cannot be.

    A log that is not of this file system, which may have its own inside, does not keep the state from being read.
    """
    where = adopt_paths.find_dir() / "pool"
    where.mkdir(mode=0o700, exist_ok=True)
    own = ["ro", "nosuid", "nodev", "noexec", "nouuid"]
    options = [*own, *([f"logdev={log}"] if log else [])]
    for first in (options, own) if log else (options,):
        if system.attempt(["mount", "-t", "xfs", "-o", ",".join(first), data, str(where)]).status == 0:
            break
    else:
        must(system.attempt, ["mount", "-t", "xfs", "-o", ",".join([*options, "norecovery"]), data, str(where)])
    try:
        yield where
    finally:
        must(system.attempt, ["umount", str(where)])


def verify(seen: Seen) -> tuple[Pool, Config]:
    """Return the pool and the desired state that were kept. Nothing of what is found may stop an adoption halfway.

    LaterState: a later release wrote them. BadInput: the state has what is not kept. Refused: an array on the drives
    is not one of the pool.
    """
    pool, config = pool_of(seen.newest), config_of(seen.newest)
    restore.verify(seen.newest.generation.manifest, seen.newest.generation.readable())
    if seen.external is not None:
        verify_external(pool, seen.external)
    others = [array for array in seen.arrays if not any(md.same_uuid(array.uuid, of.uuid) for of in pool.arrays)]
    if others:
        names = "; ".join(map(named, others))
        raise Refused(f"drives of several pools are in this server: pool {seen.uuid} does not have {names}. {MIXED}")
    return pool, config


def pool_of(newest: Newest) -> Pool:
    """Return the pool as it was when the state was kept. LaterState: a later release wrote it. BadInput: damaged."""
    return _document(newest, lambda readable: parse_model(readable.get(POOL, b""), Path(POOL), Pool))


def config_of(newest: Newest) -> Config:
    """Return the desired state that was kept. LaterState: a later release wrote it. BadInput: damaged."""
    return _document(newest, lambda readable: restore.config_of(newest.generation.manifest, readable))


def _document(newest: Newest, parse: Callable[[Mapping[str, bytes]], Parsed]) -> Parsed:
    try:
        return parse(newest.generation.readable())
    except LaterRelease as error:
        # the kept state as a whole says which release that is
        file = generation_store.file(Path(), newest.number)
        raise LaterState(file, newest.generation.manifest.release) from error


def _kept(seen: Seen, run: Runner) -> KeptState:
    newest, manifest = seen.newest, seen.newest.generation.manifest
    _, config = verify(seen)
    return KeptState(
        generation=newest.number,
        written=manifest.written,
        host=manifest.host,
        release=manifest.release,
        sealed=manifest.seal is not None,
        shares=[share.name for share in config.shares],
        users=[user.name for user in config.users],
        ports=kept_ports(config, run),
        domain=config.domain.zone if config.domain else None,
        origin=origin_of(manifest),
        forgotten=manifest.forgotten,
        problems=manifest.problems,
        damaged=[f"{path.name}: {why.rpartition(': ')[2]}" for path, why in newest.damaged.items()],
        trusted=trusted(newest.generation),
    )


def origin_of(manifest: Manifest) -> Origin:
    """Return where a state comes from: kept as it was, kept without people, or made of what is on the drives."""
    if manifest.forgotten is not None:
        return "forgotten"
    return "drives" if manifest.generation == NUMBER else "kept"


def _shown(arrays: Sequence[OnDrives], kept: Pool | None = None) -> list[FoundArray]:
    return [
        FoundArray(
            uuid=array.uuid,
            name=array.name,
            level=array.level,
            slots=array.slots,
            serials=sorted(array.members.values()),
            spares=sorted(array.spares.values()),
            outdated=sorted(array.outdated.values()),
            away=_away(array, kept),
        )
        for array in arrays
    ]


def _away(one: OnDrives, kept: Pool | None) -> list[str]:
    """The members that the kept state has and that are not there; none of an array that is complete."""
    records = kept.arrays if kept is not None and one.missing else []
    members = [member.serial for record in records if record.uuid == one.uuid for member in record.members]
    return sorted(set(members) - set(one.serials))
