# SPDX-License-Identifier: Apache-2.0
"""`millrace tune`."""

import click

from millrace.errors import Failed
from millrace.provision.pool_file import known_pool
from millrace.system.run import within
from millrace.tune.model import TuneReport

PATIENCE = 60  # seconds; a driver that makes hundreds of queues again needs some
_TOOLS = within(PATIENCE)


@click.command()
@click.option("--diff", "diff_only", is_flag=True, help="Print settings that differ from the plan; change nothing.")
@click.option("--revert", is_flag=True, help="Restore the settings from before the first tuning.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def tune(diff_only: bool, revert: bool, as_json: bool) -> None:
    """Apply runtime tuning of md, block devices, network and servers; a second run changes nothing."""
    if diff_only and revert:
        raise click.UsageError("--diff and --revert cannot be combined")
    report = _report(diff_only, revert)
    if as_json:
        click.echo(report.model_dump_json(indent=2))
    else:
        _print(report, diff_only, revert)
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


def _print(report: TuneReport, diff_only: bool, revert: bool) -> None:
    for one in report.drift:
        verb = "changed" if one.changed else "differs"
        click.echo(f"{verb} {one.path}: {one.before} -> {one.wanted} ({one.reason})")
    for warning in report.warnings:
        click.echo(f"warning: {warning}")
    if report.managed:
        click.echo(f"The kernel keeps {len(report.managed)} settings for itself: {', '.join(report.managed)}")
    if not report.drift:
        click.echo(f"Nothing to change; {report.settings} settings checked.")
    if revert:
        click.echo("The next boot, a port or an array that appears sets them again; until then this stays off with:")
        click.echo("  systemctl stop millrace-tune.service")
