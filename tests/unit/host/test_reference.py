# SPDX-License-Identifier: Apache-2.0
"""The manual page and the completion come out of the program, and name all of it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from host import reference, stage
from host.layout import REPO
from millrace.cli import program as cli
from millrace.system.errors import Failed

# What bash-completion(7) does: the words of the line, the number of the one at the cursor.
COMPLETE = """
. "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_millrace_completion "$1"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("reference")
    reference.write(directory, "2026-11-22")
    return directory


def test_the_page_names_every_command_and_every_option(made: Path) -> None:
    page = (made / reference.MANUAL).read_text()
    every = list(reference.commands(cli.millrace, click.Context(cli.millrace, info_name="millrace")))
    visible = {verb for verbs in cli.SECTIONS.values() for verb in verbs}
    assert len(every) > 80 and visible == {context.command_path.split()[1] for _, context in every[1:]}
    sections = {part.splitlines()[0]: part for part in re.split(r"^\.SS ", page, flags=re.MULTILINE)[1:]}
    assert len(sections) == len(every) - 1
    for command, context in every[1:]:
        (section,) = [
            text for title, text in sections.items() if title.startswith(f"{reference.escaped(context.command_path)} [")
        ]
        for option in command.get_params(context):
            if isinstance(option, click.Option) and not option.hidden and "--help" not in option.opts:
                assert reference.escaped(option.opts[0]) in section


def test_no_line_of_the_page_is_taken_for_a_request(made: Path) -> None:
    known = {".TH", ".SH", ".SS", ".TP", ".PP", '.\\"'}
    lines = (made / reference.MANUAL).read_text().splitlines()
    assert {line.split(" ")[0] for line in lines if line.startswith((".", "'"))} == known
    assert reference.escaped(".local\\x - one\n two") == "\\&.local\\ex \\- one two"


def test_hidden_options_are_not_in_the_page(made: Path) -> None:
    assert "\\-\\-smart" not in (made / reference.MANUAL).read_text()


def completed(made: Path, tmp_path: Path, *words: str) -> list[str]:
    program = tmp_path / "bin/millrace"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from millrace.cli.program import main; main()" "$@"\n')
    program.chmod(0o755)
    environment = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(REPO / "tools")}
    argv = ["bash", "-c", COMPLETE, "bash", str(made / reference.COMPLETION), "millrace", *words]
    # bash warns of `compopt` outside of a completion
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_every_verb_is_completed(made: Path, tmp_path: Path) -> None:
    assert completed(made, tmp_path, "") == [verb for verbs in cli.SECTIONS.values() for verb in verbs]


def test_what_was_begun_is_completed_below_a_verb(made: Path, tmp_path: Path) -> None:
    assert completed(made, tmp_path, "share", "ne") == ["networks"]


def test_verbs_are_completed_without_importing_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "import_module", lambda name: pytest.fail(f"{name} is imported"))
    context = click.Context(cli.millrace, info_name="millrace")
    assert [item.value for item in cli.millrace.shell_complete(context, "he")] == ["health"]
    assert [item.value for item in cli.millrace.shell_complete(context, "--v")] == ["--version"]


def test_both_are_made_from_the_program_of_the_staged_tree(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(REPO / "tools/millrace", tree / "tools/millrace", ignore=shutil.ignore_patterns("__pycache__"))
    (tree / "mkosi.conf").write_text("SourceDateEpoch=1795046400\n")
    version = tree / "tools/millrace/__init__.py"
    version.write_text('__version__ = "7.8.9"\n')
    reference.install(tree)
    page, completion = (tree / reference.SHARE / path for path in (reference.MANUAL, reference.COMPLETION))
    assert '.TH MILLRACE 8 "2026-11-19" "millrace 7.8.9"' in page.read_text()
    assert "_MILLRACE_COMPLETE=bash_complete" in completion.read_text()
    assert [path.stat().st_mtime for path in (page, completion)] == [stage.STAMP, stage.STAMP]
    assert list(tree.rglob("*.pyc")) == []
    version.write_text("not Python")
    with pytest.raises(Failed, match=r"^The manual page cannot be made: NameError: [^\n]+$"):
        reference.install(tree)
