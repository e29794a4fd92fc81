# SPDX-License-Identifier: Apache-2.0
"""A version comes back as a snapshot of its share: from there files, directories and the share are restored as ever.

It is restored in a directory of root alone, where no client reaches it, and gets its name in one step.
"""

import os
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
from millrace.protect.snapshot.snapshot_thin import room
from millrace.serve.share import kept_snapshots, quota
from millrace.serve.share.client_snapshots import CROSSED
from millrace.serve.share.kept_snapshots import MANIFEST, SNAPSHOT_TREE
from millrace.serve.share.server import ShareServer
from millrace.system.command import command
from millrace.system.documents import parse_model, write_model
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.files import sync
from millrace.system.text import shown, size
from millrace.system.trees import nofollow

LATEST = "latest"


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
    version = _chosen(place.versions(), order.version or LATEST, place)
    manifest = _manifest(place, version)
    share, name = place.backup.share, f"{manifest.name.partition('-')[0]}-restored"
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
    own.mkdir(mode=CROSSED)
    (own / SNAPSHOT_TREE).mkdir(mode=0o700)
    if quota.enabled(place.mountpoint):
        with nofollow.directory(own / SNAPSHOT_TREE) as tree:
            place.tools.links.set_project(tree, PROJECTS + manifest.project)
    if manifest.type == "home" and share != SNAPSHOT_TREE:
        # the way of Samba to the home of a user (serve/share/client_snapshots.py)
        (own / share).symlink_to(SNAPSHOT_TREE)

    def line(text: str) -> None:
        value = restic_answers.message(text)
        if value is not None and value.get("message_type") == "status":
            writer(int(value.get("bytes_restored") or 0), int(value.get("total_bytes") or 0) or None, None)

    place.must(
        *("restore", f"{version.id}:{SNAPSHOT}/{SNAPSHOT_TREE}", "--target", WORK, "--no-lock"),
        access=ResticAccess(writes={WORK: own / SNAPSHOT_TREE}, owns=True),
        line=line,
    )
    changed = {"id": order.id, "share": share, "name": name, "kind": "restored", "by": order.by}
    write_model(own / MANIFEST, manifest.model_copy(update=changed), 0o600)
    _add(place, own, snapshots, share, name)
    return [
        f"version {version.id[:8]} is restored as the snapshot {share}@{name}",
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
        return versions[-1]
    matching = [version for version in versions if len(wanted) >= 8 and version.id.startswith(wanted)]
    if len(matching) != 1:
        raise Refused(f"there is no version {shown(wanted)}: {command('millrace backup versions', place.backup.name)}")
    return matching[0]


def _manifest(place: BackupPlace, version: ResticVersion) -> SnapshotManifest:
    """Return the manifest that a version has beside its tree. Failed: it has none that can be read."""
    said = place.must("dump", version.id, f"{SNAPSHOT}/{MANIFEST}", "--no-lock")
    try:
        manifest = parse_model(
            said[said.find("{") :], kept_snapshots.top(place.mountpoint) / MANIFEST, SnapshotManifest
        )
    except BadInput as error:
        raise Failed(f"version {version.id[:8]} has no manifest of a snapshot that can be read") from error
    # its name becomes a part of a path
    if manifest.name != restic_answers.tagged(version, "snapshot"):
        raise Failed(f"version {version.id[:8]} has the manifest of another snapshot")
    return manifest
