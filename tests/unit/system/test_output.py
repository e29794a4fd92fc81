# SPDX-License-Identifier: Apache-2.0
"""Verbs print their contract with --json and text without it."""

import json
from collections.abc import Callable, Iterable, Iterator

import click
import pytest
from click.testing import CliRunner, Result
from pydantic import BaseModel

from host.layout import REPO
from millrace.system.output import Output, prints

HERE = "tests.unit.system.test_output"
VERBS = sorted((REPO / "tools/millrace").rglob("*verbs.py"))


class Count(BaseModel):
    """The contract of the verbs below."""

    number: int


class Other(BaseModel):
    """No contract of theirs."""

    number: int


def run(body: Callable[[Output], object], *arguments: str, lines: bool = False) -> Result:
    @click.command()
    @prints(f"{HERE}:Count", lines=lines)
    def verb(show: Output) -> None:
        body(show)

    return CliRunner().invoke(verb, arguments, catch_exceptions=False)


def words(count: Count) -> Iterator[str]:
    yield f"counted {count.number}"


def no_text(_: Count) -> Iterable[str]:
    raise AssertionError("text was made for --json")


def no_bar(_: Iterable[Count]) -> Count | None:
    raise AssertionError("text was made for --json")


def test_json_is_the_document_alone() -> None:
    made = run(lambda show: show(Count(number=3), no_text, ["careful"]), "--json")
    assert (made.stdout, made.stderr) == ('{\n  "number": 3\n}\n', "")


def test_text_is_lines_and_warnings_go_to_stderr() -> None:
    made = run(lambda show: show(Count(number=3), words, ["careful"]))
    assert (made.stdout, made.stderr) == ("counted 3\n", "warning: careful\n")


def test_verb_without_text_prints_its_document() -> None:
    assert json.loads(run(lambda show: show(Count(number=3))).stdout) == {"number": 3}


def test_text_beside_the_document_is_no_part_of_json() -> None:
    assert run(lambda show: show.text(["soon"])).stdout == "soon\n"
    assert run(lambda show: show.text(["soon"]), "--json").stdout == ""


def test_control_characters_of_text_and_warnings_become_escapes() -> None:
    made = run(lambda show: show(Count(number=3), lambda _: ["a\x1b[2J", "pem\n\tline"], ["b\x1b[2J"]))
    assert (made.stdout, made.stderr) == ("a\\x1b[2J\npem\n\tline\n", "warning: b\\x1b[2J\n")


def test_stream_is_one_document_a_line() -> None:
    counts = [Count(number=1), Count(number=2)]
    ends: list[Count | None] = []
    made = run(lambda show: ends.append(show.each(iter(counts), no_bar)), "--json", lines=True)
    assert made.stdout == '{"number":1}\n{"number":2}\n'
    run(lambda show: ends.append(show.each(iter(counts), lambda some: next(iter(some)))), lines=True)
    run(lambda show: ends.append(show.each([], no_bar)), "--json", lines=True)
    assert ends == [counts[1], counts[0], None]


@pytest.mark.parametrize("arguments", [["--json"], []])
def test_document_that_is_not_declared_is_refused(arguments: list[str]) -> None:
    with pytest.raises(TypeError, match="Other is no contract of this verb"):
        run(lambda show: show(Other(number=3), lambda _: ["text"]), *arguments)


def test_contract_of_an_option_is_declared_too() -> None:
    @click.command()
    @prints(f"{HERE}:Count", {"--other": f"{HERE}:Other"})
    def verb(show: Output) -> None:
        show(Other(number=3))

    assert json.loads(CliRunner().invoke(verb, [], catch_exceptions=False).stdout) == {"number": 3}


def test_no_verb_prints_json_on_its_own() -> None:
    assert len(VERBS) > 15
    own = [path for path in VERBS if "model_dump" in path.read_text() or '("--json"' in path.read_text()]
    assert own == []
