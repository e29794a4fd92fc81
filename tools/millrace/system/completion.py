# SPDX-License-Identifier: Apache-2.0
"""Completion of names: what a verb takes as its argument, read when the shell asks for it."""

import re
from collections.abc import Callable, Iterable

import click

from millrace.system.errors import MillraceError

# A shell puts a name into the line as it is: one from a drive or the pool is no command there, and no option.
PLAIN = re.compile(r"[\w.,:=@+/][\w.,:=@+/-]*", re.ASCII)

Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def completes(names: Callable[[], Iterable[str]]) -> Complete:
    """Return a `shell_complete=` that offers `names`, and nothing where they cannot be read."""

    def complete(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
        given = context.params.get(parameter.name or "") or ()
        try:
            fit = {name for name in names() if PLAIN.fullmatch(name)}
            return sorted(name for name in fit if name.startswith(begun) and name not in given)
        except (MillraceError, OSError):
            return []

    return complete
