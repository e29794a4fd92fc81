# SPDX-License-Identifier: Apache-2.0
"""Questions on a terminal. Secrets come from one that does not show them or from standard input, never from the command
line; what is about to be written or erased is confirmed.
"""

import sys

import click

from millrace.system.errors import BadInput, Refused
from millrace.system.printing import safe


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
    """Prompt for a name that confirms what is asked for.

    BadInput: there is no terminal; `option` takes the name, as `--host NAME`.
    """
    if not sys.stdin.isatty():
        raise BadInput(f"no terminal to prompt for the {title[0].lower()}{title[1:]}: use {option}")
    return str(click.prompt(safe(title), err=True))


def confirm(question: str, options: str) -> None:
    """Ask a question that is to be answered with yes.

    BadInput: there is no terminal; `options` confirm without one. Refused: the answer is not yes.
    """
    if not sys.stdin.isatty():
        raise BadInput(f"no terminal to confirm this: use {options}")
    if not click.confirm(safe(question), err=True):
        raise Refused("not confirmed; nothing was written")


def typed_yes(question: str, options: str) -> None:
    """Ask a question that only the typed word yes answers.

    BadInput: there is no terminal; `options` confirm without one. Refused: something else was typed.
    """
    if not sys.stdin.isatty():
        raise BadInput(f"no terminal to confirm this: use {options}")
    if click.prompt(f"{safe(question)} Type yes to go on", default="", show_default=False, err=True).strip() != "yes":
        raise Refused("not confirmed; nothing was changed by this step")
