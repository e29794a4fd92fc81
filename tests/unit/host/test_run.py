# SPDX-License-Identifier: Apache-2.0
"""`tools/run` again boots the same disks, `--fresh` starts over, and what it prints can be pasted."""

import io
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from host import doing, progress, run
from millrace.plan.policy.policy_file import parse_policy
from millrace.system.errors import BadInput, Failed, Refused
from vm.agent import Result


def test_the_first_start_is_new_and_the_second_is_not(tmp_path: Path) -> None:
    directory = tmp_path / "1u12"
    assert run.prepare(directory, "hash", fresh=False)
    (directory / "drive.raw").touch()
    assert not run.prepare(directory, "hash", fresh=False)
    assert (directory / "drive.raw").exists()


def test_fresh_starts_over(tmp_path: Path) -> None:
    directory = tmp_path / "1u12"
    run.prepare(directory, "hash", fresh=False)
    (directory / "drive.raw").touch()
    assert run.prepare(directory, "hash", fresh=True)
    assert not (directory / "drive.raw").exists()


def test_disks_of_another_build_are_kept_and_said_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / "1u12"
    run.prepare(directory, "old", fresh=False)
    assert not run.prepare(directory, "new", fresh=False)
    assert "--fresh" in capsys.readouterr().out


def test_the_mount_lines_name_the_forwarded_ports() -> None:
    said = run.instructions({run.COCKPIT: 40001, run.NFS: 40002, run.SMB: 40003}, "river-mill")
    assert "https://127.0.0.1:40001/" in said
    assert "user admin, password river-mill" in said
    assert "mount -t nfs4 -o vers=4.2,proto=tcp,port=40002 127.0.0.1:/srv/pool/data /mnt" in said
    assert "mount -t cifs //127.0.0.1/data /mnt -o vers=3.1.1,seal,port=40003,username=admin" in said


def test_the_mount_lines_are_for_a_client_network_that_is_confirmed() -> None:
    nfs = parse_policy(run.POLICY.decode(), "tools/run").nfs
    # QEMU forwards from an address and a port of its own
    assert (nfs.networks, nfs.privileged_ports) == (["10.0.2.0/24"], False)


def test_the_password_of_the_first_start_is_not_invented_later() -> None:
    assert "first start" in run.instructions({run.COCKPIT: 1, run.NFS: 2, run.SMB: 3}, None)


def test_the_disks_of_a_running_server_are_not_touched(tmp_path: Path) -> None:
    with run.alone(tmp_path / "1u12"), pytest.raises(Refused, match="runs already"), run.alone(tmp_path / "1u12"):
        pass
    with run.alone(tmp_path / "1u12"):
        pass


def test_an_unknown_server_is_refused_before_anything_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("host.build.build_appliance", lambda: pytest.fail("built"))
    with pytest.raises(BadInput, match="1u12"):
        run.main(["--server", "3u36"])


class Guest:
    """Answers each question once, in order; then it is too busy."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.now = 0.0

    def run(self, command: str, *, seconds: float, check: bool) -> Result:
        assert command == doing.QUESTION and not check
        if not self.answers:
            raise Failed("the guest hangs")
        return Result((command,), 0, self.answers.pop(0), "")

    def clock(self) -> float:
        return self.now


def units(*found: str) -> str:
    return json.dumps([{"unit": name, "active": "activating", "description": f"What {name} is"} for name in found])


def steps(*states: str) -> str:
    names = ("partition D0", "partition D1", "array data", "filesystem")
    return json.dumps({"steps": [{"name": name, "state": state} for name, state in zip(names, states, strict=True)]})


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (steps("pending", "pending", "pending", "pending"), "building the pool, step 1 of 4: partition D0"),
        (steps("done", "started", "pending", "pending"), "building the pool, step 2 of 4: partition D1"),
        (steps("done", "done", "done", "done"), "building the pool, step 4 of 4: finishing"),
        (units("smbd.service", "millrace-share.service"), "What millrace-share.service is"),
        (units(), ""),
    ],
)
def test_what_the_server_does_is_shown(answer: str, words: str) -> None:
    assert doing.in_words(json.loads(answer)) == words


def test_server_is_asked_every_few_seconds_and_a_busy_one_keeps_its_last_answer() -> None:
    guest = Guest(units("millrace-inventory.service"), units(), "not JSON")
    shown = doing.Doing(guest, guest.clock)  # type: ignore[arg-type]
    said = []
    for guest.now in (0.0, doing.SECONDS - 1, doing.SECONDS, 2 * doing.SECONDS, 3 * doing.SECONDS):
        said.append(shown())
    assert said == ["What millrace-inventory.service is"] * 5
    assert guest.answers == []


def test_waiting_names_the_step_and_what_does_not_answer_yet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Booting(Guest):
        def wait_for(self, ready: Callable[[], bool], what: str, seconds: float) -> None:
            while not ready():
                pass

    answers = iter([False, True])
    monkeypatch.setattr(run, "PORTS", {"NFS": (run.NFS, lambda _: True), "SMB": (run.SMB, lambda _: next(answers))})
    run.wait_serving(Booting(steps("done", "done", "started", "pending")), {run.NFS: 1, run.SMB: 2})  # type: ignore[arg-type]
    assert "building the pool, step 3 of 4: array data (no SMB yet)" in capsys.readouterr().out


def test_same_step_is_not_logged_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    out = io.StringIO()
    status = progress.Status(out)
    for now[0] in (0, 10, 20, 50, 60, 65, 70, 80):
        status.show("first" if now[0] < 65 else "second")
    assert out.getvalue().splitlines() == ["0:00  first", "1:00  first", "1:10  second"]
