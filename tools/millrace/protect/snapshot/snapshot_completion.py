# SPDX-License-Identifier: Apache-2.0
"""The snapshots that a shell completes."""

from collections.abc import Iterator

from millrace.system.completion import completes


def _all_snapshots() -> Iterator[str]:
    from millrace.serve.share import kept_snapshots
    from millrace.storage.record.pool_file import known_pool

    pool = known_pool()
    if pool is not None:
        mountpoint = pool.filesystem.mountpoint
        for share in kept_snapshots.shares(mountpoint):
            yield from (f"{share}@{name}" for name in kept_snapshots.names(share, mountpoint))


SNAPSHOTS = completes(_all_snapshots)
