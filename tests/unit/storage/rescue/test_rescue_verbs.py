# SPDX-License-Identifier: Apache-2.0
"""`millrace pool rescue` on a terminal, in a script, and as JSON."""

import io
import json
import os
from pathlib import Path

import pytest

from millrace.cli.program import run
from millrace.storage.rescue import rescue_job
from millrace.storage.rescue.step_names import STEPS
from millrace.system import paths
from tests.fakes.drives.without_log import POOL, WithoutLog
from tests.unit.storage.conftest import root
from tests.unit.storage.plans import planned_1u12, raid6_plan
from tests.unit.storage.rescue.lost import lost, put_back

__all__ = ["root"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def served_by(world: WithoutLog, monkeypatch: pytest.MonkeyPatch) -> WithoutLog:
    """The server is this one, with the unit that carries out what the verb has confirmed."""
    monkeypatch.setattr("millrace.storage.array.machine.Linux", lambda: world)
    world.unit = lambda: rescue_job.execute(world, lambda _: None)
    return world


@pytest.fixture
def world(root: Path, monkeypatch: pytest.MonkeyPatch) -> WithoutLog:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_USER", "admin")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    world = lost(planned_1u12())
    return served_by(world, monkeypatch)


def test_each_step_is_shown_and_confirmed_on_a_terminal(
    world: WithoutLog, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("yes\n" * len(STEPS)))
    assert run(["pool", "rescue"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("What may be lost:\n  - Changes to files and directories that were only in the log")
    places = [said.out.index(f"Step {number} of 6: ") for number in range(1, 7)]
    assert places == sorted(places)
    assert said.err.count("Carry out this step? Type yes to go on") == len(STEPS)
    assert "This cannot be undone" in said.out and said.out.index("This cannot be undone") > places[4]
    assert "The pool is served again. Next:" in said.out and POOL in world.points


def test_no_stops_where_it_is_and_the_next_call_goes_on(
    world: WithoutLog, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("yes\nyes\nno\n"))
    assert run(["pool", "rescue"]) == 1
    assert capsys.readouterr().err.endswith("millrace: not confirmed; nothing was changed by this step\n")
    monkeypatch.setattr("sys.stdin", Terminal("yes\nyes\nyes\nyes\n"))
    assert run(["pool", "rescue"]) == 0
    assert "Step 1 of 6" not in capsys.readouterr().out
    assert len(world.called("systemctl stop")) == 1 and POOL in world.points


def test_script_confirms_each_step_by_its_name(world: WithoutLog, capsys: pytest.CaptureFixture[str]) -> None:
    for number, name in enumerate(STEPS):
        assert run(["pool", "rescue", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["next"] == name
        assert run(["pool", "rescue", "--step", name, "--yes", "--json"]) == 0
        state = json.loads(capsys.readouterr().out)
        assert [one["state"] for one in state["steps"]].count("done") == number + 1
    assert state["next"] is None and state["journal"]["ended"] and state["schema_version"] == 1


def test_without_a_terminal_nothing_is_done_by_itself(world: WithoutLog, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pool", "rescue"]) == 0
    out = capsys.readouterr().out
    assert "Next step: stop" in out and "--step NAME --yes" in out
    assert run(["pool", "rescue", "--step", "stop"]) == 2
    assert "no terminal to confirm this: use --step NAME --yes" in capsys.readouterr().err
    assert POOL in world.points and not paths.rescue_file().exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--yes"], "--yes confirms one step"),
        (["--image", "/x", "--without-image"], "give --image or --without-image, not both"),
        (["--step", "format", "--yes"], "'format' is not one of"),
    ],
)
def test_wrong_usage_is_a_sentence(
    world: WithoutLog, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert run(["pool", "rescue", *words]) == 2
    assert said in capsys.readouterr().err
    assert POOL in world.points


def test_requires_root(world: WithoutLog, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1001)
    assert run(["pool", "rescue", "--json"]) == 1
    assert capsys.readouterr().err == "millrace: changing this server requires root; run this command with sudo\n"


def test_refusal_is_one_sentence(world: WithoutLog, capsys: pytest.CaptureFixture[str]) -> None:
    put_back(world)
    assert run(["pool", "rescue"]) == 1
    said = capsys.readouterr()
    assert said.out == "" and "is present and holds the log: nothing is lost." in said.err
    assert said.err.count("\n") == 1


def test_drives_that_are_not_there_are_asked_for(
    root: Path, world: WithoutLog, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.unit.storage.provision.test_apply_power_cuts import reset

    reset(root)
    other = lost(raid6_plan())
    served_by(other, monkeypatch)
    for name in ("stop", "image", "judge"):
        assert run(["pool", "rescue", "--step", name, "--yes"]) == 0
    assert run(["pool", "rescue", "--step", "log", "--yes"]) == 1
    assert "insert two blank drives with room for 9 GiB, and give each with --with SERIAL" in capsys.readouterr().err


def test_status_examines_no_drive(world: WithoutLog, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pool", "rescue", "--status"]) == 0
    assert capsys.readouterr().out.startswith("no pool was rescued yet")
    assert run(["pool", "rescue", "--step", "stop", "--yes"]) == 0
    capsys.readouterr()
    world.calls.clear()
    assert run(["pool", "rescue", "--status"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("What may be lost:") and "Next step: image" in out
    assert world.calls == []


def test_detached_step_returns_before_its_end(world: WithoutLog, capsys: pytest.CaptureFixture[str]) -> None:
    world.unit_hangs = True
    assert run(["pool", "rescue", "--step", "stop", "--yes", "--detach", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["next"] == "stop" and POOL in world.points
    assert run(["pool", "rescue", "--status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["work"]["state"] == "running"


def test_terminal_that_comes_back_follows_the_step_that_runs(
    world: WithoutLog, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world.unit_hangs = True
    assert run(["pool", "rescue", "--step", "stop", "--yes", "--detach"]) == 0

    def ends(_: float) -> None:
        world.unit()
        world.unit_runs = world.unit_hangs = False

    monkeypatch.setattr(world, "wait", ends)
    monkeypatch.setattr("sys.stdin", Terminal("no\n"))
    assert run(["pool", "rescue"]) == 1
    said = capsys.readouterr()
    assert "The step 'stop' runs, confirmed by admin." in said.err
    assert "/srv/pool is unmounted" in said.out and "Step 2 of 6" in said.out and "Step 1 of 6" not in said.out
    assert len(world.called("systemctl start --no-block")) == 1


def test_step_that_failed_is_shown_with_its_reason(world: WithoutLog, capsys: pytest.CaptureFixture[str]) -> None:
    world.busy = True
    assert run(["pool", "rescue", "--step", "stop", "--yes"]) == 1
    assert "millrace: step 'stop': /srv/pool is still in use" in capsys.readouterr().err
    assert run(["pool", "rescue"]) == 0
    assert "Stopped: stop, confirmed by admin: /srv/pool is still in use" in capsys.readouterr().out


def test_unit_carries_out_what_was_confirmed(world: WithoutLog, capsys: pytest.CaptureFixture[str]) -> None:
    world.unit_hangs = True
    assert run(["pool", "rescue", "--step", "stop", "--yes", "--detach"]) == 0
    assert run(["pool", "rescuing"]) == 0
    assert POOL not in world.points


@pytest.mark.parametrize("words", [["--status", "--yes"], ["--status", "--step", "stop"], ["--detach"]])
def test_options_that_do_not_fit_are_refused(
    world: WithoutLog, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert run(["pool", "rescue", *words]) == 2
    assert POOL in world.points and capsys.readouterr().err.count("\n") == 1
