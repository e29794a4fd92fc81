# SPDX-License-Identifier: Apache-2.0
"""`millrace plan` shows what would be built and how to approve it; a refusal shows what is in the way."""

import json
from pathlib import Path

import pytest

from millrace import paths
from millrace.cli import main
from millrace.inventory.model import Drive, DriveState
from millrace.plan.model import Plan, PlanFile
from millrace.store import read_model, write_model
from tests.unit.plan.servers import drives_1u12, drives_2u24, found, server


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    return tmp_path


def run(*arguments: str) -> int | str | None:
    with pytest.raises(SystemExit) as end:
        main(["plan", *arguments])
    return end.value.code


def this_server(drives: list[Drive]) -> None:
    write_model(paths.inventory_file(), server(drives))


def test_the_plan_ends_with_the_line_that_approves_it(capsys: pytest.CaptureFixture[str]) -> None:
    this_server(drives_2u24())
    assert run("--write") == 0
    stored = read_model(paths.plan_file(), PlanFile)
    assert isinstance(stored.proposal, Plan)
    assert stored.sha256 == stored.proposal.digest()
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == f"approve with: millrace approve {stored.sha256}"
    assert all(len(line) <= 100 for line in lines)
    assert any("data-17" in line and "SN017" in line for line in lines)
    assert any("log-01" in line and "SN019" in line for line in lines)
    assert not any("\x1b" in line for line in lines)


def test_a_refusal_is_shown_with_serial_and_todo_and_is_exit_1(capsys: pytest.CaptureFixture[str]) -> None:
    drives = drives_1u12()
    this_server([drives[0].model_copy(update=found(DriveState.FOREIGN, "LUKS encrypted volume")), *drives[1:]])
    assert run() == 1
    out = capsys.readouterr().out
    assert "No plan: 1 obstacle." in out
    assert "SN000" in out
    assert "LUKS" in out
    assert "approve" not in out


def test_a_stored_refusal_is_a_result(capsys: pytest.CaptureFixture[str]) -> None:
    this_server(drives_1u12()[:5])
    assert run("--write", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["schema_version"], said["sha256"], said["proposal"]["verdict"]) == (1, None, "refused")
    assert read_model(paths.plan_file(), PlanFile).sha256 is None


def test_a_plan_for_the_inventory_of_another_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    this_server(drives_1u12()[:5])
    write_model(tmp_path / "other.json", server(drives_1u12()))
    assert run("--inventory", str(tmp_path / "other.json"), "--json") == 0
    assert json.loads(capsys.readouterr().out)["proposal"]["verdict"] == "ready"


@pytest.mark.parametrize("content", ["", "{}", '{"schema_version": 2}'])
def test_a_broken_inventory_is_bad_input(tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.json").write_text(content)
    assert run("--inventory", str(tmp_path / "broken.json")) == 2
    said = capsys.readouterr()
    assert said.err.startswith(f"millrace: {tmp_path}/broken.json: ")
    assert said.out == ""
