# SPDX-License-Identifier: Apache-2.0
"""`millrace journal …`."""

import click

from millrace.system.run import attempt
from millrace.system.verb_group import VerbGroup


@click.group(cls=VerbGroup)
def journal() -> None:
    """Forward the journal to another host."""


@journal.command()
def apply() -> None:
    """Start, change or stop forwarding as `[journal]` of the policy says."""
    from millrace.serve.log_forward import forward

    click.echo(forward.apply(attempt))
