# SPDX-License-Identifier: Apache-2.0
"""The pairing of two servers for a replica: an administrator of each side confirms the CA of the other one.

The source lets the replica's address read the snapshots of one share, with a certificate of that CA. It gets nothing
that opens the replica. The replica knows the source by the CA of its certificate.
"""

import pwd
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

from millrace.protect.replica import file_list
from millrace.protect.replica.file_list import FILE_LIST, FileListHeader, LiveSnapshot, OwnerNames, SourceShare
from millrace.protect.replica.replica_model import ReplicaCertificate, ReplicaChange
from millrace.protect.snapshot import snapshot_job
from millrace.protect.snapshot.snapshot_plan import UPKEEP
from millrace.protect.snapshot.snapshot_schedule import made_at
from millrace.protect.snapshot.snapshot_store import SnapshotStore
from millrace.serve.certificate import files, pem, trust, x509
from millrace.serve.certificate.trust import SHORTEST
from millrace.serve.config import store
from millrace.serve.config.model import ADMIN, Config, DesiredShare
from millrace.serve.config.replica import SnapshotReader
from millrace.serve.share import edit
from millrace.serve.share.kept_snapshots import SNAPSHOT_TREE
from millrace.serve.share.server import ShareServer
from millrace.system.documents import checked
from millrace.system.errors import BadInput, MillraceError, Refused
from millrace.system.files import describe
from millrace.system.text import shown
from millrace.system.trees import nofollow
from millrace.system.users import only_root


def certificate() -> ReplicaCertificate:
    """Return the CA of this server, for `millrace replica allow` on a source. Refused: there is none yet."""
    only_root()
    files.require_current()
    text = files.own_authorities()
    return ReplicaCertificate(fingerprint=x509.describe(pem.certificates(text)[0]).fingerprint, authority=text)


def confirmed(text: str, given: str | None, ask: Callable[[str], str]) -> str:
    """Return the fingerprint of the first CA of a PEM text, once its first digits were repeated.

    `ask` is called for them where they are not `given`. BadInput: the text has no CA, or the digits are others.
    """
    bundle = pem.split(text)
    if not bundle.certificates or bundle.keys:
        raise BadInput("the input is no CA: provide the PEM text of the other server's CA, and no key")
    described = x509.describe(bundle.certificates[0])
    if not described.authority:
        raise BadInput(f"{described.subject} is not a CA certificate (CA:TRUE): provide the CA of the other server")
    typed = ask(described.fingerprint) if given is None else given
    digits = typed.replace(":", "").strip().upper()
    if len(digits) < SHORTEST or not described.fingerprint.replace(":", "").startswith(digits):
        raise BadInput(
            f"{shown(typed)} is not the beginning of the fingerprint {described.fingerprint}: nothing was changed"
        )
    return described.fingerprint


def allow(share: str, address: str, text: str, fingerprint: str, server: Callable[[], ShareServer]) -> ReplicaChange:
    """Let the server at an address read the snapshots of a share, with a certificate of this CA, and nothing more.

    BadInput: a name or an address is none. Refused: there is no such share, it is a replica, or it is not served.
    """
    only_root()
    reader = checked(lambda: SnapshotReader(address=address, fingerprint=fingerprint))
    if snapshot_job.present(store.load(), share).replica is not None:
        raise Refused(
            f"share {share} is a replica itself, and there is no replica of a replica: allow it at its source"
        )
    trust.add(text)

    def mutate(config: Config) -> Config:
        before = snapshot_job.present(config, share)
        others = [each for each in before.readers if each.address != reader.address]
        return _with(config, before.model_copy(update={"readers": [*others, reader]}))

    host = server()
    report = edit.change([share], f"replica allow {share} {reader.address}", mutate, lambda: host)
    # the newest snapshot gets its list now; else within a quarter of an hour
    host.run(["systemctl", "start", "--no-block", UPKEEP])
    done = [f"{reader.address} may read the snapshots of {share}, with a certificate of the CA {fingerprint}"]
    return ReplicaChange(share=share, done=done, warnings=report.warnings)


def deny(share: str, address: str, server: Callable[[], ShareServer]) -> ReplicaChange:
    """Take that from a server again, and no longer trust its CA where no other share names it.

    Refused: it may not read them. BadInput: `share` is no name.
    """
    only_root()
    reader = next((each for each in snapshot_job.present(store.load(), share).readers if each.address == address), None)
    if reader is None:
        raise Refused(f"{shown(address)} may not read the snapshots of {share}: millrace replica list")

    def mutate(config: Config) -> Config:
        before = snapshot_job.present(config, share)
        return _with(
            config, before.model_copy(update={"readers": [each for each in before.readers if each.address != address]})
        )

    report = edit.change([share], f"replica deny {share} {address}", mutate, server)
    used = {each.fingerprint for other in store.load().shares for each in other.readers}
    if reader.fingerprint not in used:
        with suppress(BadInput, Refused):
            trust.remove(reader.fingerprint)
    done = [f"{address} no longer reads the snapshots of {share}"]
    return ReplicaChange(share=share, done=done, warnings=report.warnings)


def offer(server: ShareServer) -> list[str]:
    """List the files of the newest snapshot of each share that has a replica; return in words what was done.

    What cannot be listed is said, and the others are listed.
    """
    snapshots, done = SnapshotStore(server.pool.filesystem.mountpoint), list[str]()
    config = store.load()
    for share in config.shares:
        if share.readers:
            try:
                done += _list_newest(share, snapshots, config)
            except (MillraceError, OSError) as error:
                why = describe(error) if isinstance(error, MillraceError) else error.strerror
                done.append(f"the newest snapshot of {share.name} has no list for its replicas: {why}")
    return done


def _list_newest(share: DesiredShare, snapshots: SnapshotStore, config: Config) -> list[str]:
    rows = [row for row in snapshots.rows(config, share.name) if row.manifest is not None and not row.former]
    now = datetime.now(UTC)
    # not by its name alone: one of a clock that was ahead would be the newest until then
    timed = [(made, row.name, row.manifest) for row in rows if (made := made_at(row.name, now)) is not None]
    manifest = max(timed, key=lambda each: each[:2])[2] if timed else None
    if manifest is None:
        return []
    place = snapshots.place(share.name, manifest.name)
    if (place / FILE_LIST).exists():
        return []
    live = [
        LiveSnapshot(share=share.name, name=row.name, id=row.manifest.id) for row in rows if row.manifest is not None
    ]
    header = FileListHeader(id=manifest.id, share=share.name, name=manifest.name, live=live, settings=_settings(share))
    with nofollow.directory(place) as directory, nofollow.directory(SNAPSHOT_TREE, directory) as tree:
        end = file_list.write(tree, header, place / FILE_LIST, _names(config))
    return [f"{share.name}@{manifest.name} has a list of {end.entries} files and directories for its replicas"]


def _settings(share: DesiredShare) -> SourceShare:
    return SourceShare(
        type=share.type,
        size=share.size,
        soft_size=share.soft_size,
        smb_users=share.smb.users,
        smb_groups=share.smb.groups,
        nfs=share.nfs.enabled,
        smb=share.smb.enabled,
        group=share.group,
        writing=share.writing,
    )


def _names(config: Config) -> OwnerNames:
    users = {user.uid: user.name for user in config.users}
    with suppress(KeyError):
        users[pwd.getpwnam(ADMIN).pw_uid] = ADMIN
    return OwnerNames(users, {group.gid: group.name for group in config.groups})


def _with(config: Config, after: DesiredShare) -> Config:
    return config.model_copy(update={"shares": [after if each.name == after.name else each for each in config.shares]})
