# SPDX-License-Identifier: Apache-2.0
"""The documents of the destruction of a pool."""

from typing import Literal

from millrace.serve.share.session import ClientSession
from millrace.storage.record.destruction import Destruction
from millrace.system.documents import Contract
from millrace.system.jobs.kinds import JobName


class DestroyedShare(Contract):
    """A share that is lost with its data; `used` in bytes, null where it is not known."""

    name: str
    used: int | None


class DestroyedVolume(Contract):
    """A volume that is lost with its data; `size` in bytes. `exported`: a host may use it now."""

    name: str
    size: int
    exported: bool


class DestroyedDrive(Contract):
    """A drive of the pool. `here`: it is in this server and is wiped; one that is not still carries its part."""

    serial: str
    bay: str | None
    here: bool


class DestroyStatus(Contract):
    """What the destruction of the pool ends and leaves, and whether one can begin (`millrace pool destroy --status`).

    `name` is the host name, which is typed to confirm it: a server has one pool, which has no other name. `pool` is the
    UUID of its file system, null without one. `used` are bytes of all files, null where the pool is not mounted.
    `clients` are connected now; `jobs` use the pool and are ended where that was asked for. `obstacle` is why none can
    begin, `in_use` why it is refused unless what uses the pool is ended. `last` is the one under way, else the last.
    """

    schema_version: Literal[1] = 1
    name: str
    pool: str | None
    used: int | None
    shares: list[DestroyedShare]
    volumes: list[DestroyedVolume]
    drives: list[DestroyedDrive]
    clients: list[ClientSession]
    jobs: list[JobName]
    obstacle: str | None
    in_use: str | None
    last: Destruction | None
    running: bool


class DestroyProgress(Contract):
    """How far a destruction is: steps done, steps in all, the step of now."""

    schema_version: Literal[1] = 1
    done: int
    total: int
    step: str | None


# What `millrace pool destroy --json` prints: what is lost once, progress many times, the end.
DestroyLine = DestroyStatus | DestroyProgress | Destruction
