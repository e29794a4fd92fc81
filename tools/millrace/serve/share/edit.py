# SPDX-License-Identifier: Apache-2.0
"""Create, set and remove a share: from the options of the command line to what is served."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from millrace.serve.config import store
from millrace.serve.config.choices import ShareType
from millrace.serve.config.model import ADMIN, Config, DesiredShare
from millrace.serve.render.reconcile import Reconciliation
from millrace.serve.share import directories, kept_results, kept_snapshots, nfs, options, permissions, quota, smb
from millrace.serve.share.direct import configuration as direct
from millrace.serve.share.model import ChangeReport, Preview, ShareVerification
from millrace.serve.share.server import ShareServer, this_server
from millrace.serve.share.share_change import ShareChange, refuse_unmet
from millrace.storage.record.pool_file import known_pool
from millrace.system.command import command
from millrace.system.documents import checked
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.names import several, share_name
from millrace.system.text import shown, size
from millrace.system.users import invoking_user, only_root

Settings = Mapping[str, Any]
Typed = Mapping[str, dict[str, Any]]
DEFAULT = "default"


def create_shares(
    names: Sequence[str], settings: Settings, server: Callable[[], ShareServer] = this_server
) -> ChangeReport:
    """Create shares with the same settings and serve them: all, or none where one of them cannot be served."""
    return change(names, f"share create {several(names)}", creation(names, settings), server)


def set_share(name: str, settings: Settings, server: Callable[[], ShareServer] = this_server) -> ChangeReport:
    """Change what `settings` name of a share."""
    mutate = setting(name, settings)
    what = f"share set {name}: {', '.join(_changed_keys(_typed(settings)))}"
    return change([name], what, mutate, server)


def creation(names: Sequence[str], settings: Settings) -> store.Mutate:
    """Return the change of the desired state that creates shares, from options of the command line.

    Refused, BadInput: as for `creation_of`.
    """
    return creation_of(names, _typed(settings))


def creation_of(names: Sequence[str], wanted: Typed) -> store.Mutate:
    """Return the change of the desired state that creates shares.

    Refused: a user has web console access, or a size is above that of the pool. BadInput: the type of a share
    determines who may write.
    """
    for name in names:
        _refuse_rule(name, wanted["share"].get("type", "mixed"), wanted)

    def mutate(config: Config) -> Config:
        _refuse_people(config, wanted)
        _refuse_sizes(wanted)
        created = [_new(name, project, wanted) for project, name in enumerate(names, config.next_project)]
        return config.model_copy(update={"shares": [*config.shares, *created]})

    return mutate


def setting(name: str, settings: Settings) -> store.Mutate:
    """Return the change of the desired state that sets what `settings` name, which are options of the command line.

    BadInput, Refused: as for `setting_of`.
    """
    return setting_of(name, _typed(settings))


def setting_of(name: str, wanted: Typed) -> store.Mutate:
    """Return the change of the desired state that sets what `wanted` names.

    BadInput: it names nothing, `name` is no name, or the type determines who may write. Refused: there is no such
    share, a user has web console access, or a size is above that of the pool.
    """
    if not any(wanted.values()):
        raise BadInput(f"nothing to change for {shown(name)}: give an option, see 'millrace share set --help'")

    def mutate(config: Config) -> Config:
        before = _existing(config, name)
        _refuse_people(config, wanted)
        _refuse_sizes(wanted)
        merged = _merged(before.model_dump(), wanted)
        _refuse_rule(name, merged["type"], wanted)
        if merged["writing"] == "own" and "group" not in wanted["share"]:
            merged["group"] = None
        after = checked(lambda: DesiredShare.model_validate(merged))
        return config.model_copy(update={"shares": [after if one.name == name else one for one in config.shares]})

    return mutate


def remove_share(name: str, delete_data: str | None, server: Callable[[], ShareServer] = this_server) -> ChangeReport:
    """Stop serving a share; delete its data only if `delete_data` is its name.

    BadInput: `delete_data` is another name. Refused: there is no such share. Failed: it is still served, or its data
    could not be deleted.
    """
    if delete_data is not None and delete_data != name:
        raise BadInput(f"--delete-data says {shown(delete_data)}, not {shown(name)}: nothing was removed")
    removed: list[DesiredShare] = []

    def mutate(config: Config) -> Config:
        found = _existing(config, name)
        if found.sealed:
            raise Refused(f"share {name} is sealed: unseal it first: {command('millrace share unseal', name)}")
        removed.append(found)
        return config.model_copy(update={"shares": [one for one in config.shares if one.name != name]})

    only_root()
    host = server()
    report = change([name], f"share remove {name}" + (" with its data" if delete_data else ""), mutate, lambda: host)
    mountpoint = host.pool.filesystem.mountpoint
    release(removed[0], host)
    snapshots = [*kept_snapshots.remain(name, mountpoint)]
    if delete_data is None:
        warnings = [*report.warnings, f"the data stays in {mountpoint}/{name}", *snapshots]
        return report.model_copy(update={"warnings": warnings})
    try:
        directories.delete(name, mountpoint, host.run)
    except OSError as error:
        raise Failed(f"{name} is no longer served, but its data could not be deleted: {error}") from error
    verified = [*report.verified, f"{mountpoint}/{name} is deleted"]
    return report.model_copy(update={"verified": verified, "warnings": [*report.warnings, *snapshots]})


def release(share: DesiredShare, host: ShareServer) -> None:
    """End the limits and the usage figures of a share that is no longer served; its data stays."""
    mountpoint = host.pool.filesystem.mountpoint
    if quota.enabled(mountpoint):
        quota.release(share.project, mountpoint, host.run)
        quota.forget(share.name, host.pool)
        if share.child_size:
            quota.lift([share.project], mountpoint, host.run)


def unseal_share(name: str, server: Callable[[], ShareServer] = this_server) -> ChangeReport:
    """Open the seal of a share, which stays read-only until its type is changed.

    Refused: there is no such share, or it has no seal. BadInput: `name` is no name.
    """

    def mutate(config: Config) -> Config:
        before = _existing(config, name)
        if not before.sealed:
            raise Refused(f"share {name} is not sealed: nothing was changed")
        after = before.model_copy(update={"sealed": False})
        return config.model_copy(update={"shares": [after if one.name == name else one for one in config.shares]})

    return change([name], f"share unseal {name}", mutate, server)


def preview(names: Sequence[str], mutate: store.Mutate, server: Callable[[], ShareServer] = this_server) -> Preview:
    """Return what a change of these shares would serve; writes nothing.

    Refused, BadInput: as for the change.
    """
    config = store.preview(mutate)
    current = server()
    shares = [share for share in current.shares(config) if share.name in names]
    refuse_unmet(shares, current.run)
    lines = [line for share in shares for line in (*smb.section(share), *direct.section(share))]
    return Preview(
        share=shares[0], exports=_without_comments(nfs.exports(shares).splitlines()), smb=_without_comments(lines)
    )


def change(
    names: Sequence[str], what: str, mutate: store.Mutate, server: Callable[[], ShareServer] = this_server
) -> ChangeReport:
    """Change shares of the desired state by `mutate`, and serve it; `what` is for the history.

    Refused, BadInput: the change, or a share is not served by it; nothing was changed.
    """
    only_root()
    host = server()
    serving = ShareChange(lambda: host)
    done = Reconciliation([serving])
    config = store.change(invoking_user(), what, mutate, done)
    changed = [share for share in serving.shares(config) if share.name in names]
    kept_results.keep([ShareVerification(name=share.name, seen=done.verified, problem=None) for share in changed])
    return ChangeReport(
        serial=config.serial,
        share=changed[0] if len(changed) == 1 else None,
        names=list(names),
        verified=done.verified,
        warnings=done.warnings,
    )


def _new(name: str, project: int, wanted: Typed) -> DesiredShare:
    # nobody else writes or deletes the backups of a Mac
    writing = "own" if wanted["smb"].get("time_machine") else "together"
    base: dict[str, Any] = {"name": name, "type": "mixed", "project": project, "writing": writing}
    group = wanted["share"].get("group")
    if group is not None and not {"users", "groups"} & set(wanted["smb"]):
        # the users who write open it; where others read, the administrator does
        base["smb"] = {"users": [ADMIN] if wanted["share"].get("writing") == "some" else [], "groups": [group]}
    return checked(lambda: DesiredShare.model_validate(_merged(base, wanted)))


def _refuse_sizes(wanted: Typed) -> None:
    """A limit above the size of the pool limits nothing, and is a typing error in most cases."""
    pool = known_pool()
    capacity = quota.pool_size(pool.filesystem.mountpoint) if pool is not None else None
    for key in ("size", "soft_size", "child_size"):
        limit = wanted["share"].get(key)
        if capacity is not None and limit is not None and limit > capacity:
            option = f"--{key.replace('_', '-')}"
            raise Refused(
                f"{option} {size(limit)} is above the size of the pool ({size(capacity)}): give less, or `none` for "
                "no limit"
            )


def _refuse_rule(name: str, share_type: ShareType, wanted: Typed) -> None:
    """BadInput where an option names who writes in a share whose type says that."""
    if share_type in permissions.RULED and {"writing", "group"} & set(wanted["share"]):
        raise BadInput(
            f"{name} has the type {share_type}, which determines who may write: leave --writing and --group out"
        )


def _refuse_people(config: Config, wanted: Typed) -> None:
    """Refused where a named user manages this server: it opens no share (serve/account/accounts.py)."""
    found = (config.user(name) for name in wanted["smb"].get("users", ()))
    looker = next((user.name for user in found if user and user.role), None)
    if looker:
        raise Refused(f"{looker} manages this server and opens no share: choose another user, or create one")


def _existing(config: Config, name: str) -> DesiredShare:
    found = config.share(name)
    if found is None:
        try:
            share_name(name)
        except ValueError as error:
            raise BadInput(str(error)) from error
        raise Refused(f"share {name} does not exist: millrace share list")
    return found


def _typed(settings: Settings) -> Typed:
    """What was typed, by where it belongs: of the share, of its NFS side, of its SMB side."""
    share: dict[str, Any] = {
        key: settings[key] for key in ("type", "comment", "writing") if settings.get(key) is not None
    }
    share |= {
        key: options.size(settings[key]) for key in ("size", "soft_size", "child_size") if settings.get(key) is not None
    }
    if settings.get("group") is not None:
        share["group"] = None if settings["group"] == "none" else settings["group"]
    nfs: dict[str, Any] = {} if settings.get("nfs") is None else {"enabled": settings["nfs"]}
    if settings.get("nfs_snapshots") is not None:
        nfs["snapshots"] = settings["nfs_snapshots"]
    if settings.get("nfs_clients"):
        nfs["clients"] = [options.nfs_client(client).model_dump() for client in _named(settings["nfs_clients"])]
    smb: dict[str, Any] = {} if settings.get("smb") is None else {"enabled": settings["smb"]}
    smb |= {
        key: settings[key]
        for key in ("encryption", "time_machine", "io_uring", "direct", "audit", "previous_versions")
        if settings.get(key) is not None
    }
    if settings.get("smb_users") or settings.get("smb_groups"):
        smb |= {"users": list(settings.get("smb_users", ())), "groups": list(settings.get("smb_groups", ()))}
    if settings.get("smb_networks"):
        smb["networks"] = _named(settings["smb_networks"])
    return {"share": share, "nfs": nfs, "smb": smb}


def _named(values: tuple[str, ...]) -> list[str]:
    return [] if tuple(values) == (DEFAULT,) else list(values)


def _merged(base: Mapping[str, Any], typed: Typed) -> dict[str, Any]:
    smb = {"users": [ADMIN], **base.get("smb", {}), **typed["smb"]}
    return {**base, **typed["share"], "nfs": {**base.get("nfs", {}), **typed["nfs"]}, "smb": smb}


def _changed_keys(typed: Typed) -> list[str]:
    return [key if part == "share" else f"{part}.{key}" for part, values in typed.items() for key in values]


def _without_comments(lines: Iterable[str]) -> list[str]:
    return [line for line in lines if line.strip() and not line.startswith("#")]
