# SPDX-License-Identifier: Apache-2.0
"""`millrace apply`, and `millrace config export`, which writes what it reads."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from millrace.system.command import command
from millrace.system.output import Output, prints
from millrace.system.printing import safe
from millrace.system.prompt import confirm
from millrace.system.run import attempt

if TYPE_CHECKING:
    from millrace.cli.apply.reading import Reading
    from millrace.cli.apply.report import ApplyReport

WOULD_CHANGE = 3
"""The exit status of --check where applying the file would change something."""


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False)
@click.option(
    "--check",
    is_flag=True,
    help="Change nothing; exit status 0: nothing to do, 3: the file would change something.",
)
@click.option("--diff", is_flag=True, help="Print each key that differs, before and after.")
@click.option(
    "--prune",
    is_flag=True,
    help="Remove what a section of the file does not name, after confirmation; data of shares stays.",
)
@click.option("--yes", is_flag=True, help="Do not ask before --prune removes.")
@click.option("--schema", "as_schema", is_flag=True, help="Print the JSON Schema of the file.")
@prints("millrace.cli.apply.report:ApplyReport")
def apply(
    file: Path | None, check: bool, diff: bool, prune: bool, yes: bool, as_schema: bool, show: Output
) -> int | None:
    """Make this server what FILE (TOML) says: all of it, or nothing; what the file does not name stays.

    A network that differs is tried last, and rolled back after 60 seconds without `millrace network confirm`.
    """
    from millrace.cli.apply import change, reading, report
    from millrace.serve.network.trial import NetworkServer

    if as_schema:
        click.echo(_schema())
        return None
    if file is None:
        raise click.UsageError("Missing argument 'FILE'.")
    given, host = _read(file), NetworkServer(attempt)
    try:
        wanted = change.outcome(given, prune, host)
    except reading.FileProblems as error:
        _problems(error.problems)
        raise
    if check:
        show(change.checked_report(given, wanted), lambda made: _lines(made, diff), wanted.warnings)
        return WOULD_CHANGE if wanted.changes else 0
    if wanted.removed and not yes:
        show.text(report.lines(wanted.changes, diff))
        confirm(f"Remove {', '.join(wanted.removed)}?", "--yes")
    done = change.apply(given, wanted, host, lambda line: show.text([line]))
    show(done, lambda made: _lines(made, diff), done.warnings)
    show.text(f"{name} has no password yet: {command('millrace user passwd', name)}" for name in done.without_password)
    return None


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def export(file: Path) -> None:
    """Write the desired state to FILE: with the ending .toml for `millrace apply`, else for `millrace config import`.

    The first has no passwords, numbers or secrets. The second moves a server: it has the hashes and numbers of users;
    protect it like /etc/shadow. Passwords and URLs of alert routes are in neither.
    """
    from millrace.cli.apply import export as as_toml
    from millrace.serve.config import store
    from millrace.serve.revision import portable
    from millrace.system.users import only_root

    only_root()
    config = store.load()
    if file.suffix == ".toml":
        as_toml.export(config, file)
        for warning in as_toml.left_out(config):
            click.echo(safe(f"warning: {warning}"), err=True)
    else:
        portable.export(config, file, attempt)
    written = [share for share in config.shares if share.replica is None or file.suffix != ".toml"]
    counts = f"{len(written)} shares, {len(config.users)} users, {len(config.groups)} groups"
    click.echo(f"{file}: {counts}.")


def _read(file: Path) -> "Reading":
    from millrace.cli.apply import reading

    try:
        return reading.read(file)
    except reading.FileProblems as error:
        _problems(error.problems)
        raise


def _problems(problems: list[str]) -> None:
    """All of several; a single one is the error itself."""
    if len(problems) > 1:
        for problem in problems:
            click.echo(problem, err=True)


def _schema() -> str:
    import json

    from millrace.cli.apply.model import ServerFile

    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **ServerFile.model_json_schema()}
    return json.dumps(document, indent=2)


def _lines(made: "ApplyReport", diff: bool) -> Iterator[str]:
    from millrace.cli.apply import report

    yield from report.lines(made.changes, diff)
    if not made.changes:
        yield f"Nothing to do: this server is as {made.file} says."
    elif not made.applied:
        yield f"{len(made.changes)} change{'s' if len(made.changes) > 1 else ''}; nothing was changed."
    yield from made.verified
