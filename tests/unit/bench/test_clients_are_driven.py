# SPDX-License-Identifier: Apache-2.0
"""Clients are added once they answer, do only what a run needs, and have nothing of it afterwards."""

import json
import os
import pwd
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any
from unittest.mock import Mock

import pytest

from millrace import cli, paths
from millrace.bench.plan import clients
from millrace.bench.plan.job import Job, Target
from millrace.bench.plan.sizes import Files
from millrace.bench.plan.steps import layouts, planned_steps
from millrace.bench.plan.workloads import works
from millrace.bench.result import fio_output
from millrace.bench.result import store as results
from millrace.bench.result.fio_output import Outcome
from millrace.bench.result.model import Direction, Profile
from millrace.bench.run import guard
from millrace.bench.run.local import Local, Stopped
from millrace.bench.run.remote import register, target, tokens
from millrace.bench.run.remote.connection import Connection, Unreachable
from millrace.bench.run.remote.measurer import Remote, together
from millrace.bench.run.remote.register import NOTHING
from millrace.bench.verbs import bench
from millrace.errors import BadInput, Failed
from millrace.system.text import MIB
from millrace_client import VERSION, au, listen
from millrace_client import bench as program
from millrace_client.au import Probe
from tests.unit.bench.remotes import FACTS, HERE, TOKEN, client, free_port, listening, tool
from tests.unit.bench.sites import request, site
from tests.unit.bench.tools import Tools

SAMPLES = Path(__file__).parent / "samples"
TWO = (SAMPLES / "two-clients.txt").read_text()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return tmp_path


# The program


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


# Adding


def test_a_client_that_answers_is_added_and_listed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(monkeypatch) as calls:
        made = register.add("localhost", TOKEN)
    assert (made.name, made.address, made.facts.cpus) == ("localhost", HERE, 4)
    assert [one.name for one in clients.load().clients] == ["localhost"]
    # fio was there for a moment only, contained
    (start,) = [call for call in calls if call[0] == "systemd-run"]
    contained = {"DynamicUser=yes", "IPAddressDeny=any", f"IPAddressAllow={HERE}", "CapabilityBoundingSet="}
    assert {f"--property={one}" for one in contained} <= set(start)
    assert start[-4:] == [*listen.FIO, NOTHING]
    assert ["systemctl", "stop", listen.UNIT] in calls[calls.index(start) :]
    assert register.remove("localhost").clients == []
    assert tokens.of("localhost") is None
    with pytest.raises(BadInput, match="localhost is not a client of this benchmark: `millrace bench clients add"):
        register.remove("localhost")


def test_a_client_that_is_not_there_is_one_sentence_and_not_kept(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(monkeypatch):
        pass
    refused = r"does not answer on port \d+ \(Connection refused\): run `python3 millrace-bench.pyz --listen"
    with pytest.raises(Unreachable, match=refused):
        register.add(HERE, TOKEN)
    with pytest.raises(BadInput, match=r"no-such-host\.invalid is not a name or an address"):
        register.add("no-such-host.invalid", TOKEN)
    assert not clients.file().exists()


def test_no_fio_of_this_server_speaks_with_a_client(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's side of fio's protocol may ask the client's side, which was root here, for any file."""
    tool(root / "bin", "fio", f"echo $* >> {root}/started; cat {SAMPLES}/status-interval.json")
    with listening(monkeypatch):
        register.add(HERE, TOKEN)
        with Connection("gpu1", HERE, TOKEN) as connection:
            (root / "cwd").mkdir()
            made = Remote(Local(root, Event(), user=None), [connection]).run(job(Profile.MIXED, "mixed"))
    assert made.flows["read"].count > 0
    assert not (root / "started").exists()


def test_a_client_whose_program_was_started_again_is_added_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(monkeypatch):
        register.add("localhost", TOKEN.upper().replace("-", " "))
    with listening(monkeypatch, {**FACTS, "cpus": 9}):
        register.add("localhost", TOKEN)
    assert [one.facts.cpus for one in clients.load().clients] == [9]


def test_a_fio_that_does_not_work_is_one_sentence_and_not_kept(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(monkeypatch, report="illegal instruction") as calls, pytest.raises(Unreachable) as why:
        register.add(HERE, TOKEN)
    assert str(why.value) == f"fio-3.41 of client {HERE} does not work: fio ended without a report (status 0)"
    assert not clients.file().exists() and not tokens.file().exists()
    assert calls[-1] == ["systemctl", "stop", listen.UNIT]


def test_another_version_of_the_program_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = {**client().facts.model_dump(), "program": 7}
    with listening(monkeypatch, other), pytest.raises(Unreachable, match="another version"):
        register.add(HERE, TOKEN)
    wrong = {"program": VERSION, "hello": "world"}
    with listening(monkeypatch, wrong), pytest.raises(Unreachable, match="is not the program of"):
        register.add(HERE, TOKEN)


# What a client does


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Thread]:
    """The whole program, told to listen to 127.0.0.2; it ends at the connection after `serve` was taken away."""
    for name, path in (("WHERE", "here"), ("MOUNT", "here/mnt"), ("PROGRAM", "here/program.pyz")):
        monkeypatch.setattr(listen, name, str(tmp_path / path))
    (tmp_path / "millrace-bench.pyz").write_text("the program")
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "millrace-bench.pyz")])
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(listen, "SYSTEMD", str(tmp_path))
    monkeypatch.setattr(listen, "PORT", free_port())
    monkeypatch.setattr(listen, "run", lambda argv: (0, ""))
    thread = Thread(target=listen.listen, args=("127.0.0.2", FACTS, TOKEN), daemon=True)
    thread.start()
    while not (tmp_path / "here/program.pyz").exists():
        time.sleep(0.01)
    yield thread
    monkeypatch.setattr(listen, "serve", Mock(side_effect=KeyboardInterrupt))
    knock("127.0.0.2")
    thread.join(5)
    assert not thread.is_alive()
    # ended by Ctrl-C, it leaves nothing
    assert not (tmp_path / "here").exists()


def knock(source: str) -> bytes:
    """What the program says first to a connection from this address."""
    deadline = time.monotonic() + 5
    while True:
        try:
            with socket.create_connection((HERE, listen.PORT), 5, source_address=(source, 0)) as connection:
                return connection.recv(1 << 16)
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_only_the_server_that_was_named_is_answered(named: Thread) -> None:
    assert knock("127.0.0.3") == b""
    with pytest.raises(Unreachable, match="hung up: is this the server that was named with --listen"):
        Connection("gpu1", HERE, TOKEN)
    # and that one learns nothing before it has shown that it knows the token
    assert set(json.loads(knock("127.0.0.2"))) == {"program", "nonce"}


def test_listening_needs_root(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert listen.listen("127.0.0.2", FACTS) == 1
    assert capsys.readouterr().err == "--listen mounts and starts units: it needs root and systemd\n"


def test_a_client_mounts_the_benchmark_and_no_share(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(monkeypatch) as calls, Connection("gpu1", HERE, TOKEN) as connection:
        connection.ask("mount", path="/srv/pool/.millrace-bench", options="vers=4.2")
        (mount,) = [call for call in calls if "mount" in call]
        assert mount[-4:] == ["-o", "vers=4.2,nosuid,nodev,noexec", f"{HERE}:/srv/pool/.millrace-bench", listen.MOUNT]
        with pytest.raises(Failed, match=r"client gpu1: /srv/pool/data is not the directory of a benchmark"):
            connection.ask("mount", path="/srv/pool/data", options="")
        with pytest.raises(Failed, match="this program has no load rm"):
            connection.ask("run", arguments=["rm"])
        with pytest.raises(Failed, match="this program cannot format"):
            connection.ask("format")


def test_a_server_that_hangs_up_leaves_nothing_on_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(monkeypatch) as calls:
        connection = Connection("gpu1", HERE, TOKEN)
        connection.ask("fio", job=NOTHING)
        before = len(calls)
        connection.close()
        deadline = time.monotonic() + 5
        while len(calls) < before + 1 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert calls[before:] == [["systemctl", "stop", listen.UNIT]]


def test_a_stop_ends_the_wait_for_a_client(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = Event()
    with listening(monkeypatch):
        connection = Connection("gpu1", HERE, TOKEN, stop)
        Thread(target=lambda: (time.sleep(0.1), stop.set())).start()
        monkeypatch.setattr(listen.Client, "load", lambda *_: time.sleep(1) or {})
        with pytest.raises(Stopped):
            connection.ask("fio", job=NOTHING)


def test_the_pool_is_exported_to_the_clients_of_the_run_only_while_it_lasts(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    me = pwd.getpwuid(os.getuid())
    monkeypatch.setattr(pwd, "getpwnam", lambda name: me)
    tokens.keep("gpu1", TOKEN)
    tools, directory = Tools(), Path("/srv/pool/.millrace-bench")
    with (
        listening(monkeypatch) as calls,
        target.opened("nfs-tcp", directory, [client()], Event(), tools) as (where, made),
    ):
        assert (where.directory, where.copies, [one.name for one in made]) == (Path(listen.MOUNT), 1, ["gpu1"])
        (export,) = [call for call in tools.calls if call[0] == "exportfs"]
        assert export[-1] == f"{HERE}:{directory}"
        # a client of the run is a client of shares too, and all are on one file system
        assert "sign_fh" in export[2].split(",")
        assert any("proto=tcp" in " ".join(call) for call in calls)
    assert tools.calls[-1] == ["exportfs", "-u", f"{HERE}:{directory}"]


def test_a_client_that_cannot_mount_is_one_sentence(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    me = pwd.getpwuid(os.getuid())
    monkeypatch.setattr(pwd, "getpwnam", lambda name: me)
    tokens.keep("gpu1", TOKEN)
    tools = Tools()
    refusal = {"mount -t": (32, "mount.nfs4: access denied by server")}
    there = target.opened("nfs-tcp", Path("/srv/pool/.millrace-bench"), [client()], Event(), tools)
    sentence = r"client gpu1: .* does not mount: mount\.nfs4"
    with listening(monkeypatch, answers=refusal), pytest.raises(Failed, match=sentence), there:
        raise AssertionError
    assert tools.calls[-1][:2] == ["exportfs", "-u"]


# One repeat on all of them


class Answers:
    """A connection whose client says what it is told to."""

    def __init__(self, name: str, address: str, said: Any = None, cpus: int = 4) -> None:
        self.name, self.address, self.facts = name, address, client(name, cpus=cpus).facts
        self.said, self.asked = said, []  # type: ignore[var-annotated]

    def ask(self, verb: str, seconds: float, **more: Any) -> dict[str, Any]:
        (what,) = more.values()
        self.asked.append(what)
        return {"status": 0, "out": self.said(what), "err": ""}


def remote(tmp_path: Path, *of: Answers) -> Remote:
    (tmp_path / "cwd").mkdir()
    return Remote(Local(tmp_path, Event(), user=None, program=str(tmp_path / "bin/fio")), of)  # type: ignore[arg-type]


def job(profile: Profile, operation: str, **more: Any) -> Job:
    (work,) = [one for one in works([profile]) if one.operation == operation]
    return Job(work, Target(directory=Path("/mnt"), copies=2), 2, Files(1, MIB, MIB), 1, **more)


def test_two_clients_are_summed_exactly(root: Path) -> None:
    document = fio_output.documents(TWO)[-1]
    *each, merged = document["client_stats"]
    here = [Answers(one["hostname"], one["hostname"], lambda _, one=one: json.dumps({"jobs": [one]})) for one in each]
    found = remote(root, *here).run(job(Profile.MIXED, "mixed"))
    ways: tuple[Direction, ...] = ("read", "write")
    for way in ways:
        flow = found.flows[way]
        assert (flow.bytes, flow.count) == (merged[way]["io_bytes"], merged[way]["total_ios"])
        said = merged[way]["clat_ns"]
        assert (flow.histogram.low, flow.histogram.high) == (said["min"], said["max"])
        assert flow.histogram.total / flow.histogram.count == pytest.approx(said["mean"], rel=1e-9)
        bins = [one[way]["clat_ns"]["bins"] for one in each]
        for value in {*bins[0], *bins[1]}:
            assert flow.histogram.bins[int(value)] == bins[0].get(value, 0) + bins[1].get(value, 0)
    assert set(found.parts) == {"127.0.0.1", "127.0.0.2"}
    # each has files of its own, called as they were laid out
    texts = [one.asked[0] for one in here]
    assert ["directory=/mnt/common\n" in texts[0], "directory=/mnt/common.1\n" in texts[1]] == [True, True]


INVALID = [
    "[]",
    "{}",
    '{"jobs": 7}',
    '{"jobs": [7]}',
    '{"jobs": [{}]}',
    '{"jobs": [{"jobname": "w", "read": {"total_ios": 1, "io_bytes": 1e999, "runtime": 1}}]}',
    '{"jobs": [{"jobname": "w", "read": {"total_ios": "' + "9" * 5000 + '"}}]}',
    '{"jobs": ' + "[" * 100_000,
    '{"jobs": [{"jobname": "w", "read": {"total_ios": 1, "io_bytes": 1, "runtime": NaN}}]}',
    '{"jobs": [{"jobname": "w", "read": {"total_ios": 1, "io_bytes": 1, "runtime": 1e999}}]}',
    '{"jobs": [{"jobname": "w", "read": {"total_ios": ' + "9" * 300 + ', "io_bytes": 1, "runtime": 1}}]}',
]
PROBE = {"count": 3, "au": 99.0, "bytes": 1, "files": 1, "seconds": 1.0}
PROBES: list[Any] = [None, [], {}, {**PROBE, "seconds": 0}, {**PROBE, "au": "x"}, {**PROBE, "bytes": -1}]


@pytest.mark.parametrize("said", PROBES, ids=str)
def test_a_probe_that_cannot_be_is_one_sentence(root: Path, said: Any) -> None:
    reply = json.dumps({"jobs": [{"jobname": "x"}], "probe": said})
    both = remote(root, Answers("a", "127.0.0.1", lambda _: reply), Answers("c", "127.0.0.3", lambda _: reply))
    with pytest.raises(Failed, match="client a sent an invalid reply: it is not a report of its load"):
        both.run(job(Profile.RETINANET, "train"))


def test_what_a_client_complains_of_cannot_drive_a_terminal(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Hostile(Answers):
        def ask(self, verb: str, seconds: float, **more: Any) -> dict[str, Any]:
            return {"status": 1, "out": "", "err": "fio: \x1b]0;pwned\x07\n"}

    with pytest.raises(Failed) as why:
        remote(root, Hostile("a", "127.0.0.1")).run(job(Profile.MIXED, "mixed"))
    assert str(why.value).isprintable() and "pwned" in str(why.value)

    def load(*_: object) -> dict[str, Any]:
        raise listen.Wrong("\x1b[2J")

    with listening(monkeypatch), Connection("gpu1", HERE, TOKEN) as there:
        monkeypatch.setattr(listen.Client, "load", load)
        with pytest.raises(Failed, match=r"client gpu1: \\x1b\[2J"):
            there.ask("fio", job="")


@pytest.mark.parametrize("reply", INVALID, ids=lambda reply: reply[:30])
def test_a_reply_that_is_no_report_is_one_sentence(root: Path, reply: str) -> None:
    good = json.dumps({"jobs": fio_output.documents(TWO)[-1]["client_stats"][:1]})
    both = remote(root, Answers("a", "127.0.0.1", lambda _: good), Answers("c", "127.0.0.3", lambda _: reply))
    with pytest.raises(Failed, match=r"client c sent an invalid reply|fio ended"):
        both.run(job(Profile.MIXED, "mixed"))


def test_accelerators_are_spread_over_clients_of_one_search(root: Path) -> None:
    training = au.TRAININGS[2]
    ideal = training.need / training.floor

    def says(arguments: list[str]) -> str:
        count, seconds = int(arguments[-1]), float(arguments[4])
        # each client's port carries 3.5 accelerators at the floor
        part = min(1.0, 3.5 * training.need / (count * ideal))
        probe = {"count": count, "au": 100 * part, "bytes": round(part * count * ideal * seconds), "files": 9}
        return au.document(probe["bytes"], 9, seconds, probe={**probe, "seconds": seconds})

    both = [Answers("a", "10.0.0.1", says), Answers("b", "10.0.0.2", says)]
    found: Outcome = remote(root, *both).run(job(Profile.RETINANET, "train"))
    (one,) = found.accelerators
    assert (one.accelerator, one.count) == ("B200", 6)
    assert found.flows["read"].bandwidth == pytest.approx(6 * ideal, rel=0.01)
    words = "au /mnt/retinanet retinanet --seconds 1 --accelerator B200 --count 3"
    assert both[0].asked[-1] == words.split()
    assert both[1].asked[-1][1] == "/mnt/retinanet.1"


def test_rates_of_probes_are_summed_and_the_slowest_sets_the_pace() -> None:
    found = together([Probe(3, 90.0, 300, 3, 1.0), Probe(1, 50.0, 400, 4, 2.0)])
    assert (found.count, found.au, found.bytes, found.files) == (4, 50.0, 700, 7)
    assert found.bandwidth == pytest.approx(300 + 200)


# In a run


def test_l3_has_a_rung_for_each_way_that_clients_reach_the_server() -> None:
    here = site(clients=[client("a", rdma=True), client("b", rdma=True)])
    wanted = request(layers=["L3"], profiles=["seq"], clients=["a", "b"])
    steps = planned_steps(wanted, here)
    assert [(step.id, step.copies) for step in steps if not step.skipped] == [
        (f"L3/{target}/seq/{way}", 2) for target in ("nfs-tcp", "nfs-rdma") for way in ("read", "write")
    ]
    assert layouts(steps) == 2
    reasons = {step.target: step.skipped for step in planned_steps(wanted, site(clients=[client("a")]))}
    assert reasons["nfs-rdma"] == "client a has no RDMA device"
    assert reasons["smb"] == "over SMB a client measures by hand: `millrace client bench`"


def test_what_a_refusal_names_exists() -> None:
    with pytest.raises(BadInput, match=r"L3 needs clients: `millrace bench clients add HOST`, then --client HOST"):
        planned_steps(request(layers=["L3"]), site())
    group = bench.commands["clients"]
    assert {"add", "list", "remove", "take"} <= set(group.commands)  # type: ignore[attr-defined]
    assert "client" in cli.VERBS
    with pytest.raises(BadInput, match="--client is for L3"):
        planned_steps(request(layers=["L1"], clients=["a"]), site())


def test_only_clients_that_were_added_are_driven(root: Path) -> None:
    with pytest.raises(BadInput, match="gpu9 is not a client of this benchmark"):
        clients.chosen(["gpu9"])
    assert not results.home().exists()


def test_a_client_that_went_away_is_in_the_way_of_a_run(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "proc/1").mkdir(parents=True)
    (root / "proc/1/mounts").write_text("/dev/md127 /srv/pool xfs rw 0 0\n")
    here = site(clients=[client("gpu1")])
    tokens.keep("gpu1", TOKEN)
    with listening(monkeypatch):
        assert guard.check(request(clients=["gpu1"]), here, Tools(), False).obstacles == []
    (obstacle,) = guard.check(request(clients=["gpu1"]), here, Tools(), False).obstacles
    assert obstacle.startswith("client gpu1 does not answer")
