# SPDX-License-Identifier: Apache-2.0
"""Did the last update fail, and is a version on trial that nobody accepted?"""

from datetime import timedelta

from millrace.lifecycle.etc import factory
from millrace.lifecycle.update import freshness, planned_reboot, records
from millrace.lifecycle.update.model import LastUpdate, PlannedReboot
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.system import ages
from millrace.system.errors import BadInput
from millrace.system.os_release import image_version
from millrace.system.text import moment

NAME = "update"

SHOWN = timedelta(days=14)
"""So long a version that failed is a warning; `millrace update status` shows it afterwards, too."""


def check(host: Host) -> list[HealthFinding]:
    """Return what is wrong with the last update, else one finding; then what there is to say of /etc."""
    return [*_version(host), *_source(), *_etc()]


def _source() -> list[HealthFinding]:
    try:
        warnings = freshness.of_source(records.source())
    except BadInput:
        # root alone reads the URL
        return []
    return [
        HealthFinding(
            check=NAME,
            kind="source",
            subject=warning.partition(":")[0],
            level=Level.WARN,
            sentence=f"{warning[0].upper()}{warning[1:]}.",
            todo="millrace update source https://…; then millrace update check",
        )
        for warning in warnings
    ]


def _etc() -> list[HealthFinding]:
    problem = factory.trouble()
    if problem is not None:
        sentence = f"/etc is not as version {image_version()} brings it: {problem}."
        todo = "journalctl -b -u millrace-etc.service; the next boot tries again"
        return [HealthFinding(check=NAME, kind="etc", level=Level.WARN, sentence=sentence, todo=todo)]
    kept = factory.unlike()
    if not kept:
        return []
    files = ", ".join(f"/{factory.ETC}/{name}" for name in kept[:3]) + (", …" if len(kept) > 3 else "")
    sentence = f"Changed on this server and kept, version {image_version()} has others: {files}."
    return [HealthFinding(check=NAME, kind="etc", level=Level.OK, sentence=sentence)]


def _version(host: Host) -> list[HealthFinding]:
    last, trial = records.last(), records.trial()
    if trial is not None and trial.version == image_version() and not host.starting:
        sentence = f"Version {trial.version} runs and is not accepted."
        todo = "journalctl -u millrace-boot-check.service; to go back: millrace update rollback --reboot now"
        return [HealthFinding(check=NAME, kind="trial", level=Level.WARN, sentence=sentence, todo=todo)]
    if last and last.state == "failed" and ages.is_recent(last.at, SHOWN):
        return [_failed(last)]
    plan = planned_reboot.PLAN.get()
    if plan is not None and (planned_reboot.is_of_another_clock(plan) or plan.deferred == planned_reboot.JUMPED):
        return [_not_at_its_time(plan)]
    if trial is not None:
        sentence = f"Version {trial.version} is installed and starts at the next boot."
    elif last and last.state == "accepted":
        sentence = f"Version {last.version} was accepted {moment(last.at)}."
    else:
        sentence = f"This server runs version {image_version()}."
    return [HealthFinding(check=NAME, level=Level.OK, sentence=sentence)]


def _not_at_its_time(plan: PlannedReboot) -> HealthFinding:
    sentence = f"The server does not reboot as planned ({moment(plan.at)}): the clock has jumped since."
    todo = "Plan it again: millrace update reboot HH:MM"
    return HealthFinding(check=NAME, kind="reboot", level=Level.WARN, sentence=sentence, todo=todo)


def _failed(last: LastUpdate) -> HealthFinding:
    sentence = f"Version {last.version} failed on this server, {last.before} runs again. {' '.join(last.problems)}"
    todo = "Install a later version: millrace update check"
    return HealthFinding(
        check=NAME, kind="failed", subject=last.version, level=Level.WARN, sentence=sentence.strip(), todo=todo
    )
