# SPDX-License-Identifier: Apache-2.0
"""The documents of the kept state."""

from typing import Annotated, Literal

from pydantic import Field

from millrace.system.documents import Contract, Count

Hexadecimal = Annotated[str, Field(pattern=r"^([0-9a-f]{2}){1,64}$")]

TrustKind = Literal[
    "people",
    "password",
    "ssh-keys",
    "ssh",
    "update-keys",
    "updates",
    "alerts",
    "backups",
    "journal",
    "client-networks",
    "readers",
    "replicas",
    "network",
]


class Seal(Contract):
    """How the key of the secrets is made of a passphrase: scrypt (RFC 7914) with `salt` and its three costs."""

    salt: Hexadecimal
    n: Literal[131072] = 131072
    r: Literal[8] = 8
    p: Literal[1] = 1


class KeyFile(Contract):
    """The key itself, on the boot drive for root alone; the passphrase is nowhere."""

    schema_version: Literal[1] = 1
    seal: Seal
    key: Hexadecimal


class ManifestMember(Contract):
    """One file in a generation, by its path from the root directory. `sha256` is of its `size` bytes as stored.

    `sealed`: encrypted with AES-256-GCM, the nonce before it. `link` is the target of a symbolic link.
    """

    path: str
    mode: Count
    secret: bool
    sealed: bool = False
    size: Count
    sha256: str
    link: str | None = None


class Forgotten(Contract):
    """A factory reset that forgot the people of a state: by whom, and when (ISO 8601, in UTC)."""

    by: str
    at: str


class Manifest(Contract):
    """What a generation has, and of which server and pool. `written` is ISO 8601 in UTC.

    `decided` and `records` are digests of the content, by which the next generation knows whether anything changed.
    `problems` are what could not be read when it was written. `forgotten`: it has the pool and its shares alone.
    `writer` is the identity of the boot drive that wrote it, null from a release before 0.2.
    """

    schema_version: Literal[1] = 1
    kind: Literal["millrace-state"] = "millrace-state"
    generation: int
    written: str
    release: str
    host: str
    pool: str
    pool_generation: int
    seal: Seal | None
    decided: str
    records: str
    members: list[ManifestMember]
    problems: list[str] = Field(default_factory=list)
    forgotten: Forgotten | None = None
    writer: str | None = None


class Trusted(Contract):
    """One kind of power that the state gives. `details` tell it from another: fingerprints, a URL, hosts."""

    kind: TrustKind
    details: list[str]


class KeptElsewhere(Contract):
    """The newest state on the pool, which another boot drive wrote: the server does not serve until it is decided which
    state counts.

    `same_drive`: it was this boot drive, of which an older copy was put back. Of a state that only a later release can
    read, nothing but generation and `release` is known. `written` is ISO 8601 in UTC. `trusted` is the power over the
    server that the state gives.
    """

    schema_version: Literal[1] = 1
    pool: str
    generation: int
    written: str | None = None
    host: str | None = None
    release: str | None = None
    sealed: bool = False
    same_drive: bool = False
    shares: list[str] = Field(default_factory=list)
    users: list[str] = Field(default_factory=list)
    trusted: list[Trusted] = Field(default_factory=list)


class KeepStatus(Contract):
    """How the state of this server is kept on its pool. Times are ISO 8601 in UTC.

    `verified` is when the newest generation was last read back and had all that it should. `problem` is why that did
    not succeed at the last attempt; `unread` is what could not be kept with the rest, `damaged` are generations that
    cannot be read. `sealed`: secrets are encrypted with a passphrase; no generation with another `seal` is left.
    """

    schema_version: Literal[1] = 1
    directory: str
    generation: int | None = None
    written: str | None = None
    verified: str | None = None
    problem: str | None = None
    unread: list[str] = Field(default_factory=list)
    damaged: list[str] = Field(default_factory=list)
    sealed: bool = False
    seal: Seal | None = None


class KeptGeneration(Contract):
    """One generation. `size` in bytes. `problem` is why it cannot be read; then nothing else of it is known."""

    generation: int
    file: str
    size: Count
    written: str | None = None
    host: str | None = None
    pool: str | None = None
    release: str | None = None
    members: int | None = None
    sealed: bool | None = None
    unread: list[str] = Field(default_factory=list)
    problem: str | None = None


class KeepList(Contract):
    """All generations on the pool, the newest first."""

    schema_version: Literal[1] = 1
    directory: str
    generations: list[KeptGeneration]


class LockRecords(Contract):
    """Where the records of NFS clients are, by which they get their locks back after a restart.

    `moved` is how many came from the boot drive; `set_aside` is the file of damaged records.
    """

    schema_version: Literal[1] = 1
    directory: str
    clients: Count
    moved: Count = 0
    set_aside: str | None = None


class RecordsRoom(Contract):
    """The file system of the records of NFS clients, an image on the pool.

    `set_aside` is the file of a damaged one, `problem` why the records have no room of their own.
    """

    schema_version: Literal[1] = 1
    image: str
    set_aside: str | None = None
    problem: str | None = None
