# SPDX-License-Identifier: Apache-2.0
"""Are the shares served as desired: no damaged state, no edit by hand, nothing that stops a share?"""

import grp
import shlex
from contextlib import suppress

from millrace.observe.health.checks import filesystem
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.plan.policy import policy_in_force
from millrace.serve.config import store
from millrace.serve.config.model import Config
from millrace.serve.log_forward import forward
from millrace.serve.render import rendered
from millrace.serve.share import client_snapshots, directories, export_table, nfs, permissions, quota
from millrace.serve.share.direct.ports import obstacle
from millrace.serve.share.quota import child_quota_problems
from millrace.serve.share.services import CHILD_QUOTA
from millrace.system import paths, sysfs
from millrace.system.command import command
from millrace.system.errors import MillraceError
from millrace.system.mounts import mounted
from millrace.system.names import several
from millrace.system.nfsd import exported, is_serving
from millrace.system.smb_passwords import DIRECT
from millrace.system.trees import nofollow
from millrace.system.units import SHARES

NAME = "shares"


def check(host: Host) -> list[HealthFinding]:
    """Check the desired state and the files that were rendered from it, wherever there is a pool to serve."""
    loaded = store.read()
    findings = []
    if loaded.problem:
        todo = "Look at millrace config history; any change, or millrace config rollback, writes a valid one"
        finding = HealthFinding(check=NAME, kind="state", level=Level.WARN, sentence=f"{loaded.problem}.", todo=todo)
        findings.append(finding)
    if host.pool is None:
        return findings
    findings += [*_drift(), *_foreign(), *_dropped(host), *_io_uring(loaded.config), *_limits(host, loaded.config)]
    findings += [*_children(host, loaded.config), *_accounts(loaded.config), *_direct(host, loaded.config)]
    # A pool that has failed, or hangs, is not looked into.
    failed = filesystem.unserved(host, NAME, "Users of the shares")
    mountpoint = host.pool.filesystem.mountpoint
    findings += failed or [
        *_lost(host, loaded.config, mountpoint),
        *_deleted(mountpoint),
        *_rules(loaded.config, mountpoint),
        *_closed_snapshots(loaded.config, mountpoint),
    ]
    count = len(loaded.config.shares)
    shares = "1 share is" if count == 1 else f"{count} shares are"
    return findings or [HealthFinding(check=NAME, level=Level.OK, sentence=f"{shares} configured and rendered.")]


def _drift() -> list[HealthFinding]:
    todo = "{} restores it and keeps the edited file in /var/lib/millrace/replaced"
    other = {forward.SETTINGS: "millrace journal apply"}
    return [
        HealthFinding(
            check=NAME,
            kind="edited",
            subject=f"/{name}",
            level=Level.WARN,
            sentence=f"/{name} was edited by hand and is not rendered.",
            todo=todo.format(other.get(name, "millrace share render --force")),
        )
        for name in rendered.edited()
    ]


def _foreign() -> list[HealthFinding]:
    todo = "Create a share for it (millrace share create) and delete the file, or keep it: the export stays active"
    return [
        HealthFinding(
            check=NAME,
            kind="foreign",
            subject=str(path),
            level=Level.WARN,
            sentence=f"{path} exports a directory that is not a share.",
            todo=todo,
        )
        for path in export_table.foreign_files()
    ]


def _dropped(host: Host) -> list[HealthFinding]:
    """What our file exports must stand in the table, while the NFS server runs (which is for another check)."""
    if not is_serving():
        return []
    # exportfs that cannot write its table says nothing: a table that is missing exports nothing
    table = exported() or {}
    ours = paths.ROOT / nfs.EXPORTS
    lines = ours.read_text().splitlines() if ours.exists() else []
    entries = [line.split() for line in lines if line.startswith("/")]
    clients = {words[0]: [client.partition("(")[0] for client in words[1:]] for words in entries}
    lost = {
        directory: lacks for directory in clients if (lacks := export_table.lacks(directory, clients[directory], table))
    }
    if not lost:
        return []
    closed = [directory for directory in lost if directory not in table]
    sentences = [f"NFS does not export {several(closed)}."] if closed else []
    sentences += [
        f"NFS does not export {directory} to {several(names)}."
        for directory, names in lost.items()
        if directory in table
    ]
    return [
        host.absent(
            NAME,
            " ".join(sentences),
            f"systemctl restart {SHARES}; if it fails: exportfs -ra shows the reason",
            kind="not-exported",
        )
    ]


def _limits(host: Host, config: Config) -> list[HealthFinding]:
    limited = [share.name for share in config.shares if share.size or share.soft_size or share.child_size]
    if not limited or host.pool is None:
        return []
    mountpoint = host.pool.filesystem.mountpoint
    # a pool that is not mounted, or not yet, is for another check
    if mounted(mountpoint) is None or quota.enabled(mountpoint):
        return []
    sentence = f"The limits of {several(limited)} are not enforced: the pool is mounted without project quotas."
    todo = "Reboot; if it stays like this: findmnt -no OPTIONS " + host.pool.filesystem.mountpoint
    return [HealthFinding(check=NAME, kind="limits", level=Level.WARN, sentence=sentence, todo=todo)]


def _children(host: Host, config: Config) -> list[HealthFinding]:
    """Directories of a share that should have a quota each, and have none."""
    named = [share.name for share in config.shares if share.child_size]
    if not named or host.pool is None or mounted(host.pool.filesystem.mountpoint) is None:
        return []
    if host.active_state(CHILD_QUOTA) != "active":
        sentence = f"New directories of {several(named)} have no quota: {CHILD_QUOTA} is not running."
        todo = f"systemctl restart {CHILD_QUOTA} assigns all of them; journalctl -u {CHILD_QUOTA} shows why it ended"
        return [HealthFinding(check=NAME, kind="child-quota", level=Level.WARN, sentence=sentence, todo=todo)]
    problems = child_quota_problems()
    if not problems:
        return []
    more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
    sentence = f"A directory has no complete quota: {problems[0]}{more}."
    todo = f"It is tried again every minute; journalctl -u {CHILD_QUOTA} lists all of them"
    return [HealthFinding(check=NAME, kind="child-quota", level=Level.WARN, sentence=sentence, todo=todo)]


def _direct(host: Host, config: Config) -> list[HealthFinding]:
    """Shares over SMB Direct that are not served, or served on ports that nobody named."""
    named = [share.name for share in config.shares if share.smb.enabled and share.smb.direct]
    rendered_for = (paths.ROOT / paths.SMB_DIRECT).exists()
    if not named and not rendered_for:
        return []
    problem = obstacle(policy_in_force.find().policy.smb_direct)
    active = host.active_state(DIRECT) == "active"
    if problem and active:
        sentence = f"The kernel's SMB server still answers: {problem}."
        todo = "millrace share render stops it"
        return [HealthFinding(check=NAME, kind="direct-open", level=Level.FAIL, sentence=sentence, todo=todo)]
    if not named:
        return []
    if problem:
        sentence = f"{several(named)} is not served over SMB Direct: {problem}."
        todo = "Then: millrace share render. Or serve it by Samba: millrace share set NAME --no-smb-direct"
        return [HealthFinding(check=NAME, kind="direct", level=Level.FAIL, sentence=sentence, todo=todo)]
    if not active:
        sentence = f"{several(named)} is not served over SMB Direct: {DIRECT} is not running."
        return [host.absent(NAME, sentence, f"journalctl -u {DIRECT} shows why", kind="direct")]
    return []


def _accounts(config: Config) -> list[HealthFinding]:
    path = paths.ROOT / "etc/passwd"
    accounts = {line.partition(":")[0] for line in path.read_text().splitlines()} if path.exists() else set()
    lost = [user.name for user in config.users if accounts and user.name not in accounts]
    if not lost:
        return []
    todo = "systemctl restart millrace-users.service, then millrace user passwd"
    return [
        HealthFinding(
            check=NAME,
            kind="accounts",
            level=Level.WARN,
            sentence=f"The user {several(lost)} does not exist.",
            todo=todo,
        )
    ]


def _lost(host: Host, config: Config, mountpoint: str) -> list[HealthFinding]:
    """Shares without their directory: exports and smb.conf name it all the same."""
    if mounted(mountpoint) is None:
        return []
    top = paths.ROOT / mountpoint.lstrip("/")
    lost = [share.name for share in config.shares if not (top / share.name).is_dir()]
    # a new pool has none of them until the shares are applied
    if not lost or host.active_state(SHARES) in ("inactive", "activating"):
        return []
    sentence = f"The directory of {several(lost)} is missing in {mountpoint}: clients get errors."
    todo = (
        "Move it back if it was renamed. If its data is lost: "
        f"{command('millrace share remove', lost[0])}, then create the share again and restore a backup"
    )
    return [HealthFinding(check=NAME, kind="lost", level=Level.FAIL, sentence=sentence, todo=todo)]


def _deleted(mountpoint: str) -> list[HealthFinding]:
    trash = paths.ROOT / mountpoint.lstrip("/") / directories.TRASH
    left = sorted(path.name for path in trash.iterdir()) if trash.is_dir() else []
    if not left:
        return []
    sentence = f"Data of removed shares is still being deleted, or was left by an interruption: {several(left)}."
    todo = f"If nothing deletes it any more: rm -rf {mountpoint}/{directories.TRASH}/*"
    return [HealthFinding(check=NAME, kind="deleted", level=Level.WARN, sentence=sentence, todo=todo)]


def _rules(config: Config, mountpoint: str) -> list[HealthFinding]:
    """Shares of each user's own files whose directory still has the rule of a group or of all.

    A version that does not know the rules drops them at a change. What an administrator set by hand is no other rule.
    """
    findings = []
    for share in config.shares:
        rule = permissions.rule(share)
        if rule is None or rule.default is not None:
            continue
        seen = None
        with (
            suppress(MillraceError, OSError),
            nofollow.directory(paths.ROOT / mountpoint.lstrip("/") / share.name) as at,
        ):
            seen = permissions.rule_of(permissions.state(at))
        if seen is None:
            continue
        writing, gid = seen
        options = [f"--writing {writing}", *([] if gid is None else [f"--group {_group(gid, config)}"])]
        again = command("millrace share set", share.name, options=options)
        own = command("millrace share permissions", share.name, options=["--apply"])
        sentence = (
            f"{share.name} is set to files of each user's own, but in its directory several users write the same."
        )
        todo = f"To let them: {again}; to end it: {own}"
        finding = HealthFinding(
            check=NAME, kind="writing", subject=share.name, level=Level.WARN, sentence=sentence, todo=todo
        )
        findings.append(finding)
    return findings


def _closed_snapshots(config: Config, mountpoint: str) -> list[HealthFinding]:
    """Shares whose snapshots are not exported, as a client with root would reach those of a former share."""
    closed = []
    for share in config.shares:
        to_root = share.nfs.snapshots and any(client.squash == "none" for client in share.nfs.clients)
        with suppress(OSError):
            is_read = bool(share.readers) or (to_root and share.nfs.enabled)
            if is_read and client_snapshots.foreign(share.name, share.project, mountpoint):
                closed.append(share.name)
    return [
        HealthFinding(
            check=NAME,
            kind="closed-snapshots",
            subject=name,
            level=Level.WARN,
            sentence=(
                f"The snapshots of {name} are not exported over NFS: some of them are of a former share or cannot be "
                "read, and a client, or a server with a replica, reads as root."
            ),
            todo=("Remove these snapshots, or squash root of all clients: " + command("millrace snapshot list", name)),
        )
        for name in closed
    ]


def _group(gid: int, config: Config) -> str:
    named = next((group.name for group in config.groups if group.gid == gid), None)
    if named is not None:
        return named
    try:
        return shlex.quote(grp.getgrgid(gid).gr_name)
    except KeyError:
        return "GROUP"


def _io_uring(config: Config) -> list[HealthFinding]:
    """Shares of SMB alone use io_uring, and do not open where the kernel refuses it."""
    refused = sysfs.number(paths.ROOT / "proc/sys/kernel/io_uring_disabled")
    on_smb = [one for one in config.shares if one.smb.enabled and one.smb.io_uring and not one.smb.direct]
    alone = [one.name for one in on_smb if not one.both and one.type not in _WITHOUT]
    if not alone or not refused:
        return []
    sentence = f"The kernel refuses io_uring: {several(alone)} cannot be opened over SMB."
    todo = "sysctl kernel.io_uring_disabled=0, or without io_uring: millrace share set NAME --no-io-uring"
    return [HealthFinding(check=NAME, kind="io-uring", level=Level.FAIL, sentence=sentence, todo=todo)]


_WITHOUT = ("mixed", "home")
