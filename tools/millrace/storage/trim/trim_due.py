# SPDX-License-Identifier: Apache-2.0
"""Whether the pool is trimmed at all, when, and what keeps a trim from running."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from millrace.plan.policy.model import Policy
from millrace.plan.policy.window import parse_window
from millrace.storage.array import discard, resync
from millrace.storage.array.devices import array_device
from millrace.storage.record.model import Pool
from millrace.storage.record.scrub_record import stamp
from millrace.storage.scrub import scrub_due
from millrace.storage.trim.trim_record import TrimRecord, TrimStop, TrimStoppedBy
from millrace.system.jobs import kinds
from millrace.system.jobs.kinds import JobName
from millrace.system.mounts import mounted
from millrace.system.run import Runner

# fstrim(8): "a sufficient trimming frequency is once a week"
EVERY = timedelta(days=7)
_STOPPED_BY: Mapping[JobName, TrimStoppedBy] = {"benchmark": "benchmark", "tuner": "benchmark", "scrub": "check"}


def hindrance(pool: Pool, policy: Policy) -> str | None:
    """Why the pool is never trimmed, as part of a sentence; None where it is."""
    if policy.md.discard == "never":
        return 'the policy has discard = "never" in [md]'
    if pool.filesystem.discard is None:
        return "the pool was created before that was planned"
    if not pool.filesystem.discard:
        return "the plan keeps discards from the drives; see `millrace plan --explain discard`"
    if names := discard.without_guarantee(pool):
        return f"{', '.join(names)} may not read as zeroes after a discard"
    return None


def is_due(policy: Policy, record: TrimRecord, now: datetime) -> bool:
    """Whether a trim is to run now: the window is open, and the last one began a week ago or is not at its end.

    One that an administrator stopped, or that the kernel refused, waits for the next window.
    """
    window = parse_window(policy.scrub.window).open_at(now)
    if window is None:
        return False
    opened = window[0]
    if record.round is not None:
        held = record.stopped if record.stopped and record.stopped.by in ("administrator", "refused") else None
        return held is None or scrub_due.is_before(held.at, opened, now)
    latest = opened - EVERY + scrub_due.SLACK
    return record.last is None or scrub_due.is_before(record.last.started, latest, now, exactly=True)


def next_window(policy: Policy, record: TrimRecord, now: datetime) -> datetime | None:
    """Return when a trim begins or goes on."""
    opening = now
    for _ in range(EVERY.days + 2):
        if is_due(policy, record, opening):
            return opening
        opening = parse_window(policy.scrub.window).next_opening(opening)
    return None


def obstacle(pool: Pool, policy: Policy, run: Runner, now: datetime) -> TrimStop | None:
    """Return what keeps a trim from running now: an array that is degraded or works, a check, or a benchmark."""
    if why := hindrance(pool, policy):
        return stopped("plan", why, now)
    if mounted(pool.filesystem.mountpoint) is None:
        return stopped("array", f"{pool.filesystem.mountpoint} is not mounted", now)
    if job := scrub_due.other_job("trim", run):
        return stopped(_STOPPED_BY.get(job.kind.name, "array"), job.what, now)
    if busy := scrub_due.busy_array(pool, now):
        return stopped(busy.by, busy.reason, now)
    devices = [array_device(record.array.name) for record in pool.arrays]
    if any(resync.action(device) == resync.CHECK for device in devices if device):
        return stopped("check", kinds.SCRUB.busy, now)
    return None


def stopped(by: TrimStoppedBy, reason: str, now: datetime) -> TrimStop:
    """Return why a trim stops at this moment."""
    return TrimStop(at=stamp(now), by=by, reason=reason)
