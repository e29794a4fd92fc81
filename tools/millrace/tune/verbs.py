# SPDX-License-Identifier: Apache-2.0
"""`millrace tune`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from millrace.storage.record.pool_file import known_pool, load_pool
from millrace.system.errors import Failed, Refused
from millrace.system.output import Output, prints
from millrace.system.printing import table
from millrace.system.run import within
from millrace.tune.model import TuneReport

if TYPE_CHECKING:
    from millrace.plan.settings import SettingChange, SettingsFile

PATIENCE = 60  # seconds; a driver that makes hundreds of queues again needs some
_TOOLS = within(PATIENCE)
_REVERTED = (
    "The next boot, a new port or a new array applies the tuning again. To turn it off until the next boot:",
    "  systemctl stop millrace-tune.service",
)


@click.command()
@click.option(
    "--diff",
    "diff_only",
    is_flag=True,
    help="Print what changed since the last boot and settings of the kernel that differ; change nothing.",
)
@click.option("--revert", is_flag=True, help="Restore the settings from before the first tuning.")
@click.option("--settings", "show_settings", is_flag=True, help="Print the settings in force with their reasons.")
@prints("millrace.tune.model:TuneReport", {"--settings": "millrace.plan.settings:SettingsFile"})
def tune(diff_only: bool, revert: bool, show_settings: bool, show: Output) -> None:
    """Compute the settings of this server, and apply those of md, block devices, network and servers.

    A second run changes nothing.
    """
    if diff_only + revert + show_settings > 1:
        raise click.UsageError("--diff, --revert and --settings cannot be combined")
    if show_settings:
        show(_in_force(), _values)
        return
    report = _report(diff_only, revert)
    show(report, _settings)
    if revert:
        show.text(_REVERTED)
    if report.settings and report.unreadable == report.settings:
        raise Failed("no setting of this server could be read; run millrace tune as root")


def _report(diff_only: bool, revert: bool) -> TuneReport:
    from contextlib import nullcontext

    from millrace.tune import settings
    from millrace.tune.collect import stages
    from millrace.tune.originals import tune_lock
    from millrace.tune.run import run

    pool = known_pool()
    if pool is None:
        return TuneReport(settings=0, drift=[], warnings=["no pool yet; nothing is tuned"])
    with nullcontext() if diff_only else tune_lock():
        outcome = settings.current(pool, _TOOLS)
        document = settings.update(outcome, applied=not diff_only)
        unrecorded = settings.record(document) if not diff_only and not revert else None
        report = run(stages(outcome.settings, pool, _TOOLS), diff_only, revert)
    if unrecorded:
        raise Failed(unrecorded)
    aloud = [*filter(None, (outcome.problem, outcome.policy, outcome.settings.unused)), *outcome.settings.warnings]
    changes = [] if revert else document.changes
    return report.model_copy(update={"changes": changes, "warnings": [*aloud, *report.warnings]})


def _in_force() -> "SettingsFile":
    from millrace.storage.record.settings_record import recorded

    load_pool()
    found = recorded()
    if found is None:
        raise Refused("no settings were computed yet; systemctl status millrace-tune")
    return found


def _settings(report: TuneReport) -> Iterator[str]:
    yield from map(_change, report.changes)
    rows = [
        (drift.path, drift.before, drift.wanted, "changed" if drift.changed else "differs", drift.reason)
        for drift in report.drift
    ]
    yield from table(("Setting", "Before", "Planned", "State", "Reason"), rows)
    for warning in report.warnings:
        yield f"warning: {warning}"
    if report.managed:
        yield f"Managed by the kernel, not changed ({len(report.managed)}): {', '.join(report.managed)}"
    if not report.drift:
        yield f"Nothing to change; {report.settings} settings checked."


def _change(one: "SettingChange") -> str:
    from millrace.plan.settings_changes import sentence
    from millrace.system.text import moment

    when = f"since {moment(one.at)}" if one.at else "not in force yet: millrace tune"
    return f"setting {sentence(one)}, {when}: {one.reason}"


def _values(document: "SettingsFile") -> Iterator[str]:
    from millrace.plan.values import value_in_words
    from millrace.system.text import moment

    yield f"Settings of release {document.release}, in force since {moment(document.at)}"
    rows = [(decision.name, value_in_words(decision), decision.reason) for decision in document.settings.values]
    yield from table(("Setting", "Value", "Reason"), rows)
    yield from map(_change, document.changes)
    yield from (
        f"warning: {warning}"
        for warning in filter(None, [document.problem, document.settings.unused, *document.settings.warnings])
    )
