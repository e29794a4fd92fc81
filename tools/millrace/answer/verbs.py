# SPDX-License-Identifier: Apache-2.0
"""`millrace answer`."""

import click


@click.command()
def answer() -> None:
    """Serve requests as JSON lines on stdin, {"id": 1, "words": ["status", "--json"]}, until the input ends."""
    from millrace.answer.server import Server

    Server(0, 1).serve()
