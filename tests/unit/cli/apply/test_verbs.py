# SPDX-License-Identifier: Apache-2.0
"""`millrace apply` and `millrace config export` on the command line."""

import json
from pathlib import Path

import pytest

from millrace.cli import program
from millrace.cli.apply import verbs
from millrace.serve.config import store
from millrace.serve.share.edit import create_shares
from tests.unit.cli.apply.server import AppliedServer


@pytest.fixture
def file(server: AppliedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that creates a share on this server."""
    monkeypatch.setattr(verbs, "attempt", server)
    monkeypatch.setattr("millrace.serve.network.trial.NetworkServer", lambda run: server.host())
    monkeypatch.setattr("millrace.cli.roles._refuse", lambda verb, least: None)
    monkeypatch.setattr("millrace.system.roles.is_person", lambda: False)
    path = tmp_path / "server.toml"
    path.write_text('[shares.data]\n\n[shares.train]\nsize = "1T"\n')
    return path


def names() -> list[str]:
    return [share.name for share in store.load().shares]


def test_check_changes_nothing_and_says_so_by_its_status(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.run(["apply", str(file), "--check"]) == verbs.WOULD_CHANGE
    assert names() == ["data"] and capsys.readouterr().out == "+ share train\n1 change; nothing was changed.\n"
    assert program.run(["apply", str(file)]) == 0
    assert program.run(["apply", str(file), "--check"]) == 0
    assert names() == ["data", "train"]


def test_diff_has_each_key(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.run(["apply", str(file)])
    file.write_text('[shares.train]\nsize = "2T"\n')
    capsys.readouterr()
    program.run(["apply", str(file), "--check", "--diff"])
    out = capsys.readouterr().out
    assert out == "~ share train\n    size: 1T -> 2T\n1 change; nothing was changed.\n"


def test_json_has_the_changes(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.run(["apply", str(file), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["applied"] and document["serial"] == 1
    assert [(one["thing"], one["action"]) for one in document["changes"]] == [("share train", "create")]


def test_prune_asks_first(file: Path, server: AppliedServer, capsys: pytest.CaptureFixture[str]) -> None:
    create_shares(["old"], {}, server.server)
    assert program.run(["apply", str(file), "--prune"]) == 2
    assert "old" in names() and "no terminal to confirm this: use --yes" in capsys.readouterr().err
    assert program.run(["apply", str(file), "--prune", "--yes"]) == 0
    assert names() == ["data", "train"]


def test_all_problems_of_a_file_are_printed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("[shares.data]\nbytes = 3\ntype = 'fast'\n")
    assert program.run(["apply", str(file)]) == 2
    err = capsys.readouterr().err
    assert f"{file}:2: shares.data.bytes: unknown key" in err and f"{file}:3: shares.data.type: must be" in err
    assert err.count("\n") == 3


def test_exported_file_is_the_state_of_now(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.run(["apply", str(file)])
    assert program.run(["config", "export", str(tmp_path / "out.toml")]) == 0
    assert program.run(["apply", str(tmp_path / "out.toml"), "--prune", "--check"]) == 0
    text = (tmp_path / "out.toml").read_text()
    assert "uid" not in text and "hash" not in text.partition("\n\n")[2]
    assert (tmp_path / "out.toml").stat().st_mode & 0o777 == 0o600


def test_other_endings_export_what_an_import_reads(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: AppliedServer
) -> None:
    assert program.run(["config", "export", str(tmp_path / "moved.json")]) == 0
    assert json.loads((tmp_path / "moved.json").read_text())["kind"] == "millrace-config"


def test_schema_is_printed_without_a_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.run(["apply", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "ServerFile"
    assert program.run(["apply"]) == 2
