# SPDX-License-Identifier: Apache-2.0
"""What a shell offers is a name and nothing that it would run."""

import click
import pytest

from millrace.system.completion import completes


@click.command()
@click.argument("drive")
def verb(drive: str) -> None:
    """Take a drive."""


@pytest.mark.parametrize("name", ["$(reboot)", "`id`", "a;b", "a b", "a'b", 'a"', "a|b", "--yes", "a\nb", "~", "*", ""])
def test_name_that_a_shell_would_not_leave_alone_is_not_offered(name: str) -> None:
    context = click.Context(verb)
    assert completes(lambda: [name, "S4EVNX0M"])(context, verb.params[0], "") == ["S4EVNX0M"]
