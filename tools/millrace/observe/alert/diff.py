# SPDX-License-Identifier: Apache-2.0
"""What began, got worse and ended between two health documents; pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from millrace.observe.alert.model import Alert
from millrace.observe.health import current
from millrace.observe.health.collect import NOT_RUN
from millrace.observe.health.model import SEVERITY, Health, HealthFinding, Level
from millrace.system import ages

# Health is checked every 30 s: the second document without a problem ends it, an event of md in between does not.
HOLD = timedelta(seconds=20)
# More at once have one cause: a shelf, a switch, a power supply.
SEPARATE = 3


@dataclass(frozen=True)
class AlertDifference:
    """The alerts that are open now, and which of them began or got worse; those that ended are not open any more."""

    open: list[Alert]
    opened: list[Alert] = field(default_factory=list)
    worse: list[Alert] = field(default_factory=list)
    closed: list[Alert] = field(default_factory=list)


def difference(before: Sequence[Alert], health: Health) -> AlertDifference:
    """Compare the open alerts with a health document.

    While the server starts, only what is a failure in spite of that begins, and nothing ends: what is missing may
    appear, and what was wrong may not show yet. Alerts of a check that could not run stay open.
    """
    problems = _problems(health)
    result = AlertDifference(open=[])
    for alert in before:
        finding = problems.pop(alert.key, None)
        if finding is None:
            _absent(result, alert, health)
            continue
        now = _alert(finding, alert.since)
        result.open.append(now)
        if _severity(now) > _severity(alert):
            result.worse.append(now)
    for finding in problems.values():
        if not health.starting or finding.level is Level.FAIL:
            alert = _alert(finding, finding.since or health.at)
            result.open.append(alert)
            result.opened.append(alert)
    return result


def grouped(alerts: Sequence[Alert]) -> list[list[Alert]]:
    """Return the new alerts as those of one message each: a few apart, many together, the worst first."""
    if len(alerts) <= SEPARATE:
        return [[one] for one in alerts]
    return [sorted(alerts, key=_severity, reverse=True)]


def _absent(result: AlertDifference, alert: Alert, health: Health) -> None:
    if health.starting:
        result.open.append(alert.model_copy(update={"gone": None}))
        return
    if not _is_judged(alert, health):
        # A document that cannot say so is no document with the problem: where checks are often late, nothing would end.
        result.open.append(alert)
        return
    gone = alert.gone or health.at
    age = ages.age(alert.gone, health.at) if alert.gone else timedelta()
    if age is None or age >= HOLD:
        result.closed.append(alert)
    else:
        result.open.append(alert.model_copy(update={"gone": gone}))


def _is_judged(alert: Alert, health: Health) -> bool:
    """Whether the check of the problem ran."""
    silent = {f"{alert.check}/{NOT_RUN}", f"{current.NAME}/{current.STOPPED}"}
    return not any(one.key in silent for one in health.findings)


def _problems(health: Health) -> dict[str, HealthFinding]:
    """The findings that are not OK by their key; of several the worst."""
    found: dict[str, HealthFinding] = {}
    for one in sorted(health.findings, key=lambda one: SEVERITY.index(one.level), reverse=True):
        if one.level is not Level.OK:
            found.setdefault(one.key, one)
    return found


def _alert(finding: HealthFinding, since: str) -> Alert:
    return Alert(
        key=finding.key,
        check=finding.check,
        subject=finding.subject,
        level=finding.level,
        sentence=finding.sentence,
        todo=finding.todo,
        since=since,
    )


def _severity(alert: Alert) -> int:
    return SEVERITY.index(alert.level)
