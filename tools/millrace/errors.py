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
