# SPDX-License-Identifier: Apache-2.0
"""Completion of names: what a verb takes as its argument, read when the shell asks for it."""

from collections.abc import Callable, Iterable

import click

from millrace.system.errors import MillraceError

Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def completes(names: Callable[[], Iterable[str]]) -> Complete:
    """Return a `shell_complete=` that offers `names`, and nothing where they cannot be read."""

    def complete(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
        given = context.params.get(parameter.name or "") or ()
        try:
            return sorted(name for name in set(names()) if name.startswith(begun) and name not in given)
        except (MillraceError, OSError):
            return []

    return complete
