# SPDX-License-Identifier: Apache-2.0
"""One document describes the output of each verb."""

import json
import re
from collections.abc import Iterator
from importlib import import_module

import click
import pytest
from click.testing import CliRunner

from millrace.cli import program
from millrace.cli.schema import outputs, verbs
from millrace.cli.schema.document import schema
from millrace.system.output import JsonOption

# https://developer.mozilla.org/docs/Web/API: what a page has without an import
OF_THE_BROWSER = {
    "Array", "Blob", "Cache", "Comment", "Document", "Element", "Event", "File", "History", "Location", "Lock", "Map",
    "Node", "Notification", "Number", "Object", "Option", "Performance", "Range", "Record", "Request", "Response",
    "Selection", "Set", "Storage", "String", "Text", "Window", "Worker",
}  # fmt: skip


OUTPUTS = outputs.outputs()
LINES = outputs.lines()


def options(command: click.Command, words: str) -> Iterator[tuple[str, click.Parameter]]:
    """Every --json below, with the words of its verb."""
    if isinstance(command, click.Group):
        for name, one in command.commands.items():
            yield from options(one, f"{words} {name}")
    for parameter in command.params:
        if "--json" in parameter.opts:
            yield words, parameter


def every_verb() -> dict[str, click.Parameter]:
    commands = {verb: program.command(verb) for verb in program.VERBS}
    return {words: option for verb, command in commands.items() for words, option in options(command, verb)}


@pytest.mark.parametrize("verb", every_verb())
def test_every_verb_with_json_declares_its_model(verb: str) -> None:
    assert isinstance(every_verb()[verb], JsonOption), f"give '{verb}' its --json by @prints(\"module:model\")"
    assert verb in OUTPUTS


def test_options_that_print_another_model_are_options_of_their_verb() -> None:
    commands = {verb: program.command(verb) for verb in program.VERBS}
    seen = [words.partition(" --") for words in OUTPUTS if " --" in words]
    assert seen
    for words, _, option in seen:
        first, *rest = words.split()
        command = commands[first]
        for word in rest:
            command = command.commands[word]
        assert any(f"--{option}" in one.opts for one in command.params)


def test_streams_are_the_verbs_that_report_progress() -> None:
    assert LINES == [
        "approve", "backup check", "backup drill", "backup restore", "backup run",
        "bench follow", "bench run", "drive add", "drive erase", "drive remove", "drive replace",
        "drive resume", "drive test", "install write", "job follow", "pool destroy", "pool grow", "replica drill",
        "replica promote", "replica sync", "share clone",
        "share copy", "share permissions", "snapshot create", "snapshot get", "snapshot rollback", "tuner follow",
        "tuner run", "update upload", "watch",
    ]  # fmt: skip


def test_every_reference_leads_to_a_definition() -> None:
    made = schema()
    text = made.model_dump_json(by_alias=True)
    assert set(re.findall(r'"#/\$defs/([^"]+)"', text)) <= set(made.definitions)


def test_names_are_for_people_and_not_those_of_the_browser() -> None:
    names = set(schema().definitions)
    assert {"Share", "DesiredShare", "HealthFinding", "PlanFinding", "MdArray"} <= names
    assert not names & OF_THE_BROWSER
    assert not [name for name in names if "__" in name]


def test_a_field_with_a_default_is_printed_too() -> None:
    found = schema().definitions["PlanFile"]
    assert found["required"] == ["schema_version", "sha256", "proposal"]


def test_the_verb_prints_the_document_or_the_list() -> None:
    printed = json.loads(CliRunner().invoke(verbs.schema, ["--json"], catch_exceptions=False).stdout)
    assert printed["schema_version"] == 1 and printed["outputs"]["plan"] == {"$ref": "#/$defs/PlanFile"}
    listed = CliRunner().invoke(verbs.schema, [], catch_exceptions=False).stdout
    assert re.search(r"^share list +ShareList$", listed, re.MULTILINE)
    assert re.search(r"^approve +ApproveLine, a line each$", listed, re.MULTILINE)


@pytest.mark.parametrize("verb", [verb for verb in OUTPUTS if verb not in LINES])
def test_every_document_says_its_version(verb: str) -> None:
    """A page refuses what does not."""
    module, _, name = OUTPUTS[verb].partition(":")
    assert "schema_version" in getattr(import_module(module), name).model_fields
