# SPDX-License-Identifier: Apache-2.0
"""The contract of `millrace pool show --json`."""

from typing import Literal

from pydantic import Field

from millrace.plan.model import Role
from millrace.storage.array.live_model import LiveArray
from millrace.system.documents import Contract


class LiveFilesystem(Contract):
    """The XFS of the pool. `log` is the array with its log, null where that is inside. Sizes in bytes.

    Null sizes: it is not mounted, or does not answer.
    """

    mountpoint: str
    uuid: str
    device: str
    log: str | None
    log_size: int | None
    mounted: bool
    read_only: bool
    size: int | None
    used: int | None
    free: int | None


class ShareUsage(Contract):
    """Usage and limit of a share in bytes; `used` is null where XFS does not count or was not read yet."""

    name: str
    path: str
    used: int | None
    size: int | None
    soft_size: int | None


class LiveBackend(Contract):
    """A partition of an external device under the pool; `device` is its kernel name, null for one that is missing.

    `size` in bytes as it was made.
    """

    serial: str
    role: Role
    device: str | None
    size: int


class PoolState(Contract):
    """The pool as it is now. `notes` are what could not be read, and why.

    `backends` are the parts of external devices that it lies on; then it has no arrays. `plan` is the title of its
    plan, null where that cannot be read.
    """

    schema_version: Literal[1] = 1
    created: str
    plan_sha256: str
    plan: str | None = None
    arrays: list[LiveArray]
    backends: list[LiveBackend] = Field(default_factory=list)
    filesystem: LiveFilesystem
    shares: list[ShareUsage]
    notes: list[str]
