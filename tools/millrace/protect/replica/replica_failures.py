# SPDX-License-Identifier: Apache-2.0
"""Which side of a replica failed: its source, the records of this server, or else the pool of this server."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from millrace.serve.config.replica import ReplicaSource
from millrace.system.errors import Failed, MillraceError
from millrace.system.files import describe
from millrace.system.text import one_line, printable_name

AGAIN = "the next run goes on"
_SILENT = (errno.ETIMEDOUT, errno.ESTALE, errno.ECONNREFUSED, errno.ECONNRESET, errno.EHOSTUNREACH, errno.ENETUNREACH)
DAMAGED = (errno.EIO, errno.EUCLEAN, errno.EBADMSG)
"""Errors of a drive, and of a damaged file system."""


class SourceError(OSError):
    """The source of a replica cannot be read."""


class RecordError(OSError):
    """A record of this server cannot be written."""


@contextmanager
def of_source() -> Iterator[None]:
    """What is done inside reads the source. SourceError: that fails."""
    with _raised_as(SourceError):
        yield


@contextmanager
def of_records() -> Iterator[None]:
    """What is done inside writes records of this server. RecordError: that fails."""
    with _raised_as(RecordError):
        yield


@contextmanager
def _raised_as(kind: type[OSError]) -> Iterator[None]:
    try:
        yield
    except (SourceError, RecordError):
        raise
    except OSError as error:
        raise kind(error.errno, error.strerror, error.filename) from error


def cause(error: OSError | Failed) -> OSError:
    """Return why a file of a tree was not opened. Failed: it is in no way to read it."""
    reason = error.__cause__ if isinstance(error, Failed) else error
    if not isinstance(reason, OSError):
        raise error
    return reason


def pass_over(path: str, error: SourceError, source: int) -> None:
    """Name a file in the journal that the open directory `source` cannot read, and no more than it.

    SourceError: the source does not answer, or not for this reason alone.
    """
    if error.errno != errno.EIO:
        raise error
    with of_source():
        os.fstatvfs(source)
    print(f"the source cannot read {printable_name(os.fsencode(path))}", file=sys.stderr, flush=True)


def log(error: MillraceError | OSError) -> None:
    """Name the file that a run ended at, and why, in the journal."""
    if isinstance(error, OSError):
        print(one_line(describe(error)), file=sys.stderr, flush=True)


def sentence(error: MillraceError | OSError, source: ReplicaSource, unit: str) -> str:
    """Return why a run ended, with what to verify and without names of files, which are in the journal of `unit`."""
    if isinstance(error, MillraceError):
        return str(error)
    reason = error.strerror or type(error).__name__
    if isinstance(error, SourceError):
        answers = "cannot be read" if error.errno not in _SILENT else "does not answer any more"
        return f"{source.place} {answers} ({reason}): verify that server; {AGAIN}"
    if isinstance(error, RecordError):
        return f"this server cannot write its records ({reason}): millrace health; {AGAIN}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the pool of this server is full: free space; {AGAIN}"
    if error.errno in DAMAGED:
        return f"the pool of this server cannot be read or written ({reason}): millrace pool show; {AGAIN}"
    return f"{reason} (the journal has the name: journalctl -u {unit}); {AGAIN}"
