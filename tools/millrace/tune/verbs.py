# SPDX-License-Identifier: Apache-2.0
"""`millrace tune`."""

import click

from millrace import paths, store
from millrace.provision.model import Pool


@click.command()
@click.option("--diff", "look_only", is_flag=True, help="Print what is not as planned, change nothing.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def tune(look_only: bool, as_json: bool) -> None:
    """Set md, block and network settings as the approved plan says; a second run changes nothing."""
    from millrace.share.approved import approved_plan
    from millrace.tune.apply import apply
    from millrace.tune.collect import collect
    from millrace.tune.model import TuneReport

    if not paths.pool_file().exists():
        report = TuneReport(settings=0, drift=[], warnings=["there is no pool yet, nothing is tuned"])
    else:
        knobs, warnings = collect(approved_plan(), store.read_model(paths.pool_file(), Pool))
        report = apply(knobs, warnings, look_only)
    if as_json:
        click.echo(report.model_dump_json(indent=2))
        return
    for one in report.drift:
        verb = "changed" if one.changed else "differs"
        click.echo(f"{verb} {one.path}: {one.before} -> {one.wanted} ({one.reason})")
    for warning in report.warnings:
        click.echo(f"warning: {warning}")
    if not report.drift:
        click.echo(f"Nothing to change, {report.settings} settings looked at.")
