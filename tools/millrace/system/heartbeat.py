# SPDX-License-Identifier: Apache-2.0
"""The last heartbeat of the pool, as millrace-heartbeat.service recorded it: reading it touches no file of the pool."""

from millrace.system import paths
from millrace.system.documents import Contract, read_model
from millrace.system.errors import MillraceError


class Heartbeat(Contract):
    """The result of the last heartbeat. Sizes in bytes, `uptime` in seconds since boot.

    `problem` is why there was none; `error` is the name of the error, empty where the pool does not answer. `known` is
    false where none was requested. `features` is XFS_FSOP_GEOM_FLAGS_* of the file system, None where it is not known.
    `records_free` is what the records of NFS clients have left of their own: 0 where it is read-only, None where they
    have no file system of their own.
    """

    uptime: float
    problem: str | None
    error: str | None
    size: int | None = None
    used: int | None = None
    free: int | None = None
    inodes: int | None = None
    inodes_free: int | None = None
    features: int | None = None
    records_free: int | None = None
    known: bool = True


def last() -> Heartbeat | None:
    """Return the last heartbeat, for users without privileges; None where there was none in this boot."""
    try:
        return read_model(paths.heartbeat_file(), Heartbeat)
    except MillraceError:
        return None
