# SPDX-License-Identifier: Apache-2.0
"""How many snapshots each share has and when the newest was made; from a record, without opening the pool."""

from millrace.observe.metrics.family import Family, gauge
from millrace.protect.snapshot.snapshot_schedule_model import COUNTS
from millrace.serve.config import store
from millrace.storage.record.pool_file import known_pool
from millrace.system import ages


def families() -> list[Family]:
    """Return what is known of the snapshots of all shares; nothing before they were counted since the boot."""
    held = COUNTS.get()
    if held is None or known_pool() is None:
        return []
    shares = [held.of(share.name) for share in store.read().config.shares]
    times = [
        (ages.when(max(each.newest.values())).timestamp(), {"share": each.share}) for each in shares if each.newest
    ]
    numbers = [
        (number, {"share": each.share, "kind": kind}) for each in shares for kind, number in sorted(each.held.items())
    ]
    return [
        gauge("snapshot_timestamp_seconds", "Time at which the newest snapshot of a share was made.", *times),
        gauge("snapshots_held", "Snapshots of a share by kind.", *numbers),
        gauge(
            "snapshots_locked",
            "Snapshots of a share that are locked until a date.",
            *((each.locked, {"share": each.share}) for each in shares),
        ),
        gauge(
            "snapshot_removals_ordered",
            "Snapshots of a share whose removal is ordered and can be cancelled.",
            *((each.removals, {"share": each.share}) for each in shares),
        ),
    ]
