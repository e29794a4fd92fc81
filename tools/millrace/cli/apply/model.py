# SPDX-License-Identifier: Apache-2.0
"""The file that `millrace apply` reads: names of things and what is decided of them.

A key that is absent is not decided by the file. Numbers of users, groups and projects are none of its matters: this
server gives them out.
"""

from typing import Annotated, Literal

from pydantic import Field, WrapValidator

from millrace.observe.alert.addresses import route_name
from millrace.observe.alert.model import Clock
from millrace.plan.policy.model import Policy
from millrace.serve.config.choices import Encryption, ShareType, Writing
from millrace.serve.config.model import AccountName, Comment, FullName, PublicKey, ShareName
from millrace.serve.config.network import (
    MOST_ADDRESSES,
    BondMode,
    DesiredModel,
    DesiredRoute,
    HostAddress,
    HostName,
    LinkName,
    Mac,
    Mtu,
    PortAddress,
    VlanId,
)
from millrace.serve.config.protocols import Network, NfsClient, SmbAccount
from millrace.serve.config.schedule import SnapshotSchedule
from millrace.serve.revision.portable import NtHash, ShadowHash
from millrace.serve.share.options import SIZE
from millrace.system.roles import Role

NONE = "none"
DEFAULT = "default"

Size = Annotated[str, SIZE, Field(description="bytes as 500G or 10T (powers of 1024), or none")]
PortName = Annotated[str, Field(min_length=1, max_length=15)]
SecretFile = Annotated[
    str,
    Field(
        pattern=r"^/[ -~]{1,4000}$",
        description="absolute path of a file with the secret in its first line, readable for its owner only",
    ),
]


class ShareNfs(DesiredModel):
    """NFS of a share. `clients` is complete; an empty one follows the client networks of the server."""

    enabled: bool | None = None
    clients: list[NfsClient] | None = None
    snapshots: bool | None = None


class ShareSmb(DesiredModel):
    """SMB of a share. Each list is complete."""

    enabled: bool | None = None
    users: list[SmbAccount] | None = None
    groups: list[SmbAccount] | None = None
    networks: list[Network] | None = None
    encryption: Encryption | None = None
    time_machine: bool | None = None
    io_uring: bool | None = None
    direct: bool | None = None
    audit: bool | None = None
    previous_versions: bool | None = None


class ShareEntry(DesiredModel):
    """A share, `[shares.NAME]`. `snapshots` is a complete schedule, or `none`."""

    type: ShareType | None = None
    comment: Comment | None = None
    size: Size | None = None
    soft_size: Size | None = None
    child_size: Size | None = None
    writing: Writing | None = None
    group: SmbAccount | None = None
    snapshots: SnapshotSchedule | Literal["none"] | None = None
    nfs: ShareNfs = ShareNfs()
    smb: ShareSmb = ShareSmb()


class UserEntry(DesiredModel):
    """A user of shares, `[users.NAME]`.

    `password_file` is the password of a user who has none yet. `password_hash` (login, as in shadow(5)) and `smb_hash`
    (NT hash) are set wherever they differ.
    """

    groups: list[AccountName] | None = None
    password_file: SecretFile | None = None
    password_hash: ShadowHash | None = None
    smb_hash: NtHash | None = None


class GroupEntry(DesiredModel):
    """A group of users, `[groups.NAME]`; each user names its groups."""


class AccessEntry(DesiredModel):
    """An account that manages this server, `[access.NAME]`. `keys` are all its public SSH keys."""

    role: Role | None = None
    full_name: FullName | None = None
    keys: list[PublicKey] | None = None
    locked: bool | None = None
    password_file: SecretFile | None = None


class LinkEntry(DesiredModel):
    """A link. Where one of `addresses`, `gateway` and `dhcp` is there, the three are those of the file."""

    addresses: list[PortAddress] | None = Field(default=None, max_length=MOST_ADDRESSES)
    gateway: HostAddress | None = None
    dhcp: bool | None = None
    mtu: Mtu | Literal["default"] | None = None


class PortEntry(LinkEntry):
    """An Ethernet port, `[network.ports.NAME]`; `mac` where its name is another one here."""

    mac: Mac | None = None


class BondEntry(LinkEntry):
    """A bond, `[network.bonds.NAME]`, of ports by their names."""

    mode: BondMode | None = None
    members: list[PortName] | None = Field(default=None, min_length=1)


class VlanEntry(LinkEntry):
    """A VLAN, `[network.vlans.NAME]`, on a port or a bond."""

    vlan: VlanId | None = None
    parent: PortName | None = None


class NetworkEntry(DesiredModel):
    """The network. `management` are ports, by name or MAC address, that serve the
    web console only. Each list is complete."""

    dns: list[HostAddress] | None = None
    search: list[HostName] | None = None
    ntp: list[HostName] | None = None
    routes: list[DesiredRoute] | None = None
    management: list[PortName | Mac] | None = None
    ports: dict[PortName, PortEntry] | None = None
    bonds: dict[LinkName, BondEntry] | None = None
    vlans: dict[LinkName, VlanEntry] | None = None


class NfsEntry(DesiredModel):
    """NFS of all shares: the client networks that are confirmed."""

    networks: list[Network] | None = None


class RouteEntry(DesiredModel):
    """A route of alerts, `[alert_routes.NAME]`, described completely.

    `server` is HOST[:PORT] of a mail server or a syslog receiver, `host` that of a webhook. `secret_file` has the
    password of `user`, or the URL of the webhook. `ca` is PEM text.
    """

    kind: Literal["mail", "webhook", "syslog"]
    daily: Clock | None = None
    server: str | None = None
    security: Literal["starttls", "tls", "none"] | None = None
    sender: str | None = None
    recipients: list[str] | None = Field(default=None, min_length=1)
    user: str | None = None
    host: str | None = None
    ca: str | None = None
    secret_file: SecretFile | None = None


# Whether the keys of the file agree with those that it does not name is verified with these, not here.
PolicyEntry = Annotated[Policy, WrapValidator(lambda value, _: value)]


class ServerFile(DesiredModel):
    """The desired state of a server, as far as the file decides it."""

    schema_version: Literal[1] = 1
    network: NetworkEntry | None = None
    nfs: NfsEntry = NfsEntry()
    access: dict[AccountName, AccessEntry] | None = None
    groups: dict[AccountName, GroupEntry] | None = None
    users: dict[AccountName, UserEntry] | None = None
    shares: dict[ShareName, ShareEntry] | None = None
    alert_routes: dict[Annotated[str, route_name], RouteEntry] | None = None
    policy: PolicyEntry | None = None
