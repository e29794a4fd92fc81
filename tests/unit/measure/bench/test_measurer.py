# SPDX-License-Identifier: Apache-2.0
"""One repeat on several clients is the sum of what they reported, or one sentence."""

import json
import time
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from millrace.measure.bench.plan.job import FioJob, Target
from millrace.measure.bench.plan.sizes import Files
from millrace.measure.bench.plan.workloads import works
from millrace.measure.bench.result import fio_output
from millrace.measure.bench.result.choices import BenchProfile
from millrace.measure.bench.result.fio_output import RepeatOutcome
from millrace.measure.bench.result.model import Direction
from millrace.measure.bench.run.local import Local, RepeatStopped
from millrace.measure.bench.run.remote import register
from millrace.measure.bench.run.remote.connection import ClientConnection
from millrace.measure.bench.run.remote.measurer import Remote, together
from millrace.measure.bench.run.remote.register import NOTHING
from millrace.system.errors import Failed
from millrace.system.text import MIB
from millrace_client import au, listen
from millrace_client.au import Probe
from tests.unit.measure.bench.remotes import HERE, TOKEN, client, listening, tool

SAMPLES = Path(__file__).parent / "samples"


TWO = (SAMPLES / "two-clients.txt").read_text()


def test_no_fio_of_this_server_speaks_with_a_client(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's side of fio's protocol may ask the client's side, which was root here, for any file."""
    tool(root / "bin", "fio", f"echo $* >> {root}/started; cat {SAMPLES}/status-interval.json")
    with listening(monkeypatch):
        register.add(HERE, TOKEN)
        with ClientConnection("gpu1", HERE, TOKEN) as connection:
            (root / "cwd").mkdir()
            made = Remote(Local(root, Event(), user=None), [connection]).run(job(BenchProfile.MIXED, "mixed"))
    assert made.flows["read"].count > 0
    assert not (root / "started").exists()


def test_a_stop_ends_the_wait_for_a_client(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = Event()
    with listening(monkeypatch):
        connection = ClientConnection("gpu1", HERE, TOKEN, stop)
        Thread(target=lambda: (time.sleep(0.1), stop.set())).start()
        monkeypatch.setattr(listen.Client, "load", lambda *_: time.sleep(1) or {})
        with pytest.raises(RepeatStopped):
            connection.request("fio", job=NOTHING)


class Answers:
    """A connection whose client says what it is told to."""

    def __init__(self, name: str, address: str, said: Any = None, cpus: int = 4) -> None:
        self.name, self.address, self.facts = name, address, client(name, cpus=cpus).facts
        self.said, self.asked = said, []  # type: ignore[var-annotated]

    def request(self, verb: str, seconds: float, **more: Any) -> dict[str, Any]:
        (what,) = more.values()
        self.asked.append(what)
        return {"status": 0, "out": self.said(what), "err": ""}


def remote(tmp_path: Path, *of: Answers) -> Remote:
    (tmp_path / "cwd").mkdir()
    return Remote(Local(tmp_path, Event(), user=None, program=str(tmp_path / "bin/fio")), of)  # type: ignore[arg-type]


def job(profile: BenchProfile, operation: str, **more: Any) -> FioJob:
    (work,) = [one for one in works([profile]) if one.operation == operation]
    return FioJob(work, Target(directory=Path("/mnt"), copies=2), 2, Files(1, MIB, MIB), 1, **more)


def test_two_clients_are_summed_exactly(root: Path) -> None:
    document = fio_output.documents(TWO)[-1]
    *each, merged = document["client_stats"]
    here = [
        Answers(stats["hostname"], stats["hostname"], lambda _, report=stats: json.dumps({"jobs": [report]}))
        for stats in each
    ]
    outcome = remote(root, *here).run(job(BenchProfile.MIXED, "mixed"))
    ways: tuple[Direction, ...] = ("read", "write")
    for way in ways:
        flow = outcome.flows[way]
        assert (flow.bytes, flow.count) == (merged[way]["io_bytes"], merged[way]["total_ios"])
        said = merged[way]["clat_ns"]
        assert (flow.histogram.low, flow.histogram.high) == (said["min"], said["max"])
        assert flow.histogram.total / flow.histogram.count == pytest.approx(said["mean"], rel=1e-9)
        bins = [stats[way]["clat_ns"]["bins"] for stats in each]
        for value in {*bins[0], *bins[1]}:
            assert flow.histogram.bins[int(value)] == bins[0].get(value, 0) + bins[1].get(value, 0)
    assert set(outcome.parts) == {"127.0.0.1", "127.0.0.2"}
    # each has files of its own, called as they were laid out
    texts = [answers.asked[0] for answers in here]
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
    '{"jobs": [{"jobname": "w", "read": {"total_ios": -1, "io_bytes": 1, "runtime": 1}}]}',
    '{"jobs": [{"jobname": "w", "read": {"total_ios": 1, "io_bytes": 1, "runtime": 1, '
    '"clat_ns": {"N": 1, "min": 1, "max": 1, "mean": 1, "bins": {"1": -2}}}}]}',
    '{"jobs": [{"jobname": "w", "read": {"total_ios": ' + "9" * 300 + ', "io_bytes": 1, "runtime": 1}}]}',
]


PROBE = {"count": 3, "au": 99.0, "bytes": 1, "files": 1, "seconds": 1.0}


PROBES: list[Any] = [None, [], {}, {**PROBE, "seconds": 0}, {**PROBE, "au": "x"}, {**PROBE, "bytes": -1}]


@pytest.mark.parametrize("said", PROBES, ids=str)
def test_a_probe_that_cannot_be_is_one_sentence(root: Path, said: Any) -> None:
    reply = json.dumps({"jobs": [{"jobname": "x"}], "probe": said})
    both = remote(root, Answers("a", "127.0.0.1", lambda _: reply), Answers("c", "127.0.0.3", lambda _: reply))
    with pytest.raises(Failed, match="client a sent an invalid reply: it is not a report of its load"):
        both.run(job(BenchProfile.RETINANET, "train"))


def test_what_a_client_complains_of_cannot_drive_a_terminal(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Hostile(Answers):
        def request(self, verb: str, seconds: float, **more: Any) -> dict[str, Any]:
            return {"status": 1, "out": "", "err": "fio: \x1b]0;pwned\x07\n"}

    with pytest.raises(Failed) as why:
        remote(root, Hostile("a", "127.0.0.1")).run(job(BenchProfile.MIXED, "mixed"))
    assert str(why.value).isprintable() and "pwned" in str(why.value)

    def load(*_: object) -> dict[str, Any]:
        raise listen.Wrong("\x1b[2J")

    with listening(monkeypatch), ClientConnection("gpu1", HERE, TOKEN) as there:
        monkeypatch.setattr(listen.Client, "load", load)
        with pytest.raises(Failed, match=r"client gpu1: \\x1b\[2J"):
            there.request("fio", job="")


@pytest.mark.parametrize("reply", INVALID, ids=lambda reply: reply[:30])
def test_a_reply_that_is_no_report_is_one_sentence(root: Path, reply: str) -> None:
    good = json.dumps({"jobs": fio_output.documents(TWO)[-1]["client_stats"][:1]})
    both = remote(root, Answers("a", "127.0.0.1", lambda _: good), Answers("c", "127.0.0.3", lambda _: reply))
    with pytest.raises(Failed, match=r"client c sent an invalid reply|fio ended"):
        both.run(job(BenchProfile.MIXED, "mixed"))


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
    outcome: RepeatOutcome = remote(root, *both).run(job(BenchProfile.RETINANET, "train"))
    (accelerators,) = outcome.accelerators
    assert (accelerators.accelerator, accelerators.count) == ("B200", 6)
    assert outcome.flows["read"].bandwidth == pytest.approx(6 * ideal, rel=0.01)
    words = "au /mnt/retinanet retinanet --seconds 1 --accelerator B200 --count 3"
    assert both[0].asked[-1] == words.split()
    assert both[1].asked[-1][1] == "/mnt/retinanet.1"


def test_rates_of_probes_are_summed_and_the_slowest_sets_the_pace() -> None:
    found = together([Probe(3, 90.0, 300, 3, 1.0), Probe(1, 50.0, 400, 4, 2.0)])
    assert (found.count, found.au, found.bytes, found.files) == (4, 50.0, 700, 7)
    assert found.bandwidth == pytest.approx(300 + 200)


class Patient(Answers):
    """A client that notes how long it is waited for."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.waited: list[float] = []

    def request(self, verb: str, seconds: float, **more: Any) -> dict[str, Any]:
        self.waited.append(seconds)
        assert set(more) == {"fio": {"job"}, "run": {"arguments"}}[verb]
        return super().request(verb, seconds, **more)


def test_the_own_load_runs_on_each_client_in_its_own_files(root: Path) -> None:
    reply = au.document(5 << 20, 5, 2.0)
    here = [Patient("a", "10.0.0.1", lambda _: reply), Patient("b", "10.0.0.2", lambda _: reply)]
    found = remote(root, *here).run(job(BenchProfile.KVCACHE, "stress"))
    assert here[0].asked == [["kvcache", "/mnt/kvcache", "2", "1", str(MIB), "1"]]
    assert here[1].asked == [["kvcache", "/mnt/kvcache.1", "2", "1", str(MIB), "1"]]
    assert (found.flows["read"].bytes, found.flows["read"].count) == (10 << 20, 10)
    assert set(found.raw) == {"a", "b"} and set(found.parts) == {"10.0.0.1", "10.0.0.2"}
    # a load of one second is given up after two minutes and twenty times its length
    assert [one.waited for one in here] == [[140.0], [140.0]]


def test_work_of_a_given_amount_is_waited_for_by_its_bytes_and_files(root: Path) -> None:
    reply = (SAMPLES / "filecreate.json").read_text()
    one = Patient("a", "10.0.0.1", lambda _: reply)
    asked = replace(job(BenchProfile.META, "create"), seconds=None, files=Files(500, 4096, 40_000))
    found = remote(root, one).run(asked)
    # two jobs of 500 files at 20 MB/s and 50 files/s, twenty times
    assert one.waited == [pytest.approx(120 + 20 * (1000 * 40_000 / 20e6 + 1000 / 50))]
    # file engines have a word of their own for what they did
    assert set(found.flows) == {"create"}


def test_files_are_laid_out_by_this_server(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Patient("a", "10.0.0.1", lambda _: pytest.fail("no client lays out"))
    of = remote(root, one)
    seen: list[FioJob] = []
    monkeypatch.setattr(Local, "run", lambda _, job, live: seen.append(job) or RepeatOutcome())
    layout = job(BenchProfile.SEQ, "read", create_only=True)
    assert of.run(layout) == RepeatOutcome() and seen == [layout] and one.asked == []


def test_fewer_accelerators_than_clients_leave_some_without_work(root: Path) -> None:
    def says(arguments: list[str]) -> str:
        count, seconds = int(arguments[-1]), float(arguments[4])
        probe = {"count": count, "au": 10.0, "bytes": 100, "files": 1, "seconds": seconds}
        return au.document(100, 1, seconds, probe=probe)

    both = [Patient("a", "10.0.0.1", says), Patient("b", "10.0.0.2", says)]
    outcome = remote(root, *both).run(job(BenchProfile.RETINANET, "train"))
    # one accelerator is too many: the first client had it, the other nothing
    assert (outcome.accelerators[0].count, both[1].asked) == (0, [])
    assert {asked[-1] for asked in both[0].asked} == {"1"}
    # the length of a try, or of the steps that it needs at least
    least = au.STEPS * au.TRAININGS[2].compute
    assert both[0].waited[0] == pytest.approx(120 + 20 * max(0.2, least))


def test_more_than_the_processors_of_the_clients_can_feed_is_not_tried(root: Path) -> None:
    tried: list[int] = []

    def says(arguments: list[str]) -> str:
        count, seconds = int(arguments[-1]), float(arguments[4])
        tried.append(count)
        probe = {"count": count, "au": 99.0, "bytes": 100, "files": 1, "seconds": seconds}
        return au.document(100, 1, seconds, probe=probe)

    outcome = remote(root, Answers("a", "10.0.0.1", says, cpus=1)).run(job(BenchProfile.RETINANET, "train"))
    assert outcome.accelerators[0].count == max(tried) == 64


def test_probes_that_moved_nothing_took_their_time() -> None:
    assert together([Probe(1, 0.0, 0, 0, 3.0), Probe(1, 0.0, 0, 0, 4.0)]) == Probe(2, 0.0, 0, 0, 3.0)
