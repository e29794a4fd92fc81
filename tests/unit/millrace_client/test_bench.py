# SPDX-License-Identifier: Apache-2.0
"""The program on a client takes a directory or a server, and needs a fio that it understands."""

import os
from pathlib import Path
from typing import Any

import pytest

from millrace_client import bench as program
from millrace_client import listen, sealed
from tests.unit.measure.bench.remotes import TOKEN, tool


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A client whose tools are looked for in `bin/` first."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return tmp_path


OLD_AND_GOOD = [("fio-3.1", True), ("fio-2.21", True), ("fio-3.16", False), ("fio-3.41", False), ("fio-4.0", False)]


@pytest.mark.parametrize(("version", "old"), OLD_AND_GOOD)
def test_a_fio_that_is_too_old_is_known(version: str, old: bool) -> None:
    assert program.too_old(version) is old


def test_an_old_fio_or_none_is_one_sentence(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tool(root / "bin", "fio", "echo fio-2.21")
    assert program.main(["--listen", "server"]) == 1
    assert capsys.readouterr().err == "fio-2.21 is too old: 3.16 or later is needed\n"
    tool(root / "bin", "fio", "exit 1")
    assert program.main(["--listen", "server"]) == 1
    assert capsys.readouterr().err.startswith("fio is not installed here: ")


def test_a_directory_or_a_server_has_to_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        program.main([])
    assert ended.value.code == 2
    assert "say either a directory or --listen SERVER" in capsys.readouterr().err


def test_the_program_takes_a_token_from_a_file_and_else_makes_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tool(tmp_path / "bin", "fio", "echo fio-3.41")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    asked: list[Any] = []
    monkeypatch.setattr(listen, "listen", lambda *what: asked.append(what) or 0)
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    assert program.main(["--listen", "server", "--token-file", str(file)]) == 0
    assert program.main(["--listen", "server"]) == 0
    assert [what[2] for what in asked] == [sealed.plain_token(TOKEN), None]
    file.write_text("hello")
    assert program.main(["--listen", "server", "--token-file", str(file)]) == 1
    assert capsys.readouterr().err.startswith(f"{file}: a token has 5 groups of 4")
    assert program.main(["--listen", "server", "--token-file", str(tmp_path / "none")]) == 1
    assert capsys.readouterr().err == f"{tmp_path / 'none'}: No such file or directory\n"
