# SPDX-License-Identifier: Apache-2.0
"""What is asked of the tuner is decided before anything is changed; a mistake is one sentence."""

import re
from pathlib import Path

import pytest

from millrace.measure.bench.result.choices import BenchLayer
from millrace.measure.bench.run.guard import GuardVerdict
from millrace.measure.tuner.run import guard, order
from millrace.measure.tuner.run import plan as planning
from millrace.measure.tuner.run.outputs import TunerRequest
from millrace.measure.tuner.run.plan import PreparedSearch, seconds
from millrace.system.errors import BadInput, MillraceError, Refused
from tests.unit.measure.bench.sites import site
from tests.unit.measure.tuner.machines import TunedServer


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TunedServer:
    made = TunedServer(tmp_path, monkeypatch)
    monkeypatch.setattr(planning.sites, "site", lambda clients: site(pool=made.pool, clients=list(clients)))
    monkeypatch.setattr(order, "only_root", lambda: None)
    return made


def prepared(machine: TunedServer, **asked: object) -> PreparedSearch:
    return planning.prepare(TunerRequest.model_validate(asked), machine)


def test_goals_become_steps_of_the_ladder_at_their_places(machine: TunedServer) -> None:
    ready = prepared(machine, goals="seq-read=3,local-rand-read,smb-seq-write")
    assert [one.id for one in ready.steps] == ["L2/nfs-tcp/seq/read", "L1/xfs/rand/read", "L2/smb/seq/write"]
    assert all(one.layer is not BenchLayer.L0 for one in ready.steps)
    told = ready.estimate
    # a start, a warm-up and five seconds for each goal
    assert 3 * 9 < told.each < 3 * 15 and told.least > told.fewest * told.each
    assert told.left_out and told.obstacles == []


def test_settings_of_smbd_are_tried_for_goals_over_smb_alone(machine: TunedServer) -> None:
    smb = {"smbd.max_credits", "smbd.aio_min_bytes"}
    ready, without = prepared(machine, goals="smb-seq-read"), prepared(machine, goals="seq-read")
    assert smb <= {one.name for one in ready.knobs} and not smb & {one.name for one in without.knobs}
    # its smbd is started and mounted for each reading
    assert ready.each > without.each + 2
    with pytest.raises(BadInput, match=r"smbd\.max_credits is not tried: no goal is measured over SMB"):
        prepared(machine, goals="seq-read", knobs=["smbd.max_credits"])


def test_named_knobs_alone_are_tried(machine: TunedServer) -> None:
    ready = prepared(machine, knobs=["md.stripe_cache_size"])
    assert [one.name for one in ready.knobs] == ["md.stripe_cache_size"]
    assert [one.name for one in ready.goals] == ["seq-read", "seq-write", "rand-read", "rand-write", "fsync", "create"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"goals": "speed=1"}, "There is no goal 'speed'"),
        ({"goals": "seq-read=fast"}, "weight of seq-read"),
        ({"profile": "gaming"}, "There is no profile 'gaming'"),
        ({"profile": "smb", "goals": "fsync"}, "--goal and --profile cannot be combined"),
        ({"knobs": ["md.chunk"]}, "there is no setting 'md.chunk' to try"),
        ({"knobs": ["scheduler"]}, "scheduler is not tried: NVMe drives schedule requests themselves"),
        ({"clients": ["gpu9"]}, "gpu9 is not a benchmark client"),
    ],
)
def test_mistake_is_one_sentence(machine: TunedServer, asked: dict[str, object], words: str) -> None:
    before = machine.values()
    with pytest.raises(BadInput, match=words):
        prepared(machine, **asked)
    assert machine.values() == before


@pytest.mark.parametrize("text", ["", "60", "0m", "-5m", "25h", "1d", "1.5h", "٣m"])
def test_budget_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="--budget is a time"):
        seconds(text)


def test_budget_shorter_than_one_screen_is_refused_with_what_it_takes(machine: TunedServer) -> None:
    assert (seconds("90m"), seconds("2h"), seconds("900s")) == (5400, 7200, 900)
    with pytest.raises(BadInput, match="A budget of 1 minute is shorter than one screen") as refused:
        prepared(machine, budget=60).check_budget()
    named = re.search(r"give --budget (\w+) or more", str(refused.value))
    assert named is not None
    # the files that are laid out before the first reading are part of it
    prepared(machine, budget=seconds(named[1])).check_budget()


def test_budget_that_is_too_short_is_an_obstacle_of_the_estimate(
    machine: TunedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard.guard, "check", lambda *_, **__: GuardVerdict(labels=["degraded"]))
    [short, degraded] = order.estimate(TunerRequest(budget=60), machine).obstacles
    assert "shorter than one screen" in short and degraded.startswith("an array is degraded")
    assert order.estimate(TunerRequest(budget=7200), machine).obstacles == [degraded]


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (GuardVerdict(labels=["degraded"]), "an array is degraded"),
        (GuardVerdict(labels=["rebuilding"]), "an array is resyncing or being checked"),
        (GuardVerdict(labels=["with-clients"]), "clients are connected"),
        (GuardVerdict(obstacles=["a benchmark is already running"]), "a benchmark is already running"),
    ],
)
def test_obstacle_refuses_the_start_in_one_sentence(
    machine: TunedServer, monkeypatch: pytest.MonkeyPatch, verdict: GuardVerdict, words: str
) -> None:
    monkeypatch.setattr(guard.guard, "check", lambda *_, **__: verdict)
    with pytest.raises(Refused, match=words):
        order.ready(TunerRequest(budget=7200), machine)
    assert machine.called("systemctl start") == []


def test_hot_drive_and_a_run_that_is_active_refuse_the_start(
    machine: TunedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard.guard, "check", lambda *_, **__: GuardVerdict())
    monkeypatch.setattr(
        "millrace.measure.bench.run.monitor.RunWatch.complaint", lambda _: "drive S1 has 80 degrees Celsius"
    )
    with pytest.raises(MillraceError, match="drive S1 has 80 degrees Celsius: let it cool down first"):
        order.ready(TunerRequest(budget=7200), machine)
    machine.unit_runs(True)
    with pytest.raises(Refused, match="the tuner is already running"):
        order.ready(TunerRequest(budget=7200), machine)
