# SPDX-License-Identifier: Apache-2.0
"""The share contract (`millrace share list --json`)."""

from typing import Literal
from uuid import UUID

from millrace.inventory.model import Contract


class Share(Contract):
    """One directory of the pool that clients mount.

    `networks` are the client networks of its NFS export in CIDR form; none means that it is not exported, and
    `obstacle` says why. `fsid` identifies it in NFS file handles: it must never change while clients have it mounted.
    """

    name: str
    path: str
    networks: list[str]
    privileged_ports: bool
    fsid: UUID
    obstacle: str | None


class ShareList(Contract):
    """All shares of this server."""

    schema_version: Literal[1] = 1
    shares: list[Share]


class RenderReport(Contract):
    """What `millrace share render` changed: file paths, and services told about it."""

    schema_version: Literal[1] = 1
    changed: list[str]
    reloaded: list[str]
    warnings: list[str]
