# SPDX-License-Identifier: Apache-2.0
"""`millrace answer`."""

from pathlib import Path

import click


@click.command()
@click.option(
    "--socket",
    "path",
    type=click.Path(path_type=Path),
    help="Listen at this socket, for root alone, and run WORDS for each connection.",
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def answer(path: Path | None, words: tuple[str, ...]) -> None:
    """Serve requests as JSON lines on stdin, {"id": 1, "words": ["status", "--json"]}, until the input ends."""
    if path is not None:
        from millrace.answer.resident import listen

        listen(path, words)
    if words:
        raise click.UsageError("WORDS are for --socket; without it each request has its own.")
    from millrace.answer.server import Server

    Server().serve(0, 1)
