# SPDX-License-Identifier: Apache-2.0
"""The desired state (`/var/lib/millrace/config.json`): what administrators decide, and nothing that can be computed."""

from typing import Annotated, Any, Final, Literal, Self
from uuid import UUID

from pydantic import AfterValidator, Field, model_validator

from millrace.serve.config import domain_names
from millrace.serve.config.choices import ShareType, Writing
from millrace.serve.config.network import (
    DesiredLink,
    DesiredModel,
    DesiredNetwork,
    DesiredPort,
    HostAddress,
    Mac,
    first_duplicate,
)
from millrace.serve.config.protocols import Network, Nfs, Smb, SmbAccount
from millrace.serve.config.replica import ReplicaSource, SnapshotReader
from millrace.serve.config.schedule import SnapshotSchedule
from millrace.system import names, ssh_keys
from millrace.system.command import command
from millrace.system.roles import Role

SCHEMA: Final = 1
ADMIN = "admin"  # made at first boot, always an administrator; every share may name it

LAST_ADMINISTRATOR = (
    "this would be the end of the last administrator who can sign in: make another one first, "
    "millrace access create NAME --role administrator"
)
# Lines of a file that sshd reads at each sign-in.
MOST_KEYS = 50

# Below the numbers that administrators give out by hand, above those of packages and of the administrator.
FIRST_ID, LAST_ID = 2000, 59999
FIRST_PROJECT = 1001
# the number of the project of a directory has that of its share in its upper bits
LAST_WITH_CHILDREN = (1 << 15) - 1

# XFS counts quotas in KiB here; a limit below is a slip of the keyboard.
SMALLEST_LIMIT = 1 << 20

ShareName = Annotated[str, names.share_name]
AccountName = Annotated[str, names.account_name]
FullName = Annotated[str, names.full_name]
PublicKey = Annotated[str, AfterValidator(ssh_keys.normal)]
Realm = Annotated[str, domain_names.realm]
NetbiosName = Annotated[str, domain_names.netbios_name]
Comment = Annotated[str, names.comment]


def _limit(size: int) -> int:
    if size < SMALLEST_LIMIT:
        raise ValueError("the size of a limit is 1 MiB at least: write it like 500G or 10T")
    return size


AccountId = Annotated[int, Field(ge=FIRST_ID, le=LAST_ID)]
Bytes = Annotated[int, Field(lt=1 << 63), AfterValidator(_limit)]


class DesiredShare(DesiredModel):
    """One directory of the pool that clients mount.

    Sizes in bytes. `project` is its number for XFS quotas, given once. `fsid` is stored only where it must stay as it
    was elsewhere; else it follows from the file system and the name. `sealed`: no client writes it, and it is neither
    changed to be written nor removed before an administrator unseals it. `child_size` limits each directory at its top.
    `snapshots` are those that are made by themselves; None is none. `replica` is the share of another server that it is
    a replica of: nobody opens it before it is promoted. `readers` are servers that may read its snapshots.

    `writing` is who may write: all users of the share (`together`; with a `group` its members), each user their own
    files (`own`, also of a state from before there was this field), or the members of `group` while all others read
    (`some`). The types home and dataset-ro have rules of their own. `type` was `profile` in builds of 0.1.0 before its
    release, also on pools that they keep their state on.
    """

    name: ShareName
    type: ShareType
    comment: Comment = ""
    size: Bytes | None = None
    soft_size: Bytes | None = None
    project: int = Field(ge=FIRST_PROJECT, lt=1 << 31)
    fsid: UUID | None = None
    nfs: Nfs = Field(default_factory=Nfs)
    smb: Smb = Field(default_factory=lambda: Smb(users=[ADMIN]))
    sealed: bool = False
    child_size: Bytes | None = None
    writing: Writing = "own"
    group: SmbAccount | None = None
    snapshots: SnapshotSchedule | None = None
    replica: ReplicaSource | None = None
    readers: list[SnapshotReader] = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _of_earlier_releases(cls, values: Any) -> Any:
        if not isinstance(values, dict) or "type" in values or "profile" not in values:
            return values
        return {key: value for key, value in values.items() if key != "profile"} | {"type": values["profile"]}

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        if self.replica is not None and (self.nfs.enabled or self.smb.enabled):
            raise ValueError(
                f"share {self.name} is a replica, which nobody opens: {command('millrace replica promote', self.name)}"
            )
        if self.replica is not None and (self.readers or self.snapshots is not None):
            raise ValueError(
                f"share {self.name} is a replica: it has no replica and no schedule of snapshots of its own"
            )
        twice = first_duplicate(reader.address for reader in self.readers)
        if twice:
            raise ValueError(f"{twice} may read the snapshots of {self.name} twice")
        # a release that does not know the seal exports a dataset-ro read-only as well
        if self.sealed and self.type != "dataset-ro":
            raise ValueError(
                f"share {self.name} is sealed and stays a dataset-ro: {command('millrace share unseal', self.name)}"
            )
        if self.child_size is not None and (self.size, self.soft_size) != (None, None):
            raise ValueError(
                f"{self.name} has a size, and a quota for each directory: XFS counts a file once, choose one of them"
            )
        if self.child_size is not None and self.project > LAST_WITH_CHILDREN:
            raise ValueError(
                f"{self.name} cannot have a quota for each directory: too many shares were created before it"
            )
        if self.writing == "some" and self.group is None:
            raise ValueError(f"{self.name} needs the group that writes: add a group")
        if self.writing == "own" and self.group is not None:
            raise ValueError(
                f"{self.name} needs no group where each user writes their own files: leave the group out, or set "
                "writing to together or some"
            )
        if self.size is not None and self.soft_size is not None and self.soft_size > self.size:
            raise ValueError(f"the soft limit of {self.name} is above its size")
        if self.type == "dataset-ro":
            writer = next((client.client for client in self.nfs.clients if client.access == "rw"), None)
            if writer:
                raise ValueError(f"{self.name} is a dataset-ro, which nobody writes: let {writer} in with access=ro")
        if self.smb.enabled and self.smb.time_machine and (self.nfs.enabled or self.type == "dataset-ro"):
            raise ValueError(f"Time Machine needs {self.name} for itself: writable, and without NFS")
        if self.smb.enabled and self.smb.direct:
            self._refuse_beside_direct()
        foreign = next((name for name in (*self.smb.users, *self.smb.groups) if domain_names.in_domain(name)), None)
        if foreign and self.type == "home":
            raise ValueError(f"{foreign} has no home on this server: {self.name} can hold those of local users only")
        return self

    def _refuse_beside_direct(self) -> None:
        if self.type == "home":
            raise ValueError(f"{self.name} holds homes, which SMB Direct does not serve: choose another type")
        if self.nfs.enabled and self.type != "dataset-ro":
            raise ValueError(
                f"SMB Direct needs {self.name} for itself: switch NFS off, or make it a dataset-ro, which nobody writes"
            )

    @property
    def both(self) -> bool:
        """Whether two protocols write one tree, which ends client caches of SMB. facts: NFS writers break no leases."""
        return self.nfs.enabled and self.smb.enabled and self.type != "dataset-ro"

    @property
    def named_groups(self) -> list[str]:
        """The groups that it names: those that open it over SMB, and the one that writes."""
        return [*self.smb.groups, *([] if self.group is None or self.group in self.smb.groups else [self.group])]


class Person(DesiredModel):
    """An administrator, operator or viewer. `keys` are public SSH keys; a `locked` account signs in by nothing."""

    full_name: FullName = ""
    keys: list[PublicKey] = Field(default_factory=list, max_length=MOST_KEYS)
    locked: bool = False

    @model_validator(mode="after")
    def _each_key_once(self) -> Self:
        twice = first_duplicate(" ".join(key.split()[:2]) for key in self.keys)
        if twice:
            raise ValueError("this SSH key is there already")
        return self


class User(Person):
    """A local user; its own group has the same name and number.

    `role`: manages this server, and opens no share. Without one it is a user of shares, who signs in nowhere.
    `console` is what release 0.1.0 calls the role viewer; it follows from `role`.
    """

    name: AccountName
    uid: AccountId
    groups: list[AccountName] = Field(default_factory=list)
    role: Role | None = None
    console: bool = False

    @model_validator(mode="before")
    @classmethod
    def _of_earlier_releases(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        role = values.get("role", "viewer" if values.get("console") is True else None)
        return {**values, "role": role, "console": role == "viewer"}

    @model_validator(mode="after")
    def _is_a_person(self) -> Self:
        if self.role is None and (self.full_name or self.keys or self.locked):
            raise ValueError(f"{self.name} has no role: only people with a role have a full name, keys or a lock")
        return self


class Group(DesiredModel):
    """A local group."""

    name: AccountName
    gid: AccountId


class NfsServer(DesiredModel):
    """Settings of all NFS shares. `networks` are the client networks that an administrator confirmed.

    Empty is closed, also for a state document from before there was this field: a share that names no clients is not
    exported until an administrator names the networks.
    """

    networks: list[Network] = Field(default_factory=list)

    @model_validator(mode="after")
    def _once(self) -> Self:
        twice = first_duplicate(self.networks)
        if twice:
            raise ValueError(f"the client network {twice} is named twice")
        return self


class Domain(DesiredModel):
    """An Active Directory domain that this server is a member of, written when it was joined.

    `machine` is the account of this server there, without the dollar; `dns` the addresses that know the domain, none
    where the name servers of the network do.
    """

    realm: Realm
    workgroup: NetbiosName
    machine: NetbiosName
    dns: list[HostAddress] = Field(default_factory=list)

    @property
    def zone(self) -> str:
        """The DNS name of the domain."""
        return self.realm.lower()

    @property
    def host_name(self) -> str:
        """The name of this server in the domain's DNS, which its keys are for."""
        return f"{self.machine.lower()}.{self.zone}"


class Config(DesiredModel):
    """The desired state. `serial` numbers the change that made it; the `next_…` are never given out twice.

    `management` are the MAC addresses of ports that serve the web console only, wherever their addresses come from.
    `admin` is the administrator of the first boot.
    """

    schema_version: Literal[1] = SCHEMA
    serial: int = Field(default=0, ge=0)
    next_id: int = Field(default=FIRST_ID, ge=FIRST_ID)
    next_project: int = Field(default=FIRST_PROJECT, ge=FIRST_PROJECT)
    shares: list[DesiredShare] = Field(default_factory=list)
    users: list[User] = Field(default_factory=list)
    groups: list[Group] = Field(default_factory=list)
    ports: list[DesiredPort] = Field(default_factory=list)
    nfs: NfsServer = Field(default_factory=NfsServer)
    management: list[Mac] = Field(default_factory=list)
    domain: Domain | None = None
    network: DesiredNetwork = Field(default_factory=DesiredNetwork)
    admin: Person = Field(default_factory=Person)

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        _refuse_locked_out(self)
        _refuse_duplicates(self)
        _refuse_unknown_accounts(self)
        _refuse_other_domains(self)
        _refuse_torn_bonds(self)
        return self

    def share(self, name: str) -> DesiredShare | None:
        """Return the share of this name; None if there is none."""
        return next((one for one in self.shares if one.name == name), None)

    def user(self, name: str) -> User | None:
        """Return the user of this name; None if there is none."""
        return next((one for one in self.users if one.name == name), None)

    @property
    def people(self) -> dict[str, tuple[Person, Role]]:
        """Administrators, operators and viewers by account, each with the role."""
        others = {user.name: (user, user.role) for user in self.users if user.role is not None}
        return {ADMIN: (self.admin, "administrator"), **others}

    @property
    def administrators(self) -> list[str]:
        """The accounts that are administrators and not locked."""
        return [name for name, (person, role) in self.people.items() if role == "administrator" and not person.locked]

    def group(self, name: str) -> Group | None:
        """Return the group of this name; None if there is none."""
        return next((one for one in self.groups if one.name == name), None)

    def port(self, mac: str) -> DesiredPort | None:
        """Return what was decided of a port; None where DHCP or a credential decides."""
        return next((one for one in self.ports if one.mac == mac), None)

    @property
    def links(self) -> list[DesiredLink]:
        """The ports, bonds and VLANs of which something was decided."""
        return [*self.ports, *self.network.bonds, *self.network.vlans]


def first_config() -> Config:
    """Return the state of a server without any decision: the share `data`."""
    data = DesiredShare(name="data", type="mixed", project=FIRST_PROJECT, writing="together")
    return Config(shares=[data], next_project=FIRST_PROJECT + 1)


def _refuse_duplicates(config: Config) -> None:
    twice = first_duplicate(share.name for share in config.shares)
    if twice:
        raise ValueError(f"share {twice} already exists")
    accounts = [ADMIN, *(user.name for user in config.users), *(group.name for group in config.groups)]
    twice = first_duplicate(accounts)
    if twice:
        raise ValueError(f"user or group {twice} already exists")
    numbers = [str(user.uid) for user in config.users] + [str(group.gid) for group in config.groups]
    for what, twice in (
        ("user or group number", first_duplicate(numbers)),
        ("project number", first_duplicate(str(share.project) for share in config.shares)),
        ("fsid", first_duplicate(str(share.fsid) for share in config.shares if share.fsid)),
        ("port", first_duplicate(port.mac for port in config.ports)),
        ("management port", first_duplicate(config.management)),
        ("address", first_duplicate(address.partition("/")[0] for link in config.links for address in link.addresses)),
    ):
        if twice:
            raise ValueError(f"the {what} {twice} is used twice")


def _refuse_locked_out(config: Config) -> None:
    if not config.administrators:
        raise ValueError(LAST_ADMINISTRATOR)


def _refuse_unknown_accounts(config: Config) -> None:
    users = {ADMIN, *(user.name for user in config.users)}
    groups = {group.name for group in config.groups}
    for share in config.shares:
        for name in share.smb.users:
            if name not in users and not domain_names.in_domain(name):
                raise ValueError(
                    f"share {share.name} names the unknown user {name}: {command('millrace user create', name)}"
                )
        for name in share.named_groups:
            if name not in groups and not domain_names.in_domain(name):
                raise ValueError(
                    f"share {share.name} names the unknown group {name}: {command('millrace group create', name)}"
                )
    for user in config.users:
        for name in user.groups:
            if name not in groups:
                raise ValueError(
                    f"user {user.name} names the unknown group {name}: {command('millrace group create', name)}"
                )


def _refuse_other_domains(config: Config) -> None:
    for share in config.shares:
        for name in (*share.smb.users, *share.named_groups):
            if not domain_names.in_domain(name):
                continue
            if config.domain is None:
                raise ValueError(f"{name} is of a domain, and this server is in none: millrace domain join")
            if not name.startswith(f"{config.domain.workgroup}{domain_names.SEPARATOR}"):
                raise ValueError(f"{name} is of another domain: this server is in {config.domain.workgroup}")


def _refuse_torn_bonds(config: Config) -> None:
    """A port of a bond has nothing of its own: what it had is that of the bond."""
    for bond in config.network.bonds:
        for port in bond.members:
            if config.port(port.mac):
                raise ValueError(f"{port.name} is part of {bond.name} and cannot have settings of its own")
            if port.mac in config.management:
                raise ValueError(f"{port.name} is a management port and cannot be part of {bond.name}")
