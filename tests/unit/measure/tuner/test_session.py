# SPDX-License-Identifier: Apache-2.0
"""A run on a server: a planted bad setting is found, a useless one left alone, and the plan's settings are back."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from millrace.measure.bench.plan.sizes import sizes
from millrace.measure.bench.run.guard import GuardVerdict
from millrace.measure.bench.run.local import RepeatStopped
from millrace.measure.tuner.knobs.checks import check_settings
from millrace.measure.tuner.knobs.entry import Load
from millrace.measure.tuner.model import Figures, Goal, TunerRun, TunerState
from millrace.measure.tuner.run import guard, live, session, store
from millrace.measure.tuner.run.outputs import TunerProgress, TunerRequest
from millrace.measure.tuner.run.plan import PreparedSearch
from millrace.measure.tuner.run.tuner_job import TunerOrder
from millrace.measure.tuner.search.goals import parse
from millrace.plan.defaults import SmbdSettings
from millrace.plan.policy.model import MdPolicy, NfsdPolicy, Policy
from millrace.system import paths
from millrace.system.errors import Failed
from millrace.tune.tuner_hold import endings
from tests.unit.measure.bench.sites import request as bench_request
from tests.unit.measure.bench.sites import site
from tests.unit.measure.tuner.machines import TunedServer

RUN = "20261124-160000"
KNOBS = ["nfsd.threads", "md.stripe_cache_size", "md.read_ahead_kib", "sysctl.dirty_bytes"]
BAD = Policy(
    nfsd=NfsdPolicy(threads=8, threads_min=1), md=MdPolicy(stripe_cache_size=256, read_ahead_kib=0, group_thread_cnt=4)
)


class Tuned:
    """A run whose measurements are `speed` of what is set, with 1 % of noise."""

    def __init__(
        self,
        root: Path,
        patch: pytest.MonkeyPatch,
        policy: Policy,
        speed: Callable[[dict[str, str]], float],
        tried: Sequence[str] = KNOBS,
        machine: TunedServer | None = None,
    ):
        self.machine = machine or TunedServer(root, patch, policy)
        self.before = self.machine.values()
        self.stop, self.readings, self.random = Event(), 0, Random(7)
        self.verdict = GuardVerdict()
        self.hooks: dict[int, Callable[[], None]] = {}
        self.remote = False
        self.smbd: list[SmbdSettings] = []
        self._speed = speed
        patch.setattr(session.ladder, "opened", self._opened)
        patch.setattr(guard.guard, "check", self._check)
        here = site(pool=self.machine.pool)
        surface = self.machine.surface(Load(smb=True, clients=True))
        asked = TunerRequest(goals="seq-read", knobs=list(tried))
        goals = parse("seq-read")
        chosen = [knob for knob in surface.knobs if knob.name in tried]
        ready = PreparedSearch(asked, here, surface, chosen, goals, sizes(bench_request(), 1 << 40, 1 << 36, 8), [])
        order = TunerOrder(run=RUN, by="anna", request=asked)
        self.session = session.TunerSession(order, ready, self.machine, self.stop)

    def _check(self, *given: Any, connected: bool) -> GuardVerdict:
        # a client takes one connection, and the run has it; nothing else measures
        assert given[-1] is None and connected
        return self.verdict

    @contextmanager
    def _opened(self, *_: Any) -> Iterator[Any]:
        yield SimpleNamespace(figures=self._figures, remote=self.remote)

    def _figures(self, begins: Callable[[Goal], None], smbd: SmbdSettings) -> Figures:
        self.smbd.append(smbd)
        self.readings += 1
        begins(self.session.ready.goals[0])
        self.hooks.get(self.readings, lambda: None)()
        if self.stop.is_set():
            raise RepeatStopped("the measurement was stopped")
        return {"seq-read": 1e9 * self._speed(self.machine.values()) * self.random.gauss(1, 0.01)}

    def run_all(self) -> TunerRun:
        made = self.session.run_all()
        assert store.load("latest") == made and made.ended
        # whatever happened
        assert self.machine.values() == self.before
        assert not paths.tuner_journal_file().exists()
        last = live.latest()
        assert last is not None and (last.state, last.what) == (made.state, made.reason)
        return made


def speed(values: dict[str, str]) -> float:
    """Threads, stripe cache and read-ahead matter up to a point; the dirty limit does nothing."""
    threads = min(int(values["threads"].split()[1]), 32) / 32
    stripes = min(int(values["stripes"]), 4096) / 4096
    ahead = min(int(values["read-ahead"]), 768) / 768
    return (0.4 + 0.6 * threads) * (0.5 + 0.5 * stripes) * (0.3 + 0.7 * ahead)


def test_planted_bad_settings_are_found_and_a_useless_one_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Tuned(tmp_path, monkeypatch, BAD, speed)
    made = run.run_all()
    assert made.state is TunerState.DONE and made.outcome is not None
    assert made.outcome.verdict == "candidate", made.outcome.reason
    winner, plan = made.outcome.winner, made.outcome.plan
    assert int(winner["md.stripe_cache_size"]) >= 4096
    assert int(winner["nfsd.threads"]) >= 32
    assert int(winner["md.read_ahead_kib"]) >= 1024
    assert winner["sysctl.dirty_bytes"] == plan["sysctl.dirty_bytes"]
    assert {effect.knob for effect in made.effects if effect.matters} >= set(KNOBS) - {"sysctl.dirty_bytes"}
    assert len(made.readings) == run.readings and made.profile is None


def test_tune_leaves_alone_what_is_tried_until_the_run_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Tuned(tmp_path, monkeypatch, Policy(), speed)
    seen: list[tuple[str, ...]] = []
    run.hooks = dict.fromkeys(range(1, 100), lambda: seen.append(endings()))
    run.hooks[4] = run.stop.set
    run.run_all()
    tried = ("/md/stripe_cache_size", "/queue/read_ahead_kb", "/vm/dirty_background_bytes", "/vm/dirty_bytes")
    assert seen == [(*tried, "nfsdctl threads")] * 3 and endings() == ()


def test_rebuild_is_measured_while_the_other_goals_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Tuned(tmp_path, monkeypatch, Policy(), speed)
    goals = parse("seq-read=3,rebuild=1")
    run.session.ready = replace(run.session.ready, goals=goals, checks=check_settings(run.machine.pool))
    action, seen = "sys/class/block/md127/md/sync_action", []

    def under_way() -> None:
        seen.append(run.machine.read(action))
        run.machine.write("proc/mdstat", "md127 : active raid6\n      check = 1.0% (700/1000) finish=1min\n")

    run.hooks = dict.fromkeys(range(1, 100), under_way)
    made = run.run_all()
    assert made.state is TunerState.DONE and set(seen) == {"check"} and run.machine.read(action) == "idle"
    assert (
        all(reading.figures["rebuild"] > 0 and reading.figures["seq-read"] > 0 for reading in made.readings)
        and made.readings
    )


def test_progress_has_the_reading_that_is_measured_with_its_settings_and_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Tuned(tmp_path, monkeypatch, BAD, speed)
    seen: list[TunerProgress] = []
    run.hooks = dict.fromkeys(range(1, 100), lambda: seen.append(last()))
    made = run.run_all()
    assert [progress.combination for progress in seen] == [reading.combination for reading in made.readings]
    assert [progress.phase for progress in seen] == [reading.phase for reading in made.readings]
    assert {progress.phase for progress in seen} >= {"baseline", "screen", "guard"}
    assert [progress.what for progress in seen[:2]] == ["reading 1", "reading 2"]
    assert seen[1].readings == 1 and seen[1].doing == "reading 2: sequential reads, over NFS"
    assert (last().combination, last().goal) == (None, None)


def test_credits_are_of_the_measurement_alone_and_nothing_of_the_server_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Tuned(tmp_path, monkeypatch, Policy(), lambda _: 1.0, ["smbd.max_credits", "smbd.aio_min_bytes"])
    # there is no journal of it at any time, so a kill leaves nothing to put back
    seen: list[bool] = []
    run.hooks = dict.fromkeys(range(1, 100), lambda: seen.append(paths.tuner_journal_file().exists()))
    made = run.run_all()
    assert made.state is TunerState.DONE and len(seen) == len(made.readings) and not any(seen)
    levels = [
        (reading.combination["smbd.max_credits"], reading.combination["smbd.aio_min_bytes"])
        for reading in made.readings
    ]
    assert [(settings.max_credits, settings.aio_min_bytes) for settings in run.smbd] == levels
    assert len(set(levels)) >= 4 and levels[0] == (8192, 1)


@pytest.mark.parametrize("others", [["md.stripe_cache_size"], []], ids=["among-others", "alone"])
def test_setting_that_a_driver_refuses_is_left_out_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: list[str]
) -> None:
    with_port = TunedServer(tmp_path, monkeypatch)
    with_port.port("ens1", 0)
    with_port.coalescing["ens1"] = {"adaptive-rx": True, "rx-usecs": 8}
    with_port.refusing = {"ens1"}
    run = Tuned(tmp_path, monkeypatch, Policy(), speed, ["ports.rx_usecs", *others], with_port)
    made = run.run_all()
    words = "ethtool -C ens1 rx-usecs cannot be set to 8: netlink error: Operation not supported"
    if not others:
        assert (made.state, made.readings) == (TunerState.FAILED, [])
        assert made.reason == f"no setting is left to try: {words}"
        return
    assert made.state is TunerState.DONE and [knob.name for knob in made.knobs] == others
    assert [(knob.name, knob.reason) for knob in made.refused] == [("ports.rx_usecs", words)]
    assert not any("ports.rx_usecs" in reading.combination for reading in made.readings)


def last() -> TunerProgress:
    found = live.latest()
    assert found is not None
    return found


def test_a_good_plan_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Tuned(tmp_path, monkeypatch, Policy(), speed).run_all()
    assert made.outcome is not None and made.outcome.verdict == "plan"


def test_a_stop_puts_the_settings_back_and_keeps_the_readings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Tuned(tmp_path, monkeypatch, BAD, speed)
    run.hooks[6] = run.stop.set
    made = run.run_all()
    assert (made.state, made.reason, len(made.readings)) == (TunerState.STOPPED, "stopped by the user", 5)


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("degraded", "the run has ended: an array is degraded"),
        ("rebuilding", "the run has ended: an array is resyncing or being checked"),
        ("with-clients", "the run has ended: clients are connected"),
    ],
)
def test_what_happens_between_readings_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, label: Any, words: str
) -> None:
    run = Tuned(tmp_path, monkeypatch, BAD, speed)
    run.hooks[4] = lambda: run.verdict.labels.append(label)
    made = run.run_all()
    assert made.state is TunerState.FAILED and (made.reason or "").startswith(words)
    assert len(made.readings) == 4


def test_a_client_that_disappears_ends_the_run_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Tuned(tmp_path, monkeypatch, BAD, speed)
    run.remote = True

    def gone() -> None:
        raise Failed("client gpu1 disconnected: Connection reset by peer")

    run.hooks[4] = gone
    made = run.run_all()
    assert (made.state, len(made.readings)) == (TunerState.FAILED, 3)
    assert made.reason == "client gpu1 disconnected: Connection reset by peer; the run has ended"


def test_a_measurement_that_fails_here_is_one_reading_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Tuned(tmp_path, monkeypatch, BAD, speed)

    def broken() -> None:
        raise Failed("fio ended with status 3")

    run.hooks[4] = broken
    made = run.run_all()
    assert made.state is TunerState.DONE
    assert [reading.reason for reading in made.readings if reading.validity == "failed"] == ["fio ended with status 3"]


def test_settings_that_something_else_changes_meanwhile_end_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Tuned(tmp_path, monkeypatch, BAD, speed)
    run.hooks[4] = lambda: run.machine.write("sys/class/block/md127/queue/read_ahead_kb", "77")
    made = run.run_all()
    assert made.state is TunerState.FAILED
    assert "queue/read_ahead_kb was changed by something else while it was measured" in (made.reason or "")


def test_settings_that_cannot_be_put_back_are_the_reason_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Tuned(tmp_path, monkeypatch, BAD, speed)
    monkeypatch.setattr(session.restore, "put_back", _broken)
    made = run.session.run_all()
    assert (made.state, made.reason) == (TunerState.FAILED, "stripe_cache_size cannot be restored to 256")
    assert paths.tuner_journal_file().exists()


def test_run_that_failed_says_why_before_what_cannot_be_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Tuned(tmp_path, monkeypatch, BAD, speed)
    monkeypatch.setattr(session.restore, "put_back", _broken)
    run.hooks[4] = lambda: run.machine.write("sys/class/block/md127/queue/read_ahead_kb", "77")
    both = r".*read_ahead_kb was changed by something else .*; stripe_cache_size cannot be restored to 256"
    assert re.fullmatch(both, run.session.run_all().reason or "")


def _broken(*_: Any) -> list[str]:
    raise Failed("stripe_cache_size cannot be restored to 256")
