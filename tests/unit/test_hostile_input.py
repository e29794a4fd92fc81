# SPDX-License-Identifier: Apache-2.0
"""Every option and argument of every verb is given what no server can use; the answer is one sentence, nothing changes.

The command lines are generated from the command line itself: a new verb is tested when it is there.
"""

import hashlib
import io
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click
import pytest

from millrace.cli import program
from tests.fakes import certificates
from tests.fakes.files.box import Box
from tests.fakes.files.running import server

SECONDS = 20
# watch and answer run until they are stopped and take nothing from the command line but --json.
ENDLESS = {("watch",), ("answer",)}
# What an argument is when it is not its turn.
USUAL = {
    "account": "Administrator",
    "fingerprint": "AB:CD",
    "hash_": "0123456789ab",
    "host": "10.77.0.9",
    "name": "data",
    "number": "1",
    "realm": "ad.example.com",
    "--address": "10.77.0.5/24",
    "--workload": None,
    "--protocol": "nfs-tcp",
}
WORDS = [
    "",
    " ",
    "-",
    "x\ny",
    "x\x1b[2Jy",
    "\x00",
    "../../etc/shadow",
    "/etc/shadow",
    "$(reboot)",
    "%s%n",
    "x" * 70_000,
    "ǘ\u202e",
    "\udcff",
    "*",
    "0.0.0.0/0",
    "name=value=",
]
NUMBERS = ["NaN", "inf", "-inf", "1e308", "-1", "0", "100000000000000000000", "0x10", "1e400", "\uff11\uff12", ""]
SIZES = ["-1", "0", "1e400T", "NaN", "99999999999999999999999T", "1Q", "", "10 T T", "inf"]
PATHS = ["/proc/nosuch/directory/file", "/sys/file", "", "/", "\x00", "x" * 300, "/dev/null/file"]
DOCUMENTS = {
    "deep": "[" * 100_000,
    "text": "no document",
    "binary": "\udcff\x00",
    "empty": "",
    "list": "[]",
    "number": "1e999",
    "shape": '{"kind": "millrace-config", "schema_version": 1, "config": "x"}',
    "later": '{"kind": "millrace-config", "schema_version": 99, "config": {"schema_version": 99}}',
    "null": '{"kind": "millrace-config", "schema_version": null, "config": null}',
}

Leaf = tuple[tuple[str, ...], click.Command]


def leaves(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[Leaf]:
    """Every verb that can be run, with the words that lead to it."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from leaves(found, (*path, name))
    elif path not in ENDLESS:
        yield path, command


def key(parameter: click.Parameter) -> str:
    return parameter.opts[-1] if isinstance(parameter, click.Option) else str(parameter.name)


def takes_text(parameter: click.Parameter) -> bool:
    return not (isinstance(parameter, click.Option) and (parameter.is_flag or parameter.count))


def usual(parameter: click.Parameter, documents: Path) -> str:
    """A value of the parameter that is nothing special."""
    if isinstance(parameter.type, click.Choice):
        return str(parameter.type.choices[0])
    if isinstance(parameter.type, click.Path | click.File):
        return str(documents / "text")
    return USUAL.get(key(parameter)) or "1"


def hostile(parameter: click.Parameter, documents: Path) -> list[str]:
    """What the parameter is given in its turn."""
    if isinstance(parameter.type, click.Path | click.File):
        return [*PATHS, *(str(documents / name) for name in DOCUMENTS)]
    if isinstance(parameter.type, click.types.IntParamType | click.types.FloatParamType):
        return [*NUMBERS, *WORDS[:4]]
    if "size" in key(parameter):
        return [*SIZES, *WORDS[:4]]
    return WORDS


def spelled(parameter: click.Parameter, value: str) -> list[str]:
    return [f"{key(parameter)}={value}"] if isinstance(parameter, click.Option) else ["--", value]


def lines(leaf: Leaf, documents: Path) -> Iterator[list[str]]:
    """Command lines in which one parameter has a hostile value and what else is required a usual one."""
    path, command = leaf
    for turn in command.params:
        if not takes_text(turn):
            continue
        others = [parameter for parameter in command.params if parameter.required and parameter is not turn]
        options = [
            word
            for parameter in others
            if isinstance(parameter, click.Option)
            for word in spelled(parameter, usual(parameter, documents))
        ]
        for value in hostile(turn, documents):
            arguments = [
                value if parameter is turn else usual(parameter, documents)
                for parameter in command.params
                if isinstance(parameter, click.Argument) and (parameter is turn or parameter.required)
            ]
            given = spelled(turn, value) if isinstance(turn, click.Option) else []
            yield [*path, *options, *given, *(["--", *arguments] if arguments else [])]


def content(root: Path) -> dict[str, str]:
    """Digest of every file that outlives a boot."""
    kept = [root / "etc", root / "var", root / "srv"]
    # A lock is an empty file that stays.
    files = [path for top in kept for path in sorted(top.rglob("*")) if not path.is_dir() and path.name != ".lock"]
    return {str(path): os.readlink(path) if path.is_symlink() else _digest(path) for path in files}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Said:
    """How a command line ended and what it wrote."""

    def __init__(self, argv: list[str]) -> None:
        out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
        with (
            patch.object(sys, "stdout", out),
            patch.object(sys, "stderr", err),
            patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO())),
        ):
            self.status = program.run(argv)
            for stream in (out, err):
                stream.flush()
        self.err = err.buffer.getvalue().decode()  # type: ignore[attr-defined]


def problem(argv: list[str], root: Path, before: dict[str, str]) -> str | None:
    """What is wrong with how a command line ended; None where it is as promised."""
    try:
        said = Said(argv)
    except Exception as error:  # what a person would see as a traceback
        return f"traceback: {type(error).__name__}: {error}"
    if said.status not in (0, 1, 2, 130):
        return f"exit status {said.status}"
    if said.status == 0:
        return None
    *more, last = said.err.splitlines() or [""]
    if not last.startswith("millrace: "):
        return f"no sentence: {said.err[:300]!r}"
    if more or said.err.count("\n") != 1:
        return f"{len(more) + 1} lines: {said.err[:300]!r}"
    if not last.isprintable():
        return f"control characters: {said.err[:300]!r}"
    if len(last) > 1000:
        return f"a sentence of {len(last)} characters"
    changed = sorted(path for path, digest in (content(root).items() ^ before.items()))
    return f"changed although it was refused: {changed[0].removeprefix(str(root))}" if changed else None


def never(*arguments: Any, **options: Any) -> None:
    raise AssertionError("a process was started past millrace.system.run")


def too_long(*arguments: object) -> None:
    raise TimeoutError(f"no answer in {SECONDS} s")


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("documents")
    for name, text in DOCUMENTS.items():
        (directory / name).write_bytes(text.encode(errors="surrogateescape"))
    return directory


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Box]:
    """A provisioned server whose tools refuse whatever would change it."""
    # made once, by a process
    certificates.pair()
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.setattr("millrace.inventory.settle.PAUSE", 0.0)
    monkeypatch.setattr("os.chown", lambda *arguments, **options: None)
    monkeypatch.setattr("socket.create_connection", refused)
    monkeypatch.setattr("socket.getaddrinfo", refused)
    monkeypatch.chdir(tmp_path)
    before = signal.signal(signal.SIGALRM, too_long)
    with server(tmp_path) as box:
        box.tree.write("etc/shadow", "root:*:20000:0:99999:7:::\n")
        box.provision()
        box.shares()
        # the first look of all tests asks the drives, each by a process
        box.look()
        with monkeypatch.context() as patched:
            for name in ("subprocess.Popen.__init__", "os.system", "os.execvp", "os.fork"):
                patched.setattr(name, never)
            yield box
    signal.signal(signal.SIGALRM, before)


def refused(*arguments: Any, **options: Any) -> None:
    raise OSError("there is no network here")


@pytest.mark.parametrize("leaf", list(leaves(program.millrace)), ids=lambda leaf: " ".join(leaf[0]))
def test_hostile_input_is_refused_in_one_sentence(leaf: Leaf, box: Box, documents: Path) -> None:
    problems = {}
    before = content(box.root)
    for argv in lines(leaf, documents):
        signal.alarm(SECONDS)
        wrong = problem(argv, box.root, before)
        signal.alarm(0)
        if wrong:
            problems[" ".join(word[:60] for word in argv).encode(errors="backslashreplace").decode()] = wrong
        before = content(box.root)
    assert problems == {}


def test_every_verb_is_tested() -> None:
    tested = {path for path, _ in leaves(program.millrace)}
    assert {("bench", "start"), ("config", "import"), ("network", "set"), ("share", "create")} <= tested
