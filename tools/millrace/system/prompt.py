# SPDX-License-Identifier: Apache-2.0
"""Secrets come from a terminal that does not show them or from standard input, never from the command line.

A name that is repeated to confirm is no secret: it may be an option.
"""

import sys

import click

from millrace.errors import BadInput


def secret(title: str, from_stdin: bool, option: str, confirm: bool = False) -> str:
    """Prompt for a secret, twice with `confirm`, or read it from the first line of standard input.

    BadInput: it would have to be typed and there is no terminal; `option` is what reads standard input.
    """
    if from_stdin:
        return sys.stdin.readline().removesuffix("\n")
    if not sys.stdin.isatty():
        raise BadInput(f"no terminal to prompt for the {title.lower()}: use {option}")
    return str(click.prompt(title, hide_input=True, confirmation_prompt=confirm, err=True))


def repeated(title: str, option: str) -> str:
    """Prompt for a name that confirms what is asked for. BadInput: there is no terminal; `option` takes the name."""
    if not sys.stdin.isatty():
        raise BadInput(f"no terminal to prompt for the {title[0].lower()}{title[1:]}: use {option}")
    return str(click.prompt(title, err=True))
