# SPDX-License-Identifier: Apache-2.0
"""Commands that people are told can be typed: with any serial number, and each through one function."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from host.layout import REPO
from millrace.system.command import command

PACKAGE = REPO / "tools/millrace"
# a verb, its options and placeholders, up to where a value is inserted
BEGUN = re.compile(r"\bmillrace(?: [a-z][a-z-]*)+(?: --?[a-z][a-z-]*| [A-Z]+)*[ =]'?$")
# the same in a text for str.format
FORMAT = re.compile(r"\bmillrace(?: [a-z][a-z-]*)+(?: --?[a-z][a-z-]*)* \{")
# it is the name of a table in rules for nftables
TABLE = {"add element inet millrace volume_ports { ", "add element inet millrace volume_ports {{ "}


def texts(folder: Path) -> Iterator[tuple[Path, ast.AST]]:
    for path in sorted(folder.rglob("*.py")):
        if "cli/schema" not in str(path):
            yield from ((path, node) for node in ast.walk(ast.parse(path.read_text())))


def verbs(folder: Path) -> set[str]:
    """Names of constants that hold a verb: what follows one in a sentence is a value."""
    return {
        target.id
        for _, node in texts(folder)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name) and re.fullmatch("millrace [a-z -]+", str(node.value.value))
    }


def by_hand(folder: Path) -> Iterator[str]:
    """Where a value is inserted into a command line without the function."""
    known = verbs(folder)
    for path, node in texts(folder):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and FORMAT.search(text) and not text.startswith(tuple(TABLE)):
            yield f"{path.name}:{node.lineno} {text}"
        if not isinstance(node, ast.JoinedStr):
            continue
        for position, part in enumerate(node.values[:-1]):
            value = node.values[position + 1]
            verb = isinstance(part, ast.Constant) and BEGUN.search(str(part.value)) is not None
            if isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name) and part.value.id in known:
                # CONSTANT, a blank, a value
                blank = isinstance(value, ast.Constant) and value.value == " "
                verb = blank and position + 2 < len(node.values)
            elif not isinstance(value, ast.FormattedValue):
                continue
            if verb:
                yield f"{path.name}:{node.lineno} {ast.unparse(node)}"


@pytest.mark.parametrize("serial", ["S6XYZ123", "-x", "--json", "E F  G", "a'b", "$(reboot)", "a;b", "*"])
@pytest.mark.parametrize("options", [(), ("--foreign",)])
def test_command_that_is_typed_gets_the_value_as_it_is(serial: str, options: tuple[str, ...]) -> None:
    @click.command()
    @click.argument("serial")
    @click.option("--foreign", is_flag=True)
    def erase(serial: str, foreign: bool) -> tuple[str, bool]:
        return serial, foreign

    words = shlex.split(command("millrace drive erase", serial, options=options))
    assert words[:3] == ["millrace", "drive", "erase"]
    assert erase.main(words[3:], standalone_mode=False) == (serial, bool(options))


def test_command_of_usual_values_has_no_quotes() -> None:
    assert command("millrace drive erase", "S6XYZ123", options=["--foreign"]) == (
        "millrace drive erase S6XYZ123 --foreign"
    )
    assert command("millrace share networks set", "10.0.0.0/24", "fd00::/64") == (
        "millrace share networks set 10.0.0.0/24 fd00::/64"
    )


def test_each_command_in_a_message_is_made_by_the_one_function() -> None:
    assert [*by_hand(PACKAGE)] == []


@pytest.mark.parametrize(
    "line",
    [
        'f"first: millrace drive erase {serial}"',
        "f\"first: millrace drive erase '{serial}'\"",
        'f"see millrace alert route add --daily {time}"',
        '"run millrace drive erase {0}".format(serial)',
        'REPLACE = "millrace drive replace"\nf"Replace it: {REPLACE} {serial}"',
    ],
)
def test_command_by_hand_is_seen(line: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(line)
    assert len([*by_hand(tmp_path)]) == 1


@pytest.mark.parametrize(
    "line",
    [
        "f\"first: {command('millrace drive erase', serial)}\"",
        'f"millrace health says more: {error}"',
        'REPLACE = "millrace drive replace"\nf"Replace it: {REPLACE} SERIAL"',
    ],
)
def test_command_of_the_function_and_other_words_are_not(line: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(line)
    assert [*by_hand(tmp_path)] == []
