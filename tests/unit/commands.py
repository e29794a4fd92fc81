# SPDX-License-Identifier: Apache-2.0
"""Command lines in the text of the manual, checked against the program."""

import re

import click

from millrace.cli.program import millrace

BLOCK = re.compile(r"^ {4,}millrace ([^#\n]*)", re.MULTILINE)
INLINE = re.compile(r"`millrace ([^`…]+)`")


def wrong(text: str) -> list[str]:
    """Return the command lines that name a verb or an option which does not exist."""
    joined = text.replace("\\\n", " ")
    return [line for line in BLOCK.findall(joined) + INLINE.findall(joined) if not _is_known(line.split())]


def _is_known(words: list[str]) -> bool:
    command: click.Command = millrace
    context = click.Context(command, info_name="millrace")
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        below = command.get_command(context, words[0])
        if below is None:
            return False
        command, words = below, words[1:]
        context = click.Context(command, parent=context)
    options = {name for option in command.get_params(context) for name in (*option.opts, *option.secondary_opts)}
    return all(word.split("=")[0] in options for word in words if re.match(r"--[a-z]", word))
