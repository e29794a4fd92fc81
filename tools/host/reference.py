# SPDX-License-Identifier: Apache-2.0
"""`man millrace` and the completion of bash, made from the command line itself.

A generator of our own: click-man writes a page for each of some 100 commands, and one page is what is read.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import click
from click.shell_completion import BashComplete

from host import stage
from host.layout import REPO
from millrace.system.errors import Failed

SOURCE = Path(__file__).resolve().relative_to(REPO)
"""This module: the page changes with it, too."""
SHARE = Path("mkosi.extra/usr/share")
"""Where mkosi takes files from that end up in /usr/share."""
MANUAL = Path("man/man8/millrace.8")
COMPLETION = Path("bash-completion/completions/millrace")

EXIT_STATUS = (("0", "Done."), ("1", "Refused or failed."), ("2", "Wrong usage or bad input."))
FILES = (
    ("/etc/millrace/policy.toml", "Overrides decisions of the planner and client networks."),
    ("/srv/pool", "The pool: one directory for each share."),
    ("/var/lib/millrace/", "Plan, pool, desired state and its history, benchmark results."),
    ("/run/millrace/", "Inventory, proposed plan and health of this boot."),
)
SEE_ALSO = "mdadm(8), xfs(5), exports(5), nfs(5), smb.conf(5), systemd.system-credentials(7)"


def escaped(text: str) -> str:
    """Return `text` as roff prints it: one line, no request, a hyphen that can be copied."""
    line = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{line}" if line.startswith((".", "'")) else line


def commands(command: click.Command, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """Yield `command` and all below it that are not hidden, in the order of `--help`."""
    if command.hidden:
        return
    yield command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, click.Context(below, info_name=name, parent=context))


def _usage(command: click.Command, context: click.Context) -> str:
    return " ".join([context.command_path, *command.collect_usage_pieces(context)])


def _described(rows: Iterator[tuple[str, str]]) -> Iterator[str]:
    for term, text in rows:
        yield from (".TP", f"\\fB{escaped(term)}\\fR", escaped(text))


def _options(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    for option in command.get_params(context):
        record = option.get_help_record(context)
        if record is not None and record[1] and "--help" not in option.opts:
            yield record


def _paragraphs(text: str) -> Iterator[str]:
    for number, paragraph in enumerate(text.replace("\b", "").strip().split("\n\n")):
        if number:
            yield ".PP"
        yield escaped(paragraph)


def manual(program: click.Command, version: str, day: str) -> str:
    """Return the manual page of `program` in roff; `day` as it stands at the foot of the page."""
    name = program.name or ""
    top = click.Context(program, info_name=name, **program.context_settings)
    lines = [
        '.\\" SPDX-License-Identifier: Apache-2.0',
        f'.TH {name.upper()} 8 "{day}" "{name} {version}"',
        *(".SH NAME", f"{name} \\- {escaped((program.help or '').rstrip('.'))}"),
        *(".SH SYNOPSIS", escaped(_usage(program, top))),
        *(".SH OPTIONS", *_described(_options(program, top))),
        ".SH COMMANDS",
    ]
    for command, context in commands(program, top):
        if command is program:
            continue
        lines += [f".SS {escaped(_usage(command, context))}", *_paragraphs(command.help or "")]
        lines += _described(_options(command, context))
    lines += [".SH EXIT STATUS", *_described(iter(EXIT_STATUS)), ".SH FILES", *_described(iter(FILES))]
    return "\n".join([*lines, ".SH SEE ALSO", escaped(SEE_ALSO)]) + "\n"


def completion(program: click.Command) -> str:
    """Return the completion of bash for `program`, which asks the program itself at each use."""
    name = program.name or ""
    return BashComplete(program, {}, name, f"_{name}_COMPLETE".upper()).source()


def write(directory: Path, day: str) -> None:
    """Write page and completion of the program that is imported into `directory`."""
    from millrace import __version__
    from millrace.cli.program import millrace

    for path, text in ((MANUAL, manual(millrace, __version__, day)), (COMPLETION, completion(millrace))):
        (directory / path).parent.mkdir(parents=True)
        (directory / path).write_text(text)


def install(tree: Path) -> None:
    """Put page and completion of the program in the staged tree to the files of its image.

    Failed: the program of that tree cannot be imported.
    """
    day = datetime.fromtimestamp(stage.epoch(tree), UTC).date().isoformat()
    with tempfile.TemporaryDirectory(prefix="reference-") as made:
        # The program of the tree, not of this process: a checkout may be edited during a build.
        environment = os.environ | {"PYTHONPATH": f"{tree / 'tools'}:{REPO / 'tools'}"}
        argv = [sys.executable, "-B", "-m", "host.reference", made, day]
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failed(f"The manual page cannot be made: {done.stderr.strip().splitlines()[-1]}")
        for path in (MANUAL, COMPLETION):
            stage.place(Path(made) / path.parts[0], tree / SHARE / path.parts[0])


if __name__ == "__main__":
    write(Path(sys.argv[1]), sys.argv[2])
