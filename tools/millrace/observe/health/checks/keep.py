# SPDX-License-Identifier: Apache-2.0
"""Is the state of this server kept on its pool, and was it readable lately? No check opens the pool."""

from datetime import UTC, datetime, timedelta

from millrace.lifecycle.keep import home
from millrace.lifecycle.keep.keeping import status
from millrace.lifecycle.keep.model import KeepStatus, KeptElsewhere
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.system import ages
from millrace.system.text import moment

NAME = "keep"

OLD = timedelta(days=2)
"""A state that was not verified for so long is a warning; it is verified every hour."""

AGAIN = "millrace keep now; if it fails: journalctl -u millrace-keep.service"


def check(host: Host) -> list[HealthFinding]:
    """Return what is wrong with the kept state, else one finding; nothing without a pool."""
    if host.pool is None:
        return []
    if elsewhere := home.recorded():
        return [_elsewhere(elsewhere)]
    kept, now = status(), datetime.now(UTC)
    findings = [*_age(kept, host.pool.created, now), *_content(kept)]
    if findings:
        return findings
    if kept.verified is None or kept.written is None:
        return [
            HealthFinding(check=NAME, level=Level.OK, sentence="The state of this server is not kept on the pool yet.")
        ]
    since = f"written {moment(kept.written)} and verified {moment(kept.verified)}"
    sentence = f"The state of this server is kept on the pool: generation {kept.generation}, {since}."
    return [HealthFinding(check=NAME, level=Level.OK, sentence=sentence)]


def _elsewhere(one: KeptElsewhere) -> HealthFinding:
    sentence = f"The pool is not served: {home.sentence(one)}."
    return HealthFinding(check=NAME, kind="elsewhere", level=Level.FAIL, sentence=sentence, todo=home.DECIDE)


def _age(kept: KeepStatus, created: str, now: datetime) -> list[HealthFinding]:
    if kept.problem:
        last = f"It was last kept {moment(kept.verified)}." if kept.verified else "It was never kept."
        sentence = f"The state of this server is not kept on the pool: {kept.problem}. {last}"
        return [_warning("problem", sentence, AGAIN)]
    at = kept.verified or created
    age = ages.age(at, now)
    if age is None:
        sentence = f"The kept state was last verified {moment(at)}: {ages.why_unknown(at, now)}; it is due now."
        return [_warning("late", sentence, f"Nothing, if the clock is right (timedatectl), or: {AGAIN}")]
    if age > OLD:
        last = f"since {moment(kept.verified)}" if kept.verified else "since the pool was created"
        sentence = f"The state of this server was not kept on the pool {last}."
        return [_warning("late", sentence, AGAIN)]
    return []


def _content(kept: KeepStatus) -> list[HealthFinding]:
    findings = []
    if kept.unread:
        more = f" and {len(kept.unread) - 1} more" if len(kept.unread) > 1 else ""
        sentence = f"Not everything of this server is kept on the pool: {kept.unread[0]}{more}."
        findings.append(_warning("unread", sentence, AGAIN))
    for path in kept.damaged:
        sentence = f"The kept state {path} is damaged; the one before it and a new one can be read."
        todo = f"Check the pool: millrace pool scrub start; then remove the file: rm {path}"
        findings.append(_warning("damaged", sentence, todo, path))
    return findings


def _warning(kind: str, sentence: str, todo: str, subject: str = "") -> HealthFinding:
    return HealthFinding(check=NAME, kind=kind, subject=subject, level=Level.WARN, sentence=sentence, todo=todo)
