# SPDX-License-Identifier: Apache-2.0
"""Every verb that takes `--json` and the model of what it prints, as the verb declares it with `prints`."""

from collections.abc import Iterator

import click

from millrace.cli.program import VERBS, command
from millrace.system.output import JsonOption


def outputs() -> dict[str, str]:
    """Map "verb words" to "module:model", sorted; an option that prints something else has a line of its own."""
    return dict(
        sorted(
            (f"{words} {option}".strip(), where)
            for words, json in _options()
            for option, where in json.contracts.items()
        )
    )


def lines() -> list[str]:
    """List the verbs that print one document a line until they are done; the others print one document."""
    return sorted(words for words, json in _options() if json.lines)


def _options() -> Iterator[tuple[str, JsonOption]]:
    for verb in VERBS:
        yield from _below(command(verb), verb)


def _below(verb: click.Command, words: str) -> Iterator[tuple[str, JsonOption]]:
    for parameter in verb.params:
        if isinstance(parameter, JsonOption):
            yield words, parameter
    if isinstance(verb, click.Group):
        for name, one in verb.commands.items():
            yield from _below(one, f"{words} {name}")
