# SPDX-License-Identifier: Apache-2.0
"""The source of a replica as this server reads it: its snapshots, mounted read-only over NFS with mutual TLS.

The source is another server: what it offers is no more than input, and names in it lead nowhere else.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path

from millrace.protect.replica.file_list import FILE_LIST
from millrace.protect.snapshot.snapshot_model import SnapshotManifest
from millrace.protect.snapshot.snapshot_schedule import is_ahead, made_at
from millrace.serve.certificate import files
from millrace.serve.clone import copy_run
from millrace.serve.clone.copy_run import RemoteExport
from millrace.serve.config.model import Config
from millrace.serve.config.replica import ReplicaSource
from millrace.serve.share import client_snapshots, kept_snapshots
from millrace.serve.share.kept_snapshots import MANIFEST, SNAPSHOT_TREE
from millrace.serve.share.server import ShareServer
from millrace.system import ages, paths
from millrace.system.command import command
from millrace.system.documents import parse_model
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.files import write_text
from millrace.system.names import snapshot_name
from millrace.system.run import Runner, must
from millrace.system.trees import nofollow

# the copy of an export gives up in three minutes, too
OPTIONS = copy_run.OPTIONS.replace("proto=tcp", "proto=tcp,sec=sys,xprtsec=mtls")
_ID = re.compile("[0-9A-Za-z-]{1,64}")
SETS = {4: "replica_sources4", 6: "replica_sources6"}


@dataclass(frozen=True)
class OfferedSnapshot:
    """A snapshot of the source that has a list of its files. `directory` is open while the source is mounted."""

    name: str
    manifest: SnapshotManifest

    @property
    def moment(self) -> str:
        """When the share was like it, ISO 8601 in UTC."""
        return self.manifest.moment or self.manifest.last


def trust_sources(config: Config, run: Runner) -> None:
    """Let this server connect to the sources of its replicas, and to no others, and know them by their CAs.

    Failed: the firewall refuses it, or there is no certificate.
    """
    sources = [share.replica for share in config.shares if share.replica is not None]
    own = (files.current() / files.PEER).read_text() if files.find_current() is not None else ""
    write_text(files.sources(), "".join([own, *dict.fromkeys(source.authority for source in sources)]), mode=0o644)
    write_text(paths.replica_sources_file(), rules([source.address for source in sources]))
    must(run, ["nft", "-f", str(paths.replica_sources_file())])


def rules(addresses: list[str]) -> str:
    """Return what nft loads: the sources that NFS may leave this server to."""
    text = "# SPDX-License-Identifier: Apache-2.0\n# Written by millrace replica.\n"
    for version, name in SETS.items():
        named = sorted({str(address) for address in map(ip_address, addresses) if address.version == version})
        text += f"flush set inet millrace {name}\n"
        if named:
            text += f"add element inet millrace {name} {{ {', '.join(named)} }}\n"
    return text


@contextmanager
def mounted(source: ReplicaSource, server: ShareServer) -> Iterator[int]:
    """Mount the snapshots of the share and open their directory. Failed: the source does not let this server in."""
    # each server has its pool in the same place
    export = RemoteExport(source.address, client_snapshots.directory(server.pool.filesystem.mountpoint, source.share))
    where = paths.run_dir() / "replica/source"
    try:
        stack = copy_run.mounted(export, where, OPTIONS, server.run)
        directory = stack.__enter__()
    except Failed as error:
        allow = command("millrace replica allow", source.share)
        raise Failed(
            f"the snapshots of {source.place} cannot be read: the source must show a certificate of the CA "
            f"{source.fingerprint[:23]}…, and must allow this server ({allow} there): {error}"
        ) from error
    try:
        yield directory
    finally:
        stack.__exit__(None, None, None)


def offered(at: int) -> list[OfferedSnapshot]:
    """Return the snapshots of the mounted source that have a list, the oldest first. BadInput: a manifest was changed.

    Those whose time has yet to come are left out: the clock of the source was ahead when it made them, and the newest
    one by its name would be so until then. OSError, Failed: the source cannot be read.
    """
    now = datetime.now(UTC)
    timed = sorted((made, name) for name in _names(at) if (made := made_at(name, now)) is not None)
    offers = [each for _, name in timed if (each := _offered(name, at)) is not None]
    return [each for each in offers if not ages.is_ahead(each.moment, now)]


def _names(at: int) -> list[str]:
    return [name for name in os.listdir(at) if snapshot_name.problem(name) is None]


def _offered(name: str, at: int) -> OfferedSnapshot | None:
    with nofollow.directory(name, at) as directory:
        if FILE_LIST not in os.listdir(directory):
            return None
        try:
            content = nofollow.read_file(Path(MANIFEST), kept_snapshots.LARGEST, directory)
        except FileNotFoundError as error:
            raise BadInput(f"snapshot {name} of the source has no manifest") from error
    manifest = parse_model(content, Path(name) / MANIFEST, SnapshotManifest)
    if manifest.name != name:
        raise BadInput(f"snapshot {name} of the source has the manifest of another snapshot")
    _require_true(manifest)
    return OfferedSnapshot(name, manifest)


def _require_true(manifest: SnapshotManifest) -> None:
    """Verify what is believed here later, when the snapshot is one of this server. BadInput: it is no time or id."""
    try:
        for stored in (manifest.first, manifest.last, manifest.moment):
            if stored is not None:
                ages.when(stored)
    except ValueError as error:
        raise BadInput(f"a time of snapshot {manifest.name} of the source is none") from error
    if not _ID.fullmatch(manifest.id):
        raise BadInput(f"the id of snapshot {manifest.name} of the source is none")


@contextmanager
def opened(at: int, name: str) -> Iterator[tuple[int, int]]:
    """Open the directory of a snapshot of the mounted source, and its tree. Failed: one of them is none."""
    with nofollow.directory(name, at) as directory, nofollow.directory(SNAPSHOT_TREE, directory) as tree:
        yield directory, tree


def newest(at: int, source: ReplicaSource) -> OfferedSnapshot:
    """Return the newest snapshot of the mounted source that has a list.

    Refused: there is none yet. BadInput, Failed, OSError: as for `offered`.
    """
    offers = offered(at)
    if not offers:
        if ahead := next((name for name in _names(at) if is_ahead(name, datetime.now(UTC))), None):
            raise Refused(
                f"the time of snapshot {ahead} of {source.place} has yet to come by the clock of this server, and it "
                "has no other one with a list: verify the clocks of both servers (timedatectl), make a snapshot there"
            )
        made = command("millrace snapshot create", source.share)
        raise Refused(
            f"{source.place} has no snapshot with a list of its files yet: make one there ({made}); the source lists "
            "the newest one every 15 minutes"
        )
    return offers[-1]
