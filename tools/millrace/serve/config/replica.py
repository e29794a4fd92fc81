# SPDX-License-Identifier: Apache-2.0
"""The desired state: of which share of another server a share is a replica, and who may read the snapshots of one."""

from typing import Annotated

from pydantic import Field

from millrace.serve.config.network import DesiredModel, HostAddress
from millrace.system import names

SHORTEST, LONGEST = 15, 7 * 24 * 60
"""Minutes of the period of a replica: the upkeep looks every 15 minutes."""
MOST_KEPT = 1000
LARGEST_AUTHORITY = 64 << 10
"""Characters of the certificates of a CA."""

Fingerprint = Annotated[str, Field(pattern=r"^([0-9A-F]{2}:){31}[0-9A-F]{2}$")]


class ReplicaSource(DesiredModel):
    """The share of another server that a share is a replica of, until it is promoted.

    `address` is that of the source, `authority` the certificates (PEM) of the CA that an administrator confirmed by
    their `fingerprint`. `every` is the period in minutes, `keep` how many snapshots of the source are kept here.
    """

    address: HostAddress
    share: Annotated[str, names.share_name]
    every: Annotated[int, Field(ge=SHORTEST, le=LONGEST)] = 60
    keep: Annotated[int, Field(ge=2, le=MOST_KEPT)] = 48
    paused: bool = False
    authority: Annotated[str, Field(max_length=LARGEST_AUTHORITY)]
    fingerprint: Fingerprint

    @property
    def place(self) -> str:
        """The share on its server, `10.0.0.7:data`; an IPv6 address in brackets."""
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{host}:{self.share}"


class SnapshotReader(DesiredModel):
    """A server that may read the snapshots of a share, for its replica.

    An administrator confirmed its CA by this `fingerprint`. `is_added`: the CA is trusted for replicas alone, and no
    longer when no reader has it.
    """

    address: HostAddress
    fingerprint: Fingerprint
    is_added: bool = False
