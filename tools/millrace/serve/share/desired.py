# SPDX-License-Identifier: Apache-2.0
"""The shares that should exist: the desired state, with the networks, paths and identities of this server."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID, uuid5

from millrace.plan.policy.model import Policy
from millrace.plan.policy.policy_in_force import in_force
from millrace.serve.config import store
from millrace.serve.config.model import ADMIN, Config, DesiredShare
from millrace.serve.config.protocols import NfsClient
from millrace.serve.share import client_snapshots
from millrace.serve.share.direct import ports as direct_ports
from millrace.serve.share.model import DirectAccess, Share, SmbAccess
from millrace.serve.share.networks import CLOSED, NO_NETWORK, nfs_networks, smb_networks
from millrace.storage.record.model import Pool
from millrace.system import net
from millrace.system.net import Interface

ADMIN_UID = 1000
NOBODY = "admin cannot sign in over it, as nothing counts wrong passwords there: name another user or a group"


@dataclass(frozen=True)
class ServerContext:
    """What a share is filled in from. `networks` are the client networks of the policy.

    `no_direct` is why this server serves nothing over SMB Direct.
    """

    mountpoint: str
    filesystem_uuid: UUID
    networks: list[str]
    privileged_ports: bool
    ports: Sequence[Interface] = field(default_factory=list)
    no_direct: str | None = None


def server_context(pool: Pool, policy: Policy, ports: Sequence[Interface]) -> ServerContext:
    """Return the context of this server; `ports` are where clients can reach it."""
    return ServerContext(
        mountpoint=pool.filesystem.mountpoint,
        filesystem_uuid=UUID(pool.filesystem_uuid),
        networks=policy.nfs.networks,
        privileged_ports=policy.nfs.privileged_ports,
        ports=ports,
        no_direct=direct_ports.obstacle(policy.smb_direct),
    )


def resolve(wanted: DesiredShare, config: Config, context: ServerContext) -> Share:
    """Return one share with all computed values."""
    exports = _exports(wanted, nfs_networks(context.networks, config.nfs.networks))
    direct = _direct(wanted, context)
    ruled = wanted.type in ("dataset-ro", "home")
    group = config.group(wanted.group) if wanted.group else None
    smb = _smb(wanted, smb_networks(context.networks, config.nfs.networks, context.ports, config.management))
    return Share(
        name=wanted.name,
        path=f"{context.mountpoint}/{wanted.name}",
        type=wanted.type,
        comment=wanted.comment,
        project=wanted.project,
        size=wanted.size,
        soft_size=wanted.soft_size,
        nfs=wanted.nfs.enabled,
        networks=[export.client for export in exports],
        exports=exports,
        privileged_ports=context.privileged_ports,
        # The same after a move to other drives' slots, another when the pool was made again.
        fsid=wanted.fsid or uuid5(context.filesystem_uuid, wanted.name),
        smb=smb,
        homes=_homes(wanted, config) if wanted.type == "home" else {},
        obstacle=_obstacle(wanted, exports, smb) or (direct.obstacle if direct else None),
        sealed=wanted.sealed,
        child_size=wanted.child_size,
        direct=direct,
        writing=None if ruled else wanted.writing,
        group=None if ruled else wanted.group,
        gid=None if ruled or group is None else group.gid,
        snapshots=wanted.snapshots,
        exported_snapshots=client_snapshots.directory(context.mountpoint, wanted.name)
        if exports and wanted.nfs.snapshots
        else None,
        # without root they could not read the files of all users
        readers=[
            NfsClient(client=reader.address, access="ro", squash="none", xprtsec=["mtls"]) for reader in wanted.readers
        ],
        read_snapshots=client_snapshots.directory(context.mountpoint, wanted.name) if wanted.readers else None,
        replica_of=None if wanted.replica is None else wanted.replica.place,
    )


def resolve_all(config: Config, context: ServerContext) -> list[Share]:
    """Return all shares with all computed values."""
    return [resolve(one, config, context) for one in config.shares]


def shares(pool: Pool, ports: Sequence[Interface] | None = None, config: Config | None = None) -> list[Share]:
    """Return all shares of `pool` under this server's policy and addresses; `config` None reads the desired state."""
    found = net.serving() if ports is None else ports
    return resolve_all(config or store.load(), server_context(pool, in_force(), found))


def _obstacle(wanted: DesiredShare, exports: Sequence[NfsClient], smb: SmbAccess | None) -> str | None:
    if wanted.nfs.enabled and not exports:
        return CLOSED
    return NO_NETWORK if smb is not None and not smb.networks else None


def _exports(wanted: DesiredShare, networks: Sequence[str]) -> list[NfsClient]:
    if not wanted.nfs.enabled:
        return []
    if wanted.type == "dataset-ro":
        default = [NfsClient(client=network, access="ro") for network in networks]
    else:
        default = [NfsClient(client=network) for network in networks]
    return list(wanted.nfs.clients) or default


def _smb(wanted: DesiredShare, networks: list[str]) -> SmbAccess | None:
    if not wanted.smb.enabled or wanted.smb.direct:
        return None
    return SmbAccess(
        users=list(wanted.smb.users),
        groups=list(wanted.smb.groups),
        networks=list(wanted.smb.networks) or networks,
        # A home is private on its way, too.
        encryption="required" if wanted.type == "home" else wanted.smb.encryption,
        time_machine=wanted.smb.time_machine,
        io_uring=wanted.smb.io_uring,
        audit=wanted.smb.audit,
        previous_versions=wanted.smb.previous_versions,
    )


def _direct(wanted: DesiredShare, context: ServerContext) -> DirectAccess | None:
    if not wanted.smb.enabled or not wanted.smb.direct:
        return None
    users, groups = [user for user in wanted.smb.users if user != ADMIN], list(wanted.smb.groups)
    return DirectAccess(users=users, groups=groups, obstacle=context.no_direct or (None if users or groups else NOBODY))


def _homes(wanted: DesiredShare, config: Config) -> dict[str, int]:
    allowed = set(wanted.smb.groups)
    homes = {ADMIN: ADMIN_UID} if ADMIN in wanted.smb.users else {}
    for user in config.users:
        if user.name in wanted.smb.users or allowed & set(user.groups):
            homes[user.name] = user.uid
    return homes
