# SPDX-License-Identifier: Apache-2.0
"""Command lines in messages: with any value in them, a user can type them into a shell as they are."""

import shlex
from collections.abc import Sequence


def command(verb: str, *values: str, options: Sequence[str] = ()) -> str:
    """Return a command line, such as `millrace drive replace S6XYZ123`.

    `verb` and `options` are written as they are, `values` are quoted for a shell. Where a value begins with a dash,
    `--` tells it from an option: a serial number may be `-x`.
    """
    quoted = [shlex.quote(value) for value in values]
    if any(value.startswith("-") for value in values):
        return " ".join((verb, *options, "--", *quoted))
    return " ".join((verb, *quoted, *options))
