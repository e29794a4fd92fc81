# SPDX-License-Identifier: Apache-2.0
"""The current health: root runs all checks, other users get the last results of root and what they may check."""

import os
from datetime import UTC, datetime, timedelta

from millrace.observe.health.checks import arrays, filesystem, pool
from millrace.observe.health.collect import CHECKS, collect, run_check
from millrace.observe.health.host import Host
from millrace.observe.health.model import Health, HealthFinding, Level, continued, worst
from millrace.system import ages, paths
from millrace.system.documents import read_model
from millrace.system.errors import MillraceError
from millrace.system.text import moment

# These need no privileges, and are what users wait for.
UNPRIVILEGED = {"pool": pool.check, "arrays": arrays.check, "filesystem": filesystem.not_mounted}
NAME = "health"
# It is checked every 30 s; a box under load may be late once.
STALE_SECONDS = 120
STOPPED = "stopped"
"""The kind of the finding that the checks themselves have stopped."""


def current(host: Host) -> Health:
    """Return the health now; checks that have stopped are a failure of their own, since the results are old."""
    if os.geteuid() != 0:
        return last_recorded(host)
    found, written = collect(host), last_written()
    late = _late(written, ages.when(found.at)) if written else []
    findings = [*found.findings, *late]
    return continued(written, found.model_copy(update={"level": worst(findings), "findings": findings}))


def last_recorded(host: Host, now: datetime | None = None) -> Health:
    """Return what millrace-health.service wrote, with the state of pool, arrays and file system of now."""
    written, at = last_written(), (now or datetime.now(UTC))
    live = [finding for name, check in UNPRIVILEGED.items() for finding in run_check(name, check, host)]
    if written is None:
        findings = [*live, _not_checked("Health has not been checked in this boot yet.", host.starting)]
        return Health(at=at.isoformat(timespec="seconds"), level=worst(findings), findings=findings)
    # What root alone can see of a file system that is mounted is in what root saw.
    replaced = {"pool", "arrays", *(finding.check for finding in live)}
    seen = [finding for finding in written.findings if finding.check not in replaced]
    late = _late(written, at)
    seen = [*(finding for finding in seen if finding.check != NAME or not late), *late]
    findings = sorted(
        [*live, *seen], key=lambda finding: list(CHECKS).index(finding.check) if finding.check in CHECKS else -1
    )
    return continued(
        written, Health(at=written.at, level=worst(findings), findings=findings, starting=written.starting)
    )


def overdue(at: str) -> HealthFinding:
    """Return the finding that the health check itself has failed: the results are from `at`."""
    sentence = f"The health check has stopped; the results shown are from {moment(at)}."
    todo = "systemctl status millrace-checker.service millrace-health.service"
    return HealthFinding(check=NAME, kind=STOPPED, level=Level.FAIL, sentence=sentence, todo=todo)


def stopped() -> Health:
    """Return what millrace-health.service wrote last, with the failure that it does not end any more."""
    written = last_written()
    at = written.at if written else datetime.now(UTC).isoformat(timespec="seconds")
    findings = [overdue(at), *(one for one in (written.findings if written else []) if one.check != NAME)]
    return Health(at=at, level=Level.FAIL, findings=findings)


def last_written() -> Health | None:
    """What was written last; None where there is nothing, or nothing that can be read."""
    try:
        return read_model(paths.health_file(), Health)
    except MillraceError:
        return None


def _late(written: Health, now: datetime) -> list[HealthFinding]:
    fresh = ages.is_recent(written.at, timedelta(seconds=STALE_SECONDS), now)
    return [] if fresh else [overdue(written.at)]


def level_now(host: Host) -> Level:
    """Return the level alone, cheap enough for every second, also for root."""
    return last_recorded(host).level


def _not_checked(sentence: str, starting: bool) -> HealthFinding:
    if starting:
        return HealthFinding(check=NAME, level=Level.WARN, sentence=f"{sentence} The server is still starting.")
    return HealthFinding(
        check=NAME, level=Level.UNKNOWN, sentence=sentence, todo="systemctl status millrace-checker.service"
    )
