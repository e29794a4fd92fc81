# SPDX-License-Identifier: Apache-2.0
"""Errors are sentences for the person who reads them; the exit code is part of the contract."""


class MillraceError(Exception):
    """One clear sentence that says what to do. Printed on stderr by the command line."""

    exit_code = 1


class Refused(MillraceError):
    """The request was understood and not done (exit 1)."""


class Failed(MillraceError):
    """Something that should have worked did not (exit 1)."""


class BadInput(MillraceError):
    """Wrong usage or an input that cannot be read (exit 2)."""

    exit_code = 2


LONGEST = 600


def printable(text: str) -> str:
    """Text that others wrote, on one line: control characters become escapes such as \\x1b."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def one_line(text: str) -> str:
    """Text that may quote what others wrote, fit for a terminal: one line, no control characters, LONGEST characters.

    The middle of a longer text is left out.
    """
    shown = printable(text)
    if len(shown) <= LONGEST:
        return shown
    half = (LONGEST - 3) // 2
    return f"{shown[:half]} … {shown[-half:]}"
