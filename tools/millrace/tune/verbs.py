# SPDX-License-Identifier: Apache-2.0
"""`millrace tune`."""

from collections.abc import Iterator

import click

from millrace.errors import Failed
from millrace.provision.pool_file import known_pool
from millrace.system.output import Output, prints
from millrace.system.run import within
from millrace.tune.model import TuneReport

PATIENCE = 60  # seconds; a driver that makes hundreds of queues again needs some
_TOOLS = within(PATIENCE)
_REVERTED = (
    "The next boot, a new port or a new array applies the tuning again. To turn it off until the next boot:",
    "  systemctl stop millrace-tune.service",
)


@click.command()
@click.option("--diff", "diff_only", is_flag=True, help="Print settings that differ from the plan; change nothing.")
@click.option("--revert", is_flag=True, help="Restore the settings from before the first tuning.")
@prints("millrace.tune.model:TuneReport")
def tune(diff_only: bool, revert: bool, show: Output) -> None:
    """Apply runtime tuning of md, block devices, network and servers; a second run changes nothing."""
    if diff_only and revert:
        raise click.UsageError("--diff and --revert cannot be combined")
    report = _report(diff_only, revert)
    show(report, _settings)
    if revert:
        show.text(_REVERTED)
    if report.settings and report.unreadable == report.settings:
        raise Failed("no setting of this server could be read; run millrace tune as root")


def _report(diff_only: bool, revert: bool) -> TuneReport:
    from contextlib import nullcontext

    from millrace.provision.pool_file import approved_plan
    from millrace.tune.collect import stages
    from millrace.tune.originals import tune_lock
    from millrace.tune.run import run

    pool = known_pool()
    if pool is None:
        return TuneReport(settings=0, drift=[], warnings=["no pool yet; nothing is tuned"])
    work = stages(approved_plan(), pool, _TOOLS)
    with nullcontext() if diff_only else tune_lock():
        return run(work, diff_only, revert)


def _settings(report: TuneReport) -> Iterator[str]:
    for one in report.drift:
        verb = "changed" if one.changed else "differs"
        yield f"{verb} {one.path}: {one.before} -> {one.wanted} ({one.reason})"
    for warning in report.warnings:
        yield f"warning: {warning}"
    if report.managed:
        yield f"Managed by the kernel, not changed ({len(report.managed)}): {', '.join(report.managed)}"
    if not report.drift:
        yield f"Nothing to change; {report.settings} settings checked."
