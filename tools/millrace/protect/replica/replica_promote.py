# SPDX-License-Identifier: Apache-2.0
"""A replica becomes a served share: its newest snapshot is its content, with the limits and users of the source."""

import shlex
from collections.abc import Iterator
from contextlib import suppress

from millrace.plan.policy import policy_in_force
from millrace.protect.replica import replica_source, replica_stage
from millrace.protect.replica.file_list import FileListEnd, SourceShare
from millrace.protect.replica.replica_change import forget, refuse_running
from millrace.protect.replica.replica_job import source_of
from millrace.protect.replica.replica_model import Promotion
from millrace.protect.replica.replica_stage import ReplicaStage
from millrace.protect.snapshot import snapshot_rollback
from millrace.protect.snapshot.rollback_model import SnapshotRollback
from millrace.protect.snapshot.snapshot_model import SnapshotManifest, SnapshotProgress
from millrace.protect.snapshot.snapshot_store import SnapshotStore
from millrace.serve.config import store
from millrace.serve.config.model import ADMIN, Config, DesiredShare
from millrace.serve.share import edit
from millrace.serve.share.server import ShareServer
from millrace.system.command import command
from millrace.system.documents import checked
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.text import one_line, shown
from millrace.system.users import only_root

NAMED = 20
"""Users and groups that a promotion names; of more it says how many."""


def promote(name: str, again: str, server: ShareServer) -> Iterator[SnapshotProgress | Promotion]:
    """Make the newest snapshot of a replica its content, and serve it; yield the progress, then what it is.

    Run again it goes on after an interruption. BadInput: the name was not repeated. Refused: it is no replica, it has
    no snapshot, or a job is under way. Failed: it is not served, and is a replica still.
    """
    only_root()
    source_of(store.load(), name)
    if again.strip() != name:
        raise BadInput(f"the name of the replica was repeated as {shown(again)}, not {name}: nothing was changed")
    refuse_running(name, server)
    snapshots = SnapshotStore(server.pool.filesystem.mountpoint)
    manifest = chosen(name, server)
    newest = manifest.name
    settings, end = _settings(name, list(reversed(replica_stage.replicated(snapshots, name))), snapshots)
    # a rollback compares type and limits
    edit.change(
        [name], f"replica promote {name}: limits", lambda config: _limited(config, name, settings), lambda: server
    )
    yield from _rolled_back(f"{name}@{newest}", server)
    lacking = [*narrower(name, settings), *missing(settings, end or FileListEnd(entries=0), store.load())]
    if end is None:
        lacking.append(f"the list of files of {name}@{newest} is damaged: the names of owners of files are not known")
    report = edit.change(
        [name], f"replica promote {name}", lambda config: _served(config, name, settings), lambda: server
    )
    ReplicaStage(snapshots, name).clear(server.run)
    forget(name)
    replica_source.trust_sources(store.load(), server.run)
    yield Promotion(
        share=name,
        snapshot=newest,
        moment=manifest.moment or manifest.last,
        missing=lacking,
        warnings=report.warnings,
    )


def chosen(name: str, server: ShareServer) -> SnapshotManifest:
    """Return the snapshot that a promotion serves: the last one that came. BadInput, Refused: as `promote`."""
    only_root()
    source = source_of(store.load(), name)
    held = replica_stage.replicated(SnapshotStore(server.pool.filesystem.mountpoint), name)
    if not held:
        how = command("millrace replica sync", name)
        raise Refused(f"replica {name} has no snapshot of {source.place} yet: {how}")
    return list(held.values())[-1]


def _settings(name: str, held: list[str], snapshots: SnapshotStore) -> tuple[SourceShare, FileListEnd | None]:
    """Return the settings by the newest list that has any, and the names of owners; None where its list is damaged.

    BadInput, OSError: no list can be read.
    """
    problem: BadInput | OSError | None = None
    for snapshot in held:
        end = None
        try:
            with replica_stage.listing(snapshots.place(name, snapshot)) as listed:
                settings = listed.header.settings
                with suppress(BadInput, OSError):
                    for _ in listed.entries():
                        pass
                    end = listed.end
        except (BadInput, OSError) as error:
            problem = problem or error
        else:
            return settings, end if problem is None else None
    assert problem is not None
    raise problem


def _rolled_back(place: str, server: ShareServer) -> Iterator[SnapshotProgress]:
    wanted = snapshot_rollback.forecast(place, server)
    order = snapshot_rollback.prepare(wanted, server)
    snapshot_rollback.start(order, server)
    ended = None
    for line in snapshot_rollback.follow(order, server):
        if isinstance(line, SnapshotProgress):
            yield line
        else:
            ended = line
    if not isinstance(ended, SnapshotRollback):
        raise Failed(f"{place} is not the content of its share: millrace job show snapshot")


def _limited(config: Config, name: str, settings: SourceShare) -> Config:
    before = config.share(name)
    assert before is not None
    source_of(config, name)
    # what is from another server is verified as what was typed
    limits = {"size": settings.size, "soft_size": settings.soft_size, "child_size": settings.child_size}
    wanted = {**before.model_dump(), "type": settings.type, **limits}
    return _with(config, checked(lambda: DesiredShare.model_validate(wanted)))


def _served(config: Config, name: str, settings: SourceShare) -> Config:
    before = config.share(name)
    assert before is not None
    known_groups = {group.name for group in config.groups}
    users = [user for user in settings.smb_users if user == ADMIN or config.user(user) is not None]
    groups = [group for group in settings.smb_groups if group in known_groups]
    nfs = settings.nfs and _closed(settings) is None
    smb = settings.smb and bool(users or groups)
    if not nfs and not smb:
        # this server has none of these users and groups; a share needs at least one who may open it
        smb, users, groups = True, [ADMIN], []
    group = settings.group if settings.group in known_groups else None
    ruled = settings.type in ("dataset-ro", "home")
    wanted = {
        **before.model_dump(),
        "replica": None,
        "nfs": {"enabled": nfs},
        "smb": {
            "enabled": smb,
            "users": users,
            "groups": groups,
            "networks": settings.smb_networks,
            "encryption": settings.smb_encryption,
            "audit": settings.smb_audit,
        },
        # the modes of the top are those of the source; without its group nobody else gets in by it
        "group": None if ruled else group,
        "writing": "own" if ruled or group is None else settings.writing,
    }
    return _with(config, checked(lambda: DesiredShare.model_validate(wanted)))


def _closed(settings: SourceShare) -> str | None:
    """Why NFS stays off, as this server would serve it to more clients than the source did; None where it would not."""
    if settings.nfs_clients:
        return "to clients of its own"
    if settings.privileged_ports and not policy_in_force.in_force().nfs.privileged_ports:
        return "to privileged ports only (policy: nfs.privileged_ports)"
    return None


def narrower(name: str, settings: SourceShare) -> list[str]:
    """Return what the source served to fewer than this server would, and is off here, in sentences."""
    why = _closed(settings)
    if not settings.nfs or why is None:
        return []
    # quoted: the text is from another server
    clients = [f"--nfs-client {shlex.quote(_fit(client))}" for client in settings.nfs_clients[:NAMED]]
    allow = command("millrace share set", name, options=["--nfs", *clients])
    return [f"NFS is off, as the source served the share {why}: decide who may mount it, then {allow}"]


def missing(settings: SourceShare, end: FileListEnd, config: Config) -> list[str]:
    """Return what this server lacks of what the source had: users and groups, by name and number, in sentences."""
    users = {user.name: user.uid for user in config.users}
    groups = {group.name: group.gid for group in config.groups}
    lines = [
        *_lacking("user", end.users, users),
        *_lacking("group", end.groups, groups),
        *(
            f"user {_fit(name)} opened the share over SMB, and is not here"
            for name in settings.smb_users
            if name not in users and name != ADMIN
        ),
        *(
            f"group {_fit(name)} opened the share over SMB, and is not here"
            for name in settings.smb_groups
            if name not in groups
        ),
    ]
    more = len(lines) - NAMED
    return [*lines[:NAMED], *([f"and {more} more users or groups"] if more > 0 else [])]


def _lacking(what: str, owners: dict[int, str], known: dict[str, int]) -> Iterator[str]:
    for number, name in sorted(owners.items()):
        if name == ADMIN:
            continue
        if name not in known:
            yield f"{what} {_fit(name)} ({number}) owns files, and is not here: millrace {what} create {_fit(name)}"
        elif known[name] != number:
            yield f"{what} {_fit(name)} owns files as {number}, and has the number {known[name]} here"


def _fit(name: str) -> str:
    return one_line(name)


def _with(config: Config, after: DesiredShare) -> Config:
    return config.model_copy(update={"shares": [after if each.name == after.name else each for each in config.shares]})
