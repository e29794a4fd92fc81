# SPDX-License-Identifier: Apache-2.0
"""The walk that sets permissions in a share: what is asked for, how far it is, and what it did."""

from typing import Literal

from millrace.system.documents import Contract, Count


class PermissionsOrder(Contract):
    """The share in which millrace-permissions.service sets permissions, and who ordered it."""

    id: str
    share: str
    by: str


class PermissionsProgress(Contract):
    """How far it is, in files and directories; `total` is null while they are counted."""

    schema_version: Literal[1] = 1
    state: Literal["running"] = "running"
    share: str
    done: Count
    total: int | None
    seconds_left: int | None


class PermissionsReport(Contract):
    """What the walk found, and changed where `applied`: `entries` files and directories, `differ` of which had others.

    Left as they are: `linked` files with several names, which may be elsewhere too; `refused` ones, which are
    immutable; links, pipes, sockets, devices and what is mounted are not counted.
    """

    schema_version: Literal[1] = 1
    state: Literal["done"] = "done"
    id: str
    share: str
    applied: bool
    entries: Count
    differ: Count
    linked: Count
    refused: Count


PermissionsLine = PermissionsProgress | PermissionsReport
