# SPDX-License-Identifier: Apache-2.0
"""`millrace pool trim status`: the last trim of the file system, the one under way, and when the next one begins."""

from collections.abc import Iterator
from datetime import datetime
from typing import Literal

from millrace.plan.discard import TRIM_SHARE
from millrace.plan.policy.model import Policy
from millrace.storage.record.model import Pool
from millrace.storage.trim import trim_due as due
from millrace.storage.trim.trim import JOB
from millrace.storage.trim.trim_record import Trimmed, TrimRound, TrimStop, load
from millrace.system.documents import Contract
from millrace.system.run import Runner
from millrace.system.text import moment, size


class TrimStatus(Contract):
    """The trims of the pool. `hindrance` is why free space is never trimmed, null where it is.

    `window` is that of the policy, `share` the part of the time in it that a trim takes at most. `next` is when a trim
    begins or goes on (ISO 8601), null for never. `round` is the one that is not at its end, `running` whether it runs
    now, and `stopped` why it waits, ended early or did not begin. `last` is null before the first.
    """

    schema_version: Literal[1] = 1
    hindrance: str | None
    window: str
    share: float
    next: str | None
    running: bool
    round: TrimRound | None
    stopped: TrimStop | None
    last: Trimmed | None


def status(pool: Pool, policy: Policy, run: Runner, now: datetime) -> TrimStatus:
    """Return the trims of the pool."""
    record, why = load(pool.filesystem_uuid), due.hindrance(pool, policy)
    opening = None if why else due.next_window(policy, record, now)
    return TrimStatus(
        hindrance=why,
        window=policy.scrub.window,
        share=TRIM_SHARE,
        next=opening.isoformat(timespec="minutes") if opening else None,
        running=record.round is not None and JOB.runs(run),
        round=record.round,
        stopped=record.stopped,
        last=record.last,
    )


def lines(state: TrimStatus) -> Iterator[str]:
    """Return text for a terminal."""
    if state.hindrance:
        yield f"free space is not trimmed: {state.hindrance}"
    else:
        following = moment(state.next) if state.next else "-"
        yield f"policy: once a week, {state.window}, {state.share * 100:g} % of the time at most; next: {following}"
    yield f"free space: {in_words(state.last)}{_now(state)}"
    if state.stopped and not state.running:
        word = "stopped" if state.round else "ended" if state.stopped.by == "plan" else "not started"
        yield f"{word} {moment(state.stopped.at)}: {state.stopped.reason}"


def in_words(last: Trimmed | None) -> str:
    """Return the result of the last trim in words."""
    if last is None:
        return "never trimmed"
    took = f"{last.seconds:.3g} s of FITRIM, longest slice {last.longest:.2g} s"
    return f"last trimmed {moment(last.ended)}, {size(last.bytes)} ({took})"


def _now(found: TrimStatus) -> str:
    if found.round is None:
        return ""
    share = f"{100 * found.round.offset // max(found.round.size, 1)} %"
    if found.running:
        return f"; trim is running, {share} done"
    return f"; a trim of {moment(found.round.started)} waits at {share}"
