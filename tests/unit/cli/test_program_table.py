# SPDX-License-Identifier: Apache-2.0
"""What holds for each verb: its help, the order of its options, and what wrong words are answered with."""

import ast
import re
from collections.abc import Iterator

import click
import pytest
from click.shell_completion import ShellComplete

from host.layout import REPO
from millrace.cli import program as cli
from millrace.serve.config import store
from millrace.serve.config.model import Group
from millrace.serve.share.edit import create_shares
from millrace.storage.drive.drive_word import DRIVE
from millrace.system.errors import Refused
from tests.fakes.appliance import Appliance


def verbs() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    waiting = [((verb,), cli.command(verb)) for verb in cli.VERBS]
    while waiting:
        words, command = waiting.pop(0)
        yield words, command
        if isinstance(command, click.Group):
            waiting += [((*words, name), below) for name, below in command.commands.items()]


ALL = dict(verbs())
VISIBLE = {words: command for words, command in ALL.items() if not command.hidden and not ALL[words[:1]].hidden}


def called(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = cli.run(words)
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_each_verb_stands_in_one_section_of_help_or_is_hidden() -> None:
    shown = sorted(verb for section in cli.SECTIONS.values() for verb in section)
    assert shown == sorted(verb for verb in cli.VERBS if not ALL[verb,].hidden)


def test_short_option_of_help_prints_what_the_long_one_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for command in VISIBLE.values():
        # click keeps the option that it made for the first context, which may be that of another test
        monkeypatch.setattr(command, "_help_option", None)
    for words in (*VISIBLE, ()):
        status, text, _ = called(capsys, *words, "-h")
        assert status == 0 and text.startswith("Usage: millrace"), words
        assert called(capsys, *words, "--help")[1] == text
        assert called(capsys, "help", *words)[1] == text


def test_no_summary_in_help_is_cut_off(capsys: pytest.CaptureFixture[str]) -> None:
    cut = [words for words in (*VISIBLE, ()) if "..." in called(capsys, *words, "-h")[1].partition("\n\n")[2]]
    assert cut == []


def test_each_command_below_a_group_is_listed_unless_it_is_hidden() -> None:
    unlisted = [
        (words, name)
        for words, command in ALL.items()
        if isinstance(command, click.Group)
        for name, below in command.commands.items()
        if not below.hidden and f"\n  {name} " not in command.get_help(click.Context(command, info_name=words[-1]))
    ]
    assert unlisted == []


def test_required_options_come_first_and_json_last() -> None:
    for words, command in VISIBLE.items():
        options = [option for option in command.params if isinstance(option, click.Option)]
        required = [option.required for option in options]
        assert required == sorted(required, reverse=True), words
        names = [option.opts[0] for option in options]
        assert "--json" not in names[:-1], words


def test_each_option_is_described_by_more_than_how_often_it_is_given() -> None:
    bare = [
        (words, option.opts[0])
        for words, command in VISIBLE.items()
        for option in command.params
        if isinstance(option, click.Option) and not (option.help or "").partition("epeat it")[0].strip("Rr ;")
    ]
    assert bare == []


def test_misspelt_verb_is_answered_with_the_nearest_one(capsys: pytest.CaptureFixture[str]) -> None:
    answers = {words: called(capsys, *words[:-1], f"{words[-1]}x")[2] for words in VISIBLE if len(words[-1]) > 3}
    assert [words for words, answer in answers.items() if f"Did you mean '{words[-1]}'" not in answer] == []


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("stat",), "'status'"),
        (("shares",), "'share'"),
        (("share", "lst"), "'list' or 'set'"),
        (("share", "delete"), "'remove'"),
        (("user", "add"), "'create'"),
        (("drive", "ls"), "'list'"),
    ],
)
def test_word_of_other_programs_is_answered_with_ours(
    words: tuple[str, ...], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert f"Did you mean {meant}?" in called(capsys, *words)[2]


def test_verbs_for_units_are_suggested_to_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    assert called(capsys, "answered")[2] == "millrace: No such command 'answered'. See 'millrace --help'.\n"
    assert "Did you mean" not in called(capsys, "drive", "appl")[2]


def test_misspelt_option_is_answered_with_the_nearest_one(capsys: pytest.CaptureFixture[str]) -> None:
    printing = [
        words for words, command in VISIBLE.items() if any("--json" in option.opts for option in command.params)
    ]
    assert len(printing) > 100
    assert [words for words in printing if "--json" not in called(capsys, *words, "--jsno")[2]] == []


def parameters() -> Iterator[tuple[str, click.Parameter]]:
    for words, command in VISIBLE.items():
        yield from ((" ".join(words), parameter) for parameter in command.params)


def test_each_drive_is_taken_by_serial_number_bay_or_device() -> None:
    about = re.compile(r"(?i)drive|serial|^old$")
    named = [
        (words, parameter.name)
        for words, parameter in parameters()
        if parameter.type.name == "text"
        and parameter.name != "serial_again"
        and (about.search(parameter.name or "") or about.search(parameter.human_readable_name))
    ]
    assert named == []
    assert sum(parameter.type is DRIVE for _, parameter in parameters()) >= 11


def test_names_that_exist_are_completed_wherever_they_are_taken() -> None:
    kinds = {"share": "share", "user": "user", "group": "group"}
    new = {"share create", "user create", "group create"}
    bare = [
        (words, parameter.name)
        for words, parameter in parameters()
        if words not in new
        and (
            (words.split()[0] in kinds and words.count(" ") == 1 and parameter.name in ("name", "names", "source"))
            or parameter.opts[0] in ("--share", "--group", "--smb-user", "--smb-group")
        )
        and parameter._custom_shell_complete is None
    ]
    assert bare == [("share copy", "source")]


def test_shares_users_and_groups_are_completed_without_rights(appliance: Appliance) -> None:
    create_shares(["models"], {}, appliance.server)
    store.change("root", "people", lambda config: config.model_copy(update={"groups": [Group(name="ml", gid=3000)]}))

    def completed(*words: str, begun: str = "") -> list[str]:
        return [
            item.value for item in ShellComplete(cli.millrace, {}, "millrace", "X").get_completions(list(words), begun)
        ]

    assert completed("share", "show") == ["data", "models"]
    assert completed("share", "verify", "data") == ["models"]
    assert completed("share", "set", "data", "--smb-user") == ["admin"]
    assert completed("user", "set", "anna", "--group", begun="m") == ["ml"]
    assert "clone" in completed("job", "show") and completed("share", "create") == []


def test_nothing_is_completed_where_names_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable() -> None:
        raise Refused("root only")

    monkeypatch.setattr("millrace.serve.config.store.read", unreadable)
    context = click.Context(ALL["share", "show"])
    assert ALL["share", "show"].params[0].shell_complete(context, "d") == []


def test_option_that_answers_a_question_is_named_with_its_argument() -> None:
    calls = [
        node
        for path in (REPO / "tools/millrace").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "repeated" and len(node.args) == 2
    ]
    options = [str(node.args[1].value) for node in calls if isinstance(node.args[1], ast.Constant)]
    assert len(options) == len(calls) >= 5
    assert [option for option in options if not re.fullmatch(r"--[a-z-]+ [A-Z]+", option)] == []
