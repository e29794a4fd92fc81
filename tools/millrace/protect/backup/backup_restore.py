# SPDX-License-Identifier: Apache-2.0
"""A version comes back as a snapshot of its share: from there files, directories and the share are restored as ever.

It is restored in a directory of root alone, where no client reaches it, and gets its name in one step.
"""

import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime

from millrace.protect.backup import backup_target, restic_answers
from millrace.protect.backup.backup_job import BackupWriter
from millrace.protect.backup.backup_model import BackupOrder, BackupVersion
from millrace.protect.backup.backup_place import BackupPlace
from millrace.protect.backup.restic_answers import ResticVersion
from millrace.protect.backup.restic_unit import SNAPSHOT, WORK, ResticAccess
from millrace.protect.snapshot import snapshot_counts, snapshot_job
from millrace.protect.snapshot.snapshot_model import SnapshotManifest
from millrace.protect.snapshot.snapshot_run import FLOOR, PROJECTS
from millrace.protect.snapshot.snapshot_store import NEW, SnapshotStore
from millrace.protect.snapshot.snapshot_thin import inodes, room
from millrace.serve.config import store
from millrace.serve.share import kept_snapshots, quota
from millrace.serve.share.client_snapshots import CROSSED, PRIVATE, reached_by_root
from millrace.serve.share.kept_snapshots import MANIFEST, SNAPSHOT_TREE
from millrace.serve.share.server import ShareServer
from millrace.system import posix_acl
from millrace.system.command import command
from millrace.system.documents import parse_model, write_model
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.files import sync
from millrace.system.names import snapshot_name
from millrace.system.text import shown, size
from millrace.system.trees import nofollow

LATEST = "latest"
FORMER = 0
"""The project of a snapshot of a former share, or of one of another server: no share has it."""


def listed(place: BackupPlace) -> list[BackupVersion]:
    """Return the versions in the repository, the oldest first. Failed: it cannot be read."""
    return [
        BackupVersion(
            id=version.id,
            share=restic_answers.tagged(version, "share") or "",
            snapshot=restic_answers.tagged(version, "snapshot") or "",
            time=version.time[:19] + "+00:00",
            files=version.summary.total_files_processed,
            bytes=version.summary.total_bytes_processed,
        )
        for version in place.versions()
    ]


def restore(place: BackupPlace, order: BackupOrder, server: ShareServer, writer: BackupWriter) -> list[str]:
    """Restore the version of an order as a snapshot; return that in words.

    Refused: there is no such version, it is here already, or the pool has no room. Failed: restic cannot restore it.
    """
    writer.begin("opens the repository")
    versions = place.versions()
    version = _chosen(versions, order.version or LATEST, place)
    manifest = _manifest(place, version)
    share, name = place.backup.share, f"{manifest.name.partition('-')[0]}-restored"
    project = _project(place, version, manifest, server)
    snapshots = SnapshotStore(place.mountpoint)
    if snapshots.place(share, name).exists():
        raise Refused(f"this version is restored already: {command('millrace snapshot browse', f'{share}@{name}')}")
    if version.summary.total_bytes_processed > room(FLOOR, place.mountpoint):
        raise Refused(
            f"less than {FLOOR} % of the pool would be free with {size(version.summary.total_bytes_processed)} of this "
            "version: remove files, or millrace snapshot remove"
        )
    writer.begin("restores")
    own = place.work / "restore" / name
    own.parent.mkdir(mode=0o700)
    # clients see it as one that was made here; one of a former share nobody
    own.mkdir(mode=PRIVATE if project == FORMER else CROSSED)
    (own / SNAPSHOT_TREE).mkdir(mode=0o700)
    if quota.enabled(place.mountpoint):
        with nofollow.directory(own / SNAPSHOT_TREE) as tree:
            place.tools.links.set_project(tree, PROJECTS + project)
    if manifest.type == "home" and share != SNAPSHOT_TREE:
        # the way of Samba to the home of a user (serve/share/client_snapshots.py)
        (own / share).symlink_to(SNAPSHOT_TREE)

    is_full = False

    def line(text: str) -> None:
        nonlocal is_full
        value = restic_answers.message(text)
        if value is not None and value.get("message_type") == "status":
            writer(int(value.get("bytes_restored") or 0), int(value.get("total_bytes") or 0) or None, None)
        if not is_full and _is_full(place.mountpoint):
            # what a version says of its size need not be so
            is_full = True
            server.run(["systemctl", "stop", "--no-block", f"{place.unit}.service"])

    restored = place.restic(
        # the tree is a name in what is restored: otherwise it would keep the owner and mode that it was made with
        *("restore", f"{version.id}:{SNAPSHOT}", "--include", f"/{SNAPSHOT_TREE}", "--target", WORK, "--no-lock"),
        # restic removes attributes that a version does not have
        *(word for name in posix_acl.XFS_NAMES for word in ("--exclude-xattr", name)),
        access=ResticAccess(writes={WORK: own}, owns=True),
        line=line,
    )
    if is_full:
        raise Refused(
            f"less than {FLOOR} % of the pool was free while the version was restored: remove files, or millrace "
            "snapshot remove"
        )
    if restored.status != 0:
        raise place.failure(restored)
    if not stat.S_ISDIR(os.lstat(own / SNAPSHOT_TREE).st_mode):
        # who writes to the repository chose what it is
        raise Failed(f"version {version.id[:8]} has no directory of files")
    changed = {"id": order.id, "share": share, "name": name, "kind": "restored", "by": order.by, "project": project}
    write_model(own / MANIFEST, manifest.model_copy(update=changed), 0o600)
    _add(place, own, snapshots, share, name)
    return [
        f"version {version.id[:8]} is restored as the snapshot {share}@{name}",
        *_newer(versions, version, order, place),
        f"to look: {command('millrace snapshot browse', f'{share}@{name}')}",
        f"the whole share as a new one: {command('millrace snapshot get', f'{share}@{name}', f'{share}-restored')}",
    ]


def _add(place: BackupPlace, own: os.PathLike[str], snapshots: SnapshotStore, share: str, name: str) -> None:
    """Give the restored snapshot its name, as one that was made here gets it."""
    with snapshot_job.lock():
        for directory in (snapshots.top, snapshots.stage, snapshots.stage / NEW):
            directory.mkdir(mode=0o700, exist_ok=True)
        snapshots.require_own()
        os.rename(own, snapshots.stage / NEW / name)
        sync(snapshots.stage / NEW)
        snapshots.add(share, name)
    snapshot_counts.write(place.mountpoint, datetime.now(UTC))


def _chosen(versions: list[ResticVersion], wanted: str, place: BackupPlace) -> ResticVersion:
    if not versions:
        raise Refused(f"the repository at {backup_target.words(place.backup.target)} has no version of a share")
    if wanted == LATEST:
        before = [version for version in versions if place.backup.attached and not _is_own(version, place)]
        return (before or versions)[-1]
    matching = [version for version in versions if len(wanted) >= 8 and version.id.startswith(wanted)]
    if len(matching) != 1:
        raise Refused(f"there is no version {shown(wanted)}: {command('millrace backup versions', place.backup.name)}")
    return matching[0]


def _is_own(version: ResticVersion, place: BackupPlace) -> bool:
    return restic_answers.tagged(version, "backup") == place.backup.id


def _newer(
    versions: list[ResticVersion], version: ResticVersion, order: BackupOrder, place: BackupPlace
) -> Iterator[str]:
    """Yield that there are newer versions, where nobody chose this one."""
    if order.version is None and version != versions[-1]:
        listed_by = command("millrace backup versions", place.backup.name)
        yield f"it is the newest one of before the repository was attached; for one that was sent since: {listed_by}"


def _project(place: BackupPlace, version: ResticVersion, manifest: SnapshotManifest, server: ShareServer) -> int:
    """Return the project of a snapshot: that of the share, or FORMER where the version may be of another share.

    Refused: it may be, and clients read all snapshots of this one as root.
    """
    config, share = store.load(), place.backup.share
    present = config.share(share)
    if present is None:
        return FORMER
    # another server gave out the same numbers
    is_ours = not place.backup.attached or _is_own(version, place)
    if is_ours and (manifest.share, manifest.project) == (share, present.project):
        return present.project
    if any(each.name == share and reached_by_root(each) for each in server.shares(config)):
        raise Refused(
            f"the version is of a former share or of another server, and clients read all snapshots of {share} as "
            f"root: squash root of its clients first ({command('millrace share show', share)})"
        )
    return FORMER


def _is_full(mountpoint: str) -> bool:
    left = inodes(FLOOR, mountpoint)
    return room(FLOOR, mountpoint) < 0 or (left is not None and left < 0)


def _manifest(place: BackupPlace, version: ResticVersion) -> SnapshotManifest:
    """Return the manifest that a version has beside its tree. Failed: it has none that can be read."""
    said = place.must("dump", version.id, f"{SNAPSHOT}/{MANIFEST}", "--no-lock")
    try:
        manifest = parse_model(
            said[said.find("{") :], kept_snapshots.top(place.mountpoint) / MANIFEST, SnapshotManifest
        )
    except BadInput as error:
        raise Failed(f"version {version.id[:8]} has no manifest of a snapshot that can be read") from error
    # its name becomes a part of a path: who writes to the repository chose it
    if snapshot_name.problem(manifest.name) is not None or manifest.name != restic_answers.tagged(version, "snapshot"):
        raise Failed(f"version {version.id[:8]} has the manifest of another snapshot")
    return manifest
