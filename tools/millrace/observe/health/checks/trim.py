# SPDX-License-Identifier: Apache-2.0
"""Where free space is to be trimmed: did the kernel trim it, and how long ago?"""

from datetime import timedelta

from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.plan.policy.policy_in_force import find
from millrace.storage.trim import trim_due
from millrace.storage.trim.trim_record import load
from millrace.system import ages
from millrace.system.text import moment

NAME = "trim"

LATE = timedelta(days=62)
"""A trim of a large pool takes several windows of a week, and a check of the arrays comes first in each of them."""


def check(host: Host) -> list[HealthFinding]:
    """Return one finding where the pool is to be trimmed: that it is, that it is late, or that the kernel refuses."""
    pool, policy = host.pool, find().policy
    if pool is None or trim_due.hindrance(pool, policy):
        return []
    record, where = load(pool.filesystem_uuid), pool.filesystem.mountpoint
    if record.stopped and record.stopped.by == "refused":
        sentence = f"The trim of {where} stopped {moment(record.stopped.at)}: {record.stopped.reason}."
        todo = (
            "Compare the arrays with the plan: millrace tune --diff; "
            'discard = "never" in [md] of the policy ends the attempts'
        )
        return [
            HealthFinding(check=NAME, kind="refused", subject=where, level=Level.WARN, sentence=sentence, todo=todo)
        ]
    last = record.last
    at = last.ended if last else pool.created
    age = ages.age(at)
    if age is None:
        when = f"{'last trimmed' if last else 'created'} {moment(at)}: {ages.why_unknown(at)}"
        sentence = f"Free space on {where} was {when}; the next trim is due now ({policy.scrub.window})."
        todo = "Nothing, if the clock is right (timedatectl), or trim it now: millrace pool trim start"
        return [HealthFinding(check=NAME, kind="late", subject=where, level=Level.WARN, sentence=sentence, todo=todo)]
    if age > LATE:
        when = f"was last trimmed {age.days} days ago" if last else f"has not been trimmed in {age.days} days"
        sentence = f"Free space on {where} {when}; the window of the policy is {policy.scrub.window}."
        todo = "See what stops it: millrace pool trim status"
        return [HealthFinding(check=NAME, kind="late", subject=where, level=Level.WARN, sentence=sentence, todo=todo)]
    ended = f"The last trim of {where} ended {moment(last.ended)}." if last else f"{where} has not been trimmed yet."
    return [HealthFinding(check=NAME, level=Level.OK, sentence=ended)]
