# SPDX-License-Identifier: Apache-2.0
"""The share contract (`millrace share list --json`): the desired state with everything filled in that is computed."""

from typing import Literal
from uuid import UUID

from pydantic import Field

from millrace.serve.config.choices import ShareType, Writing
from millrace.serve.config.protocols import NfsClient
from millrace.serve.config.schedule import SnapshotSchedule
from millrace.system.documents import Contract, Count


class SmbAccess(Contract):
    """Users and groups that may open a share over SMB. `networks` in CIDR form; without one no client can reach it.

    `audit` is whether Samba records who opens and changes files, `previous_versions` whether clients see snapshots.
    """

    users: list[str]
    groups: list[str]
    networks: list[str]
    encryption: Literal["offered", "required"]
    time_machine: bool
    io_uring: bool
    audit: bool = False
    previous_versions: bool = False


class DirectAccess(Contract):
    """Users and groups that may open a share over SMB Direct, from every machine that reaches the RDMA ports.

    `obstacle` is why the server does not serve it.
    """

    users: list[str]
    groups: list[str]
    obstacle: str | None


class Share(Contract):
    """One directory of the pool that clients mount.

    `nfs` is whether it is for NFS. `networks` are the clients of its export; none means that it is not exported, and
    `obstacle` is why if it should be. `fsid` identifies it in NFS file handles: it must never change while clients have
    it mounted. Sizes in bytes; `used` is null where quotas are off or were not read. `homes` are the directories for
    users below it, with their numbers. `sealed`: it stays read-only until an administrator unseals it. `child_size`
    limits each directory at its top, in bytes; `used` counts these, too. `direct` is who may open it over SMB Direct;
    it is not on Samba then, and `smb` is null. `writing` is who may write, null where the type has a rule of its own;
    `group` are the users who write, `gid` is its number, null where a domain knows it. `snapshots` is its schedule,
    `exported_snapshots` the directory of its snapshots where NFS clients may read them, `read_snapshots` where other
    servers, `readers`, may. `replica_of` is the share of another server that it is a replica of, as ADDRESS:SHARE.
    """

    name: str
    path: str
    type: ShareType
    comment: str
    project: int
    size: int | None
    soft_size: int | None
    used: int | None = None
    nfs: bool
    networks: list[str]
    exports: list[NfsClient]
    privileged_ports: bool
    fsid: UUID
    smb: SmbAccess | None
    homes: dict[str, int]
    obstacle: str | None
    sealed: bool = False
    child_size: int | None = None
    direct: DirectAccess | None = None
    writing: Writing | None = "own"
    group: str | None = None
    gid: int | None = None
    snapshots: SnapshotSchedule | None = None
    exported_snapshots: str | None = None
    readers: list[NfsClient] = Field(default_factory=list)
    read_snapshots: str | None = None
    replica_of: str | None = None

    @property
    def kerberos(self) -> bool:
        """Whether a client may use NFS with Kerberos."""
        return any(set(one.sec) != {"sys"} for one in self.exports)

    @property
    def both(self) -> bool:
        """Whether two protocols write one tree. facts: NFS writers do not break leases of SMB."""
        return self.nfs and self.smb is not None and self.type != "dataset-ro"


Denials = Literal["kept", "refused", "dropped"]
"""What becomes of an entry that denies access, in an access list that an SMB client sets."""


Caching = Literal["clients", "none"]
"""Whether SMB clients may keep what they read and write: by leases and durable handles, or not at all."""


class ShareConnection(Contract):
    """One SMB client that has a share open. `since` is ISO 8601 with its zone; `files` the number of its open files."""

    host: str
    user: str
    since: str
    files: int


class OpenFile(Contract):
    """A file that an SMB client has open: its path below the share, the user, and whether it was opened to write."""

    path: str
    user: str
    writing: bool


class ShareConnections(Contract):
    """SMB clients of one share. `files` are some of the `open_files` files that they have open."""

    clients: list[ShareConnection]
    files: list[OpenFile]
    open_files: int


class FoundNetwork(Contract):
    """A network that `port` of this server is in, which is not for management.

    `leased`: DHCP or a router gave the address; the network is confirmed only by naming it. `proposed` ones are private
    and of fixed addresses.
    """

    network: str
    port: str
    leased: bool
    proposed: bool


class ClientNetworks(Contract):
    """`millrace share networks list`: to which networks NFS is exported where a share names no clients.

    `policy` are those of the policy, which win; `confirmed` those that an administrator confirmed. None in both means
    that NFS is closed. `found` are the networks of this server's ports.
    """

    schema_version: Literal[1] = 1
    policy: list[str]
    confirmed: list[str]
    found: list[FoundNetwork]


class RenderReport(Contract):
    """What `millrace share render` changed: file paths, and services that were reloaded.

    `drift` names files that were edited by hand: kept as they are, or replaced and a copy kept.
    """

    schema_version: Literal[1] = 1
    changed: list[str]
    reloaded: list[str]
    warnings: list[str]
    drift: list[str] = Field(default_factory=list)


class ChangeReport(Contract):
    """The result of a change of the shares `names`. `share` is null where it was removed, or several were created."""

    schema_version: Literal[1] = 1
    serial: int
    share: Share | None
    names: list[str]
    verified: list[str]
    warnings: list[str]


class Preview(Contract):
    """What a change with `--dry-run` would serve: the share, its lines of exports(5) and of smb.conf(5).

    Where several would be created `share` is the first, and the lines are those of all.
    """

    schema_version: Literal[1] = 1
    share: Share
    exports: list[str]
    smb: list[str]


class ShareVerification(Contract):
    """Whether one share is served as it should be: what was verified, and the first thing that is wrong, or null.

    `files` are files that SMB clients cannot see, open or tell apart, in sentences.
    """

    name: str
    seen: list[str]
    problem: str | None
    files: list[str] = Field(default_factory=list)


class KeptVerification(Contract):
    """The last verification of a share, by a change or by `millrace share verify`; `at` is ISO 8601 in UTC."""

    at: str
    result: ShareVerification


class KeptVerifications(Contract):
    """The last verification of each share, as a server keeps them."""

    schema_version: Literal[1] = 1
    verifications: list[KeptVerification]


class ShareDetails(Contract):
    """One share; `writers` is who may write, in words.

    `caching` is whether SMB clients may cache, null without Samba. `connections` are its SMB clients, null where they
    cannot be read, `problem` is why: only root can. `verification` is the last one, null where there was none.
    `denials` is what becomes of entries that deny access; null where no SMB client sets access lists.

    `owner`, `group` and `mode` (octal) are those of its directory, null where it cannot be read; `follows` is whether
    they are those of the rule for writing, access lists included; null where that cannot be read.
    """

    schema_version: Literal[1] = 1
    share: Share
    writers: str
    owner: str | None
    group: str | None
    mode: str | None
    follows: bool | None
    denials: Denials | None = None
    caching: Caching | None = None
    connections: ShareConnections | None = None
    problem: str | None = None
    verification: KeptVerification | None = None


class ShareList(Contract):
    """All shares of this server, and the last verification of each that was verified."""

    schema_version: Literal[1] = 1
    shares: list[Share]
    verifications: list[KeptVerification] = Field(default_factory=list)


AccessAction = Literal["read", "opened to write", "created", "renamed", "deleted", "permissions changed"]


class ShareLogEntry(Contract):
    """What one user did with one file over SMB; `target` is the new name of a renamed file.

    `at` is ISO 8601 in UTC; paths are below the share.
    """

    at: str
    user: str
    host: str
    action: AccessAction
    path: str
    target: str | None


class ShareLogLoss(Contract):
    """`lines` of the SMB server that journald dropped before `at`."""

    at: str
    lines: Count


class ShareLog(Contract):
    """`millrace share log`: the newest entries, oldest first. `audit` is whether accesses are recorded now.

    `lost` is what journald dropped since the first of them.
    """

    schema_version: Literal[1] = 1
    share: str
    audit: bool
    entries: list[ShareLogEntry]
    lost: list[ShareLogLoss]


class DisconnectReport(Contract):
    """The result of `millrace share disconnect`: how many SMB clients had the share open."""

    schema_version: Literal[1] = 1
    share: str
    clients: int


class VerifyReport(Contract):
    """The result of `millrace share verify`."""

    schema_version: Literal[1] = 1
    shares: list[ShareVerification]


class SidReport(Contract):
    """The result of `millrace share repair-sid`: the SID of the machine, and whether Samba had another one.

    `restarted`: smbd restarts, which ends sessions. `right` is the number of files that name their owner by it;
    `replaced` of files that named the owner by a former SID; `held` of files that clients hold, which were left.
    """

    schema_version: Literal[1] = 1
    sid: str
    set_back: bool
    restarted: bool
    right: int
    replaced: dict[str, int]
    held: int = 0
