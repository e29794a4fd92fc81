# SPDX-License-Identifier: Apache-2.0
"""The pairing of two servers for a replica: an administrator of each side confirms the CA of the other one.

The source lets the replica's address read the snapshots of one share, with a certificate of a trusted CA, which that
one becomes. It gets nothing that opens the replica. The replica knows the source by the CA of its certificate.
"""

import pwd
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from ipaddress import ip_address

from millrace.plan.policy import policy_in_force
from millrace.protect.replica import file_list
from millrace.protect.replica.file_list import FILE_LIST, FileListHeader, LiveSnapshot, OwnerNames, SourceShare
from millrace.protect.replica.replica_model import ReplicaCertificate, ReplicaChange
from millrace.protect.snapshot import snapshot_job
from millrace.protect.snapshot.snapshot_plan import UPKEEP
from millrace.protect.snapshot.snapshot_schedule import made_at
from millrace.protect.snapshot.snapshot_store import SnapshotStore
from millrace.serve.certificate import files, pem, trust, x509
from millrace.serve.config import store
from millrace.serve.config.model import ADMIN, Config, DesiredShare
from millrace.serve.config.protocols import NfsClient
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

DIGITS = 32
"""Hexadecimal digits of a fingerprint that confirm a CA: nobody makes another one that begins with them."""


def certificate() -> ReplicaCertificate:
    """Return the CA of this server, for `millrace replica allow` on a source. Refused: there is none yet.

    Not the next one beside it: an administrator confirms one certificate by its fingerprint.
    """
    only_root()
    files.require_current()
    text = pem.certificates(files.authority()[0].read_text())[0]
    return ReplicaCertificate(fingerprint=x509.describe(text).fingerprint, authority=text)


def confirmed(text: str, given: str | None, ask: Callable[[str], str]) -> str:
    """Return the fingerprint of the CA of a PEM text, once its first digits were repeated.

    `ask` is called for them where they are not `given`. BadInput: the text is not exactly one CA, or the digits are
    others.
    """
    bundle = pem.split(text)
    if not bundle.certificates or bundle.keys:
        raise BadInput("the input is no CA: provide the PEM text of the other server's CA, and no key")
    if len(bundle.certificates) != 1:
        raise BadInput(
            f"the input has {len(bundle.certificates)} certificates, and one fingerprint confirms one: provide the CA "
            "alone, as millrace replica certificate prints it on the other server"
        )
    described = x509.describe(bundle.certificates[0])
    if not described.authority:
        raise BadInput(f"{described.subject} is not a CA certificate (CA:TRUE): provide the CA of the other server")
    typed = ask(described.fingerprint) if given is None else given
    digits = typed.replace(":", "").strip().upper()
    if len(digits) < DIGITS or not described.fingerprint.replace(":", "").startswith(digits):
        raise BadInput(
            f"{shown(typed)} is not the beginning of the fingerprint {described.fingerprint}, {DIGITS} digits or more: "
            "nothing was changed"
        )
    return described.fingerprint


def allow(share: str, address: str, text: str, fingerprint: str, server: Callable[[], ShareServer]) -> ReplicaChange:
    """Let the server at an address read the snapshots of a share over mutual TLS, and trust this CA for that.

    nfsd knows clients by their addresses, and tlshd by any trusted CA: neither ties this CA to this address. `warnings`
    say where that opens more. BadInput: a name or an address is none. Refused: there is no such share, it is a replica,
    it is not served, or the CA has ended.
    """
    only_root()
    reader = checked(lambda: SnapshotReader(address=address, fingerprint=fingerprint))
    if snapshot_job.present(store.load(), share).replica is not None:
        raise Refused(
            f"share {share} is a replica itself, and there is no replica of a replica: allow it at its source"
        )
    config = store.load()
    known = [each.fingerprint for each in trust.trusted().trusted]
    ours = any(each.fingerprint == fingerprint and each.is_added for other in config.shares for each in other.readers)
    reader = reader.model_copy(update={"is_added": ours or fingerprint not in known})
    earlier = snapshot_job.present(config, share).readers

    def mutate(config: Config) -> Config:
        others = [each for each in snapshot_job.present(config, share).readers if each.address != reader.address]
        return _reading(config, share, [*others, reader])

    host, what = server(), f"replica allow {share} {reader.address}"
    report = edit.change([share], what, mutate, lambda: host)
    try:
        # after the reader is recorded: what is trusted for it is known
        trust.add(text)
    except MillraceError:
        edit.change([share], f"{what} undone", lambda config: _reading(config, share, earlier), lambda: host)
        raise
    _distrust([each for each in earlier if each.address == reader.address])
    # the newest snapshot gets its list now; else within a quarter of an hour
    host.run(["systemctl", "start", "--no-block", UPKEEP])
    done = [
        f"{reader.address} may read the snapshots of {share} over mutual TLS",
        f"the CA {fingerprint} is trusted for certificates of clients",
    ]
    return ReplicaChange(share=share, done=done, warnings=[*report.warnings, *_opened(store.load(), reader, known)])


def _opened(config: Config, reader: SnapshotReader, known: list[str]) -> Iterator[str]:
    """Say what the trust opens beside the snapshots; `known` are the CAs of before, that of the server first."""
    named = {each.fingerprint for share in config.shares for each in share.readers}
    if others := [each for each in known[1:] if each not in named]:
        yield (
            f"{len(others)} other CAs are trusted: a computer with the address {reader.address} and a certificate of "
            "one of them reads the snapshots, too: millrace certificate trust list"
        )
    mutual = [share.name for share in config.shares if any("mtls" in each.xprtsec for each in share.nfs.clients)]
    if mutual:
        yield (
            f"clients of share {', '.join(mutual)} may show a certificate of the CA of {reader.address}, too: limit "
            "the addresses of its NFS clients"
        )


def deny(share: str, address: str, server: Callable[[], ShareServer]) -> ReplicaChange:
    """Take that from a server again, and no longer trust its CA where that was for replicas alone, and none is left.

    Refused: it may not read them. BadInput: `share` is no name.
    """
    only_root()
    readers = snapshot_job.present(store.load(), share).readers
    reader = next((each for each in readers if each.address == _spelled(address)), None)
    if reader is None:
        raise Refused(f"{shown(address)} may not read the snapshots of {share}: millrace replica list")
    address = reader.address

    def mutate(config: Config) -> Config:
        others = [each for each in snapshot_job.present(config, share).readers if each.address != address]
        return _reading(config, share, others)

    report = edit.change([share], f"replica deny {share} {address}", mutate, server)
    _distrust([reader])
    done = [f"{address} no longer reads the snapshots of {share}"]
    return ReplicaChange(share=share, done=done, warnings=report.warnings)


def _distrust(readers: list[SnapshotReader]) -> None:
    """Remove the CAs of servers that read nothing more, where they were trusted for that and no reader has them."""
    used = {each.fingerprint for share in store.load().shares for each in share.readers}
    for fingerprint in {each.fingerprint for each in readers if each.is_added} - used:
        with suppress(BadInput, Refused):
            trust.remove(fingerprint)


def _spelled(address: str) -> str:
    """An address in the one spelling that is stored; another text as it is."""
    with suppress(ValueError):
        return str(ip_address(address))
    return address


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
        smb_networks=share.smb.networks,
        smb_encryption=share.smb.encryption,
        smb_audit=share.smb.audit,
        child_size=share.child_size,
        nfs_clients=[_words(client) for client in share.nfs.clients],
        privileged_ports=policy_in_force.in_force().nfs.privileged_ports,
        group=share.group,
        writing=share.writing,
    )


def _words(client: NfsClient) -> str:
    """An NFS client as `millrace share set --nfs-client` takes it."""
    numbers = {"anonuid": client.anonuid, "anongid": client.anongid}
    words = [client.client, f"access={client.access}", f"squash={client.squash}", f"sec={':'.join(client.sec)}"]
    words += [f"{key}={number}" for key, number in numbers.items() if number is not None]
    return " ".join([*words, *([f"xprtsec={':'.join(client.xprtsec)}"] if client.xprtsec else [])])


def _names(config: Config) -> OwnerNames:
    users = {user.uid: user.name for user in config.users}
    with suppress(KeyError):
        users[pwd.getpwnam(ADMIN).pw_uid] = ADMIN
    return OwnerNames(users, {group.gid: group.name for group in config.groups})


def _reading(config: Config, share: str, readers: list[SnapshotReader]) -> Config:
    after = snapshot_job.present(config, share).model_copy(update={"readers": readers})
    return config.model_copy(update={"shares": [after if each.name == after.name else each for each in config.shares]})
