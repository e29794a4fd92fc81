# SPDX-License-Identifier: Apache-2.0
"""The usage of shares: read by root, and published in /run/millrace/usage.json."""

import os
from datetime import UTC, datetime
from typing import Literal

from millrace.serve.share import quota
from millrace.storage.record.model import Pool
from millrace.storage.record.pool_file import known_pool
from millrace.system import paths
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import MillraceError
from millrace.system.run import Runner


class Usage(Contract):
    """Bytes held by each quota project, as of `at` (ISO 8601 in UTC)."""

    schema_version: Literal[1] = 1
    at: str
    used: dict[int, int]


def usage(pool: Pool, run: Runner) -> tuple[dict[int, int], list[str]]:
    """Return bytes by project and, in words, what is not known: read now by root, else as root read it last.

    XFS shows the usage of projects to root alone.
    """
    mountpoint = pool.filesystem.mountpoint
    if not quota.enabled(mountpoint):
        return {}, []
    try:
        if os.geteuid() == 0:
            return quota.usage(mountpoint, run), []
        return read_model(paths.usage_file(), Usage).used, []
    except MillraceError as error:
        return {}, [f"share usage is unknown: {error}"]


def write(run: Runner) -> None:
    """Publish the usage of shares; nothing where there is no pool or XFS does not report it."""
    try:
        pool = known_pool()
        if pool is None:
            return
        mountpoint = pool.filesystem.mountpoint
        if quota.enabled(mountpoint):
            at = datetime.now(UTC).isoformat(timespec="seconds")
            write_model(paths.usage_file(), Usage(at=at, used=quota.usage(mountpoint, run)))
    except MillraceError:
        # The checks of pool and file system say what is wrong.
        return
