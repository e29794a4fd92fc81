# SPDX-License-Identifier: Apache-2.0
"""A copy of what another server exports: how far it is, and how it ended."""

from typing import Literal

from millrace.system.documents import Contract, Count


class CopyOrder(Contract):
    """What millrace-copy.service is to copy: an export of another server, and a share or a directory of one."""

    id: str
    source: str
    target: str
    by: str


class CopyProgress(Contract):
    """How far a copy is, in bytes and in files, directories and links; `rate` in bytes a second; totals are counted."""

    schema_version: Literal[1] = 1
    state: Literal["running"] = "running"
    entries: Count
    bytes: Count
    total_entries: Count
    total_bytes: Count
    rate: Count
    seconds_left: int | None


class CopyReport(Contract):
    """What a copy has done; `id` is that of its order. `kept` files were there from an earlier copy.

    Not copied: `unreadable` files and directories, which the source server does not let this server read; `changed`,
    which changed while they were read; `skipped` devices, pipes and sockets.
    """

    schema_version: Literal[1] = 1
    state: Literal["done"] = "done"
    id: str
    source: str
    target: str
    entries: Count
    bytes: Count
    kept: Count
    unreadable: Count
    changed: Count
    skipped: Count


CopyLine = CopyProgress | CopyReport
