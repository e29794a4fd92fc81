# SPDX-License-Identifier: Apache-2.0
"""What is kept, how often and for how many at a time: the one table, from which everything of this room follows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

MINUTE, HOUR, DAY = 60, 3600, 86_400

Unit = Literal["bytes/s", "operations/s", "seconds", "ratio", "bytes", "celsius"]

Key = tuple[str, str]
"""The kind of a series, and which share, client, port or drive it is of; empty where there is one only."""

MOST_RANKED = 10
"""Shares and clients are kept where they are among so many that transfer most in a minute, and in an hour."""


@dataclass(frozen=True)
class SeriesKind:
    """One kind of figure.

    `every` is the seconds between two values of the last day, `slot` those of the last year. `most` is how many of a
    kind are kept at a time, the largest first. `ranked`: a minute without a value is one in which it was not among the
    largest, or had nothing; it counts as 0.
    """

    name: str
    unit: Unit
    what: str
    every: int = MINUTE
    slot: int = HOUR
    most: int = 1
    ranked: bool = False


_ALL = [
    SeriesKind("nfs-read", "bytes/s", "Read over NFS"),
    SeriesKind("nfs-write", "bytes/s", "Written over NFS"),
    SeriesKind("nfs-operations", "operations/s", "NFS calls"),
    SeriesKind("nfs-latency", "seconds", "Latency of NFS"),
    SeriesKind("smb-read", "bytes/s", "Read over SMB"),
    SeriesKind("smb-write", "bytes/s", "Written over SMB"),
    SeriesKind("smb-operations", "operations/s", "SMB requests"),
    SeriesKind("smb-latency", "seconds", "Latency of SMB"),
    SeriesKind("share-read", "bytes/s", "Read from a share", most=MOST_RANKED, ranked=True),
    SeriesKind("share-write", "bytes/s", "Written to a share", most=MOST_RANKED, ranked=True),
    SeriesKind("share-operations", "operations/s", "SMB requests to a share", most=MOST_RANKED, ranked=True),
    SeriesKind("client-read", "bytes/s", "Sent to a client over TCP", most=MOST_RANKED, ranked=True),
    SeriesKind("client-write", "bytes/s", "Received from a client over TCP", most=MOST_RANKED, ranked=True),
    SeriesKind("client-operations", "operations/s", "SMB requests of a client", most=MOST_RANKED, ranked=True),
    SeriesKind("drives-read", "bytes/s", "Read from the drives of the pool"),
    SeriesKind("drives-write", "bytes/s", "Written to the drives of the pool"),
    SeriesKind("drives-latency", "seconds", "Latency of the drives of the pool"),
    SeriesKind("port-receive", "bytes/s", "Received by a network port", most=32),
    SeriesKind("port-send", "bytes/s", "Sent by a network port", most=32),
    SeriesKind("cpu", "ratio", "CPU in use"),
    SeriesKind("memory", "ratio", "Memory in use"),
    SeriesKind("pool-used", "bytes", "Used space of the pool", every=600),
    SeriesKind("pool-size", "bytes", "Size of the pool", every=HOUR, slot=DAY),
    SeriesKind("share-used", "bytes", "Used space of a share", every=HOUR, slot=DAY, most=1000),
    SeriesKind("drive-temperature", "celsius", "Temperature of a drive", every=600, most=256),
    SeriesKind("drive-wear", "ratio", "Used endurance of a drive", every=HOUR, slot=DAY, most=256),
]
KINDS: Mapping[str, SeriesKind] = {kind.name: kind for kind in _ALL}

WITNESS: Key = ("cpu", "")
"""In each minute in which anything was kept it has a value."""


def text(key: Key) -> str:
    """Return a series as `millrace history` takes it: `nfs-read`, `share-read:home`."""
    return f"{key[0]}:{key[1]}" if key[1] else key[0]
