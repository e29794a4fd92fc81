# SPDX-License-Identifier: Apache-2.0
"""When each backup was last sent, checked and restored by drill, and what the last run moved; from a record."""

from millrace.observe.metrics.family import Family, gauge
from millrace.protect.backup import backup_store
from millrace.system import ages


def families() -> list[Family]:
    """Return what is known of all backups; nothing where there is none."""
    known = [(backup, backup_store.state(backup)) for backup in backup_store.load()]
    if not known:
        return []
    outcomes = [
        (outcome, {"backup": backup.name, "share": backup.share, "task": task})
        for backup, state in known
        for task, outcome in (("run", state.run), ("check", state.check), ("drill", state.drill))
        if outcome is not None
    ]
    times = [
        (ages.when(outcome.succeeded).timestamp(), labels)
        for outcome, labels in outcomes
        if outcome.succeeded is not None
    ]
    moved = [
        (state.moved, {"backup": backup.name, "share": backup.share})
        for backup, state in known
        if state.moved is not None
    ]
    return [
        gauge("backup_success_timestamp_seconds", "Time at which a task of a backup last succeeded.", *times),
        gauge(
            "backup_failures",
            "Failures of a task of a backup since it last succeeded.",
            *((outcome.failures, labels) for outcome, labels in outcomes),
        ),
        gauge(
            "backup_sent_bytes",
            "Bytes that the last run of a backup sent.",
            *((each.sent, labels) for each, labels in moved),
        ),
        gauge(
            "backup_size_bytes",
            "Bytes of the last version of a backup.",
            *((each.bytes, labels) for each, labels in moved),
        ),
    ]
