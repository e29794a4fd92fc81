# SPDX-License-Identifier: Apache-2.0
"""`millrace admin …`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from millrace.system.output import Output, prints
from millrace.system.run import attempt
from millrace.system.verb_group import VerbGroup

if TYPE_CHECKING:
    from millrace.lifecycle.access.first_admin import AdminReport, CheckReport


@click.group(cls=VerbGroup)
def admin() -> None:
    """Manage the first administrator."""


@admin.command()
@prints("millrace.lifecycle.access.first_admin:AdminReport")
def create(show: Output) -> None:
    """Create the user `admin`; the one-time password is shown on the console only."""
    from millrace.lifecycle.access.first_admin import create as create_admin

    show(create_admin(attempt), _created)


@admin.command()
@prints("millrace.lifecycle.access.first_admin:CheckReport")
def check(show: Output) -> None:
    """Remove the one-time password from the console if it was changed."""
    from millrace.lifecycle.access.first_admin import CheckReport
    from millrace.lifecycle.access.one_time import forget_if_used

    show(CheckReport(forgotten=forget_if_used()), _forgotten)


def _created(report: "AdminReport") -> Iterator[str]:
    words = {
        "exists": "The administrator exists; nothing to do.",
        "created": f"Created the administrator {report.user}.",
        "new-password": f"Set a new password for the administrator {report.user}.",
    }
    yield words[report.outcome] + (" The one-time password is on the console." if report.one_time else "")


def _forgotten(report: "CheckReport") -> Iterator[str]:
    if report.forgotten:
        yield "The one-time password was changed and has been removed from the console."
