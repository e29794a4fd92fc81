# SPDX-License-Identifier: Apache-2.0
"""`millrace plan` shows the layout and how to approve it; a refusal shows its obstacles."""

import json
import re
from pathlib import Path

import pytest

from millrace.cli.program import main
from millrace.inventory.model import Drive, DriveState
from millrace.plan.model import Plan, PlanFile
from millrace.plan.policy.model import Policy
from millrace.plan.propose import propose
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from tests.unit.plan.servers import drive, drives_1u12, drives_2u24, found, server


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


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
    assert any("leg1" in line and "RAID5 of 9 × 7.67 TB" in line and "SN001" in line for line in lines)
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
    assert "RAID50 of 2 × 9 drives 2 16 512 KiB 80.0 12.0 3.0 5.0 -1.0 99.0" in text
    assert "RAID60 of 2 × 10 drives 0 16 512 KiB 80.0 12.0 3.0 5.0 -3.0 97.0" in text
    assert run("--explain", "layout", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema_version"] == 1
    assert [row["score"] for row in document["decision"]["considered"]] == [99.0, 97.0, 91.7, 80.2, 80.0, 75.0]


def test_an_unknown_decision_is_answered_with_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    this_server(drives_1u12())
    assert run("--explain", "layuot") == 2
    said = capsys.readouterr()
    assert said.err.startswith("millrace: no decision 'layuot'; did you mean 'layout'? The others are: ")
    assert "nfsd.threads" in said.err
    assert said.out == ""
    assert run("--explain", "nosuch\nline") == 2
    said = capsys.readouterr()
    assert said.err.startswith("millrace: no decision 'nosuch\\nline'; there are: drives.data, ")
    assert len(said.err.splitlines()) == 1


def test_where_nothing_is_planned_there_is_no_decision_to_explain(capsys: pytest.CaptureFixture[str]) -> None:
    this_server([])
    assert run("--explain", "layout") == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == ("millrace: no plan, no decisions to explain; `millrace plan` shows the obstacles\n")


class TestOnAServerWithAPool:
    @pytest.fixture(autouse=True)
    def pool(self, root: Path) -> Plan:
        """The drives of the pool carry partitions of Millrace now; the plan that was approved is on record."""
        plan = propose(server(drives_1u12()), Policy())
        assert isinstance(plan, Plan)
        taken = [one.model_copy(update=found(DriveState.OURS, "Millrace partition")) for one in drives_1u12()[:12]]
        this_server([*taken, drives_1u12()[12]])
        write_model(paths.approved_plan_file(), plan)
        paths.pool_file().write_text("{}")
        return plan

    def test_the_plan_in_force_is_shown_and_not_what_is_in_its_way(
        self, pool: Plan, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run() == 0
        out = capsys.readouterr().out
        assert out.startswith("Plan in force: RAID6 of 10 drives")
        assert "The pool was created from this plan" in out
        assert "approve" not in out and "obstacle" not in out

    def test_programs_get_it_too(self, pool: Plan, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("--json") == 0
        said = PlanFile.model_validate_json(capsys.readouterr().out)
        assert (said.proposal, said.sha256) == (pool, pool.digest())

    def test_its_decisions_can_still_be_explained(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("--explain", "layout") == 0
        assert "Compared, best first" in capsys.readouterr().out
        assert run("--explain", "nosuch") == 2
        assert capsys.readouterr().err.startswith("millrace: no decision 'nosuch'; ")

    def test_a_policy_that_cannot_be_read_hides_nothing(self, capsys: pytest.CaptureFixture[str]) -> None:
        paths.policy_file().parent.mkdir(parents=True)
        paths.policy_file().write_text("[layout")
        assert run() == 0

    def test_nothing_is_proposed_over_it(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("--write") == 1
        assert "already has a pool" in capsys.readouterr().err
        assert not paths.plan_file().exists()

    def test_a_plan_that_is_lost_is_said_to_be(self, capsys: pytest.CaptureFixture[str]) -> None:
        paths.approved_plan_file().unlink()
        assert run() == 1
        said = capsys.readouterr().err
        assert "plan.json is missing; see `millrace pool show`" in said and len(said.splitlines()) == 1

    def test_another_inventory_is_still_planned_for(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        write_model(tmp_path / "other.json", server(drives_2u24()))
        assert run("--inventory", str(tmp_path / "other.json")) == 0
        assert capsys.readouterr().out.startswith("Plan: RAID50")


def test_a_server_of_forty_drives_is_read_in_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    this_server([drive(number, numa_node=number % 2) for number in range(40)])
    assert run() == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 120
    assert all(len(line) <= 100 for line in lines)


def test_drive_without_a_model_is_shown_by_size_and_serial(capsys: pytest.CaptureFixture[str]) -> None:
    drives = [each.model_copy(update={"model": ""}) for each in drives_1u12()]
    this_server(drives)
    run("--inventory", str(paths.inventory_file()))
    text = capsys.readouterr().out
    assert f"7.68 TB: {drives[0].serial}" in text and not re.search(r"(?m)(^|  ), ", text)


def test_reason_is_whole_where_no_terminal_reads_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS")
    this_server(drives_1u12())
    run("--inventory", str(paths.inventory_file()))
    assert "…" not in capsys.readouterr().out
