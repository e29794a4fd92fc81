# SPDX-License-Identifier: Apache-2.0
"""How many connections a client needs: one load over more and more of them, to the knee. Pure.

The kernel's own client, because fio's engine for NFS speaks the versions 3 and 4.0 only, which are off here.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class MountConnections:
    """A mount over so many addresses of the server, with so many connections to the first one, one to each other."""

    first: int = 1
    addresses: int = 1

    @property
    def all(self) -> int:
        """All connections of the mount."""
        return self.first + self.addresses - 1

    @property
    def options(self) -> str:
        """The mount options that make them (nfs(5))."""
        return f"nconnect={self.first}" + (f",max_connect={self.addresses}" if self.addresses > 1 else "")


# The kernel makes 16 connections for a mount at most (kernel 7.2, fs/nfs/internal.h: NFS_MAX_CONNECTIONS).
TO_ONE_ADDRESS = {f"nfs-tcp-{count}": MountConnections(count) for count in (1, 2, 4, 8, 16)}
OVER_ADDRESSES = {f"nfs-tcp-{count}-addresses": MountConnections(addresses=count) for count in (2, 4, 8)}
TARGETS = {**TO_ONE_ADDRESS, **OVER_ADDRESSES}
