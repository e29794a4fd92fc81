# SPDX-License-Identifier: Apache-2.0
"""Errors are sentences for the user; the exit code is part of the contract."""


class MillraceError(Exception):
    """One clear sentence with the remedy. Printed on stderr by the command line."""

    exit_code = 1


class Refused(MillraceError):
    """The request is valid and was not carried out (exit 1)."""


class Failed(MillraceError):
    """Something that should have worked did not (exit 1)."""


class BadInput(MillraceError):
    """Wrong usage or an input that cannot be read (exit 2)."""

    exit_code = 2


class LaterRelease(BadInput):
    """A document that a later release wrote: it is not damaged. `release` is which one, where the document names it."""

    def __init__(self, sentence: str, release: str | None = None) -> None:
        super().__init__(sentence)
        self.release = release
