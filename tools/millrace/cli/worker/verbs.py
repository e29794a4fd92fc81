# SPDX-License-Identifier: Apache-2.0
"""`millrace answer`."""

from pathlib import Path

import click


@click.command(hidden=True)
@click.option(
    "--socket",
    "path",
    type=click.Path(path_type=Path),
    help="Listen at this socket, for root alone, and run WORDS for each connection.",
)
@click.option(
    "--every", type=click.FloatRange(min=1), help="With --socket: run WORDS also this many seconds after each run."
)
@click.option("--unit", help="With --every: the service to start where WORDS failed or took too long.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def answer(path: Path | None, every: float | None, unit: str | None, words: tuple[str, ...]) -> None:
    """Serve requests as JSON lines on stdin, {"id": 1, "words": ["status", "--json"]}, until the input ends."""
    if (every is None) != (unit is None) or (every is not None and path is None):
        raise click.UsageError("--every and --unit are for --socket, and belong together.")
    if path is not None:
        from millrace.cli.worker.resident import Period, listen

        listen(path, words, Period(every, unit) if every is not None and unit is not None else None)
    if words:
        raise click.UsageError("WORDS are for --socket; without it each request has its own.")
    from millrace.cli.worker.server import VerbServer

    VerbServer().serve(0, 1)
