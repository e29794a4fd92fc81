# SPDX-License-Identifier: Apache-2.0
"""Errors are one sentence on stderr with the right exit status, and the program starts quickly."""

import errno
import io
import subprocess
import sys
from contextlib import nullcontext

import click
import pytest

from millrace import __version__
from millrace.cli import program as cli
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.prompt import confirm, secret, typed_yes


def run(*arguments: str) -> int | str | None:
    with pytest.raises(SystemExit) as end:
        cli.main(arguments)
    return end.value.code


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Missing command"),
        (["frobnicate"], "No such command 'frobnicate'"),
        (["--frobnicate"], "No such option"),
        (["plan", "--frobnicate"], "See 'millrace plan --help'"),
        (["volume", "remove", "x", "--delete-data"], "See 'millrace volume remove --help'"),
        (["inventory", "everything"], "unexpected extra argument"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert words in said.err
    assert said.err.startswith("millrace: ")
    assert said.err.count("\n") == 1


def test_group_without_a_verb_shows_its_help_where_help_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("share") == 2
    said = capsys.readouterr()
    assert said.out.startswith("Usage: millrace share ") and "verify" in said.out
    assert said.err == "" and "See '" not in said.out


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (Refused("no"), 1, "no"),
        (Failed("it broke"), 1, "it broke"),
        (BadInput("bad key"), 2, "bad key"),
        (click.Abort(), 130, "interrupted"),
    ],
)
def test_errors_of_a_verb(
    error: Exception,
    status: int,
    sentence: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @click.command()
    def plan() -> None:
        raise error

    monkeypatch.setattr("millrace.plan.verbs.plan", plan)
    assert run("plan") == status
    assert capsys.readouterr().err == f"millrace: {sentence}\n"


@pytest.mark.parametrize("argument", ["\0", "data\0", "\udcff"])
def test_an_argument_that_is_no_text_is_refused(argument: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("plan", "--explain", argument) == 2
    assert capsys.readouterr().err == "millrace: an argument is not text in UTF-8; correct it and try again\n"


def test_an_error_quotes_no_control_characters_and_no_endless_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("x\ny\x1b[2Jz") == 2
    assert "'x\\ny\\x1b[2Jz'" in capsys.readouterr().err
    assert run("x" * 70_000) == 2
    said = capsys.readouterr().err
    assert len(said) < 700 and said.startswith("millrace: No such command 'xxx") and said.endswith("--help'.\n")


def test_an_error_of_the_system_is_a_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    @click.command()
    def plan() -> None:
        raise OSError(errno.EIO, "Input/output error", "/srv/pool/data")

    monkeypatch.setattr(cli.millrace, "get_command", lambda context, name: plan)
    assert run("plan") == 1
    assert capsys.readouterr().err == (
        "millrace: /srv/pool/data fails (Input/output error): millrace health says what is wrong\n"
    )


def test_a_secret_is_not_asked_for_where_it_cannot_be_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse\nmore\n"))
    with pytest.raises(BadInput, match="no terminal to prompt for the password: use --password-stdin"):
        secret("Password", False, "--password-stdin")
    assert secret("Password", True, "--password-stdin") == "correct horse"


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--version") == 0
    assert __version__ in capsys.readouterr().out


def test_help_lists_every_verb_without_importing_any() -> None:
    program = (
        "import sys; from millrace.cli.program import run; assert run(['--help']) == 0;"
        "heavy = {'pydantic', 'rich', 'jinja2', 'millrace.plan.verbs'} & set(sys.modules); assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(f"  {verb} " in done.stdout for verbs in cli.SECTIONS.values() for verb in verbs)


def test_a_look_at_everything_imports_nothing_that_it_does_not_need() -> None:
    program = (
        "import sys; from millrace.cli import program as cli; import millrace.observe.health.status;"
        "heavy = {'rich', 'jinja2', 'millrace.measure.bench.result.model'} & set(sys.modules); assert not heavy, heavy;"
        "from pydantic.plugin._loader import get_plugins; assert get_plugins() == ()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("verb", [["pool", "show"], ["drive", "list"]])
def test_help_of_a_verb_imports_neither_its_work_nor_that_of_its_neighbours(verb: list[str]) -> None:
    program = (
        f"import sys; from millrace.cli.program import run; assert run({[*verb, '--help']}) == 0;"
        "rooms = ('lifecycle.keep', 'plan', 'tune.rebuild_speed', 'storage.record', 'storage.provision');"
        "heavy = [one for one in sys.modules if one.startswith(tuple(f'millrace.{room}' for room in rooms))];"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_change_is_not_confirmed_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    with pytest.raises(BadInput, match="no terminal to confirm this: use --yes"):
        confirm("Write?", "--yes")


@pytest.mark.parametrize(("answer", "confirmed"), [("y", True), ("n", False), ("", False)])
def test_change_is_confirmed_with_yes_alone(monkeypatch: pytest.MonkeyPatch, answer: str, confirmed: bool) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal(f"{answer}\n"))
    with nullcontext() if confirmed else pytest.raises(Refused, match="not confirmed; nothing was written"):
        confirm("Write?", "--yes")


@pytest.mark.parametrize(("answer", "confirmed"), [("yes", True), ("y", False), ("YES", False), ("", False)])
def test_step_of_a_rescue_is_confirmed_with_the_whole_word(
    monkeypatch: pytest.MonkeyPatch, answer: str, confirmed: bool
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal(f"{answer}\n"))
    with nullcontext() if confirmed else pytest.raises(Refused, match="not confirmed; nothing was changed"):
        typed_yes("Carry out this step?", "--step NAME --yes")
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    with pytest.raises(BadInput, match="no terminal to confirm this: use --step NAME --yes"):
        typed_yes("Carry out this step?", "--step NAME --yes")


def test_an_error_of_the_system_without_a_file_never_stands_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    @click.command()
    def plan() -> None:
        raise OSError(errno.ENODEV, "No such device")

    monkeypatch.setattr(cli.millrace, "get_command", lambda context, name: plan)
    assert run("plan") == 1
    said = "an operation of this server fails (No such device): millrace health says what is wrong"
    assert capsys.readouterr().err == f"millrace: {said}\n"
