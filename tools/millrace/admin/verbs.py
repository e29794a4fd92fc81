# SPDX-License-Identifier: Apache-2.0
"""`millrace admin …`."""

import click

from millrace.system.run import attempt


@click.group()
def admin() -> None:
    """Manage the first administrator."""


@admin.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def create(as_json: bool) -> None:
    """Create the user `admin`; the one-time password is shown on the console only."""
    from millrace.admin.create import create as create_admin

    report = create_admin(attempt)
    if as_json:
        click.echo(report.model_dump_json(indent=2))
        return
    words = {
        "exists": "The administrator exists; nothing to do.",
        "created": f"Created the administrator {report.user}.",
        "new-password": f"Set a new password for the administrator {report.user}.",
    }
    click.echo(words[report.outcome] + (" The one-time password is on the console." if report.one_time else ""))


@admin.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def check(as_json: bool) -> None:
    """Remove the one-time password from the console if it was changed."""
    from millrace.admin.create import CheckReport
    from millrace.admin.one_time import forget_if_used

    report = CheckReport(forgotten=forget_if_used())
    if as_json:
        click.echo(report.model_dump_json(indent=2))
    elif report.forgotten:
        click.echo("The one-time password was changed and has been removed from the console.")
