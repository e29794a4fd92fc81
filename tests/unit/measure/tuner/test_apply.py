# SPDX-License-Identifier: Apache-2.0
"""The winner of a run is in the policy with its source, is set, and a revert removes exactly that."""

import os
from pathlib import Path
from typing import Any

import pytest

from millrace.measure.tuner.knobs.entry import Load
from millrace.measure.tuner.model import Combination, TunerOutcome, TunerRun, TunerState, Versions
from millrace.measure.tuner.run import apply as applying
from millrace.measure.tuner.run import store
from millrace.measure.tuner.search.goals import parse
from millrace.plan import measured
from millrace.plan.defaults import SmbdSettings
from millrace.plan.policy.model import MdPolicy, Policy, SmbdPolicy
from millrace.plan.settings import relevant, settings_of
from millrace.system import paths
from millrace.system.documents import read_model
from millrace.system.errors import Failed, Refused
from millrace.system.files import write_text
from millrace.system.run import Result
from millrace.tune import settings as tuning
from millrace.tune.collect import stages
from millrace.tune.originals import SavedOriginals
from millrace.tune.run import run as tune
from tests.unit.measure.tuner.machines import TunedServer

RUN = "20261124-160000"
AT = "2026-11-24T16:00:00+00:00"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TunedServer:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    made = TunedServer(tmp_path, monkeypatch)
    return made


def found(machine: TunedServer, verdict: Any = "candidate", **winner: int) -> TunerRun:
    here = machine.surface(Load(smb=True))
    plan: Combination = here.planned
    best = plan | {name.replace("__", "."): level for name, level in winner.items()}
    outcome = TunerOutcome(
        verdict=verdict, winner=best, plan=plan, default=plan, reason="The candidate is 20 % faster."
    )
    run = TunerRun(
        id=RUN,
        started=AT,
        ended=AT,
        state=TunerState.DONE,
        host="nas",
        versions=Versions(millrace="1", kernel="7.2", fio="fio-3.41"),
        budget=3600,
        knobs=here.knobs,
        goals=parse("seq-read"),
        outcome=outcome,
    )
    store.save(run)
    return run


def test_levels_that_differ_from_the_plan_are_applied_with_their_source(machine: TunedServer) -> None:
    found(machine, md__stripe_cache_size=16384, md__member_requests=256, nfsd__threads=64)
    done = applying.apply("latest", machine)
    assert done.values == {"nfsd.threads": 64, "md.stripe_cache_size": 16384, "md.member_requests": 256}
    assert done.source == f"measured here on 2026-11-24 16:00 UTC, run {RUN}"
    kept = measured.find().measured
    assert kept is not None and (kept.run, kept.by != "") == (RUN, True)
    settings = settings_of(machine.basis.model_copy(update={"policy": relevant(Policy(), kept)}))
    assert (settings.md.stripe_cache_size, settings.nfsd.threads_max) == (16384, 64)
    assert {decision.source for decision in settings.values if decision.name == "md.stripe_cache_size"} == {done.source}
    # nfs.conf is rendered, then everything is set
    assert machine.called("systemctl reload") == [
        "systemctl reload-or-restart millrace-share.service",
        "systemctl reload-or-restart millrace-tune.service",
    ]


def test_credits_are_applied_to_smb_conf_and_reverted(machine: TunedServer) -> None:
    write_text(paths.policy_file(), "[smbd]\nmax_credits = 1024\n")
    mine = Policy(smbd=SmbdPolicy(max_credits=1024))
    machine.basis = machine.basis.model_copy(update={"policy": relevant(mine)})
    machine.settings = settings_of(machine.basis)
    found(machine, smbd__max_credits=4096, smbd__aio_min_bytes=65536)
    done = applying.apply(RUN, machine)
    assert done.values == {"smbd.max_credits": 4096, "smbd.aio_min_bytes": 65536}
    kept = read_model(measured.file(), measured.MeasuredPolicy)
    assert kept.replaced.smbd == SmbdPolicy(max_credits=1024)
    settings = settings_of(machine.basis.model_copy(update={"policy": relevant(mine, kept)}))
    assert settings.smbd == SmbdSettings(max_credits=4096, aio_min_bytes=65536)
    assert {decision.name for decision in settings.values if decision.source == done.source} == set(done.values)
    # millrace-share.service renders smb.conf and reloads smbd
    assert machine.called("systemctl reload-or-restart millrace-share.service")
    assert applying.revert(machine).values == done.values


def test_value_of_the_policys_file_that_was_bad_is_overridden_and_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    machine = TunedServer(tmp_path, monkeypatch, Policy(md=MdPolicy(stripe_cache_size=256)))
    text = "# mine\n[md]\nstripe_cache_size = 256\n"
    write_text(paths.policy_file(), text)
    found(machine, md__stripe_cache_size=4096)
    applying.apply(RUN, machine)
    kept = read_model(measured.file(), measured.MeasuredPolicy)
    assert kept.replaced.md.stripe_cache_size == 256 and kept.values.md.stripe_cache_size == 4096
    applying.revert(machine)
    assert paths.policy_file().read_text() == text and not measured.file().exists()


def test_revert_removes_what_was_applied_and_gives_the_queues_back(machine: TunedServer) -> None:
    found(machine, md__member_requests=256)
    applying.apply(RUN, machine)
    queue = machine.root / "sys/class/block/nvme5n1/queue/nr_requests"
    SavedOriginals().save({str(queue): "1023"})
    queue.write_text("256\n")
    done = applying.revert(machine)
    assert (done.run, done.values) == (RUN, {"md.member_requests": 256})
    assert measured.find().measured is None and machine.called("systemctl reload-or-restart millrace-tune.service")
    # what that service does
    tune(stages(tuning.current(machine.pool, machine).settings, machine.pool, machine))
    assert queue.read_text() == "1023\n"
    with pytest.raises(Refused, match="no settings of the tuner are applied"):
        applying.revert(machine)


def test_run_without_a_winner_has_nothing_to_apply(machine: TunedServer) -> None:
    found(machine, "plan")
    with pytest.raises(Refused, match=f"run {RUN} has nothing to apply"):
        applying.apply(RUN, machine)
    assert not measured.file().exists() and machine.called("systemctl reload") == []


def test_nothing_is_applied_while_a_run_is_active(machine: TunedServer) -> None:
    found(machine, md__stripe_cache_size=16384)
    machine.unit_runs(True)
    for verb in (lambda: applying.apply(RUN, machine), lambda: applying.revert(machine)):
        with pytest.raises(Refused, match="already running"):
            verb()
    assert not measured.file().exists()


def test_unit_that_fails_is_named_and_the_decision_stays(machine: TunedServer) -> None:
    found(machine, md__stripe_cache_size=16384)
    machine.broken["systemctl reload-or-restart millrace-tune"] = Result(1, "", "Job failed.\n")
    with pytest.raises(Failed, match=r"the policy was changed, and millrace-tune\.service could not set it"):
        applying.apply(RUN, machine)
    assert measured.find().measured is not None
