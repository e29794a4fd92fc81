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
from tests.unit.plan.servers import drive, drives_1u12, drives_2u24, found, server


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
    assert any("leg1" in line and "RAID5 of 9 x 6.98 TiB" in line and "SN001" in line for line in lines)
    assert all(any(f"SN{number:03}" in line for line in lines) for number in range(20))
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
    this_server([])
    assert run("--write", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["schema_version"], said["sha256"], said["proposal"]["verdict"]) == (1, None, "refused")
    assert read_model(paths.plan_file(), PlanFile).sha256 is None


def test_a_plan_for_the_inventory_of_another_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    this_server([])
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


def test_every_decision_can_be_explained_with_its_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    this_server([drive(number) for number in range(20)])
    assert run("--explain", "layout") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "RAID50 of 2 x 9 drives 2 16 1 MiB 80.0 12.0 3.0 5.0 100.0" in text
    assert "RAID50 of 2 x 10 drives 0 18 576 KiB 90.0 0.0 3.0 5.0 98.0" in text
    assert run("--explain", "layout", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema_version"] == 1
    assert [row["score"] for row in document["decision"]["considered"]] == [100.0, 98.0, 86.0]


def test_an_unknown_decision_is_answered_with_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    this_server(drives_1u12())
    assert run("--explain", "layuot") == 2
    said = capsys.readouterr()
    assert "'layuot'" in said.err and "layout, " in said.err and "nfsd.threads" in said.err
    assert said.out == ""


def test_a_refusal_has_nothing_to_explain_but_itself(capsys: pytest.CaptureFixture[str]) -> None:
    this_server([])
    assert run("--explain", "layout") == 1
    assert "No plan: 1 obstacle." in capsys.readouterr().out


def test_a_server_of_forty_drives_is_read_in_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    this_server([drive(number, numa_node=number % 2) for number in range(40)])
    assert run() == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 120
    assert all(len(line) <= 100 for line in lines)
