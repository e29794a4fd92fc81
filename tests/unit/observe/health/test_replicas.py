# SPDX-License-Identifier: Apache-2.0
"""Replicas that are late, or that differed from their source, are said with what to do."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from millrace.observe.health.checks import replicas
from millrace.observe.health.model import Level
from millrace.protect.replica.replica_model import STATES, DrillReport, ReplicaReport, ReplicaState, ReplicaStates
from millrace.serve.config import store
from millrace.serve.config.model import Config, DesiredShare, Nfs, Smb
from millrace.serve.config.replica import ReplicaSource
from millrace.system import paths
from tests.fakes.files.running import host

NOW = datetime.now(UTC)
SOURCE = ReplicaSource(address="10.0.0.7", share="data", every=60, authority="CA", fingerprint=":".join(["AB"] * 32))


def before(minutes: int) -> str:
    return (NOW - timedelta(minutes=minutes)).isoformat(timespec="seconds")


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what sets the replica copy of this server, and its state."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)

    def keep(state: ReplicaState | None, source: ReplicaSource = SOURCE) -> None:
        share = DesiredShare(
            name="copy", type="mixed", project=1001, nfs=Nfs(enabled=False), smb=Smb(enabled=False), replica=source
        )
        config = Config(shares=[share], next_project=1002)
        monkeypatch.setattr(store, "read", lambda: store.Loaded(config, None))
        if state is not None:
            STATES.write(ReplicaStates(replicas=[state]))

    return keep


def current(minutes: int, **more: Any) -> ReplicaState:
    report = ReplicaReport(
        id="7",
        share="copy",
        source="10.0.0.7:data",
        snapshot="x",
        moment=before(minutes),
        at=before(minutes),
        is_new=True,
    )
    return ReplicaState(share="copy", tried_at=before(5), current_at=before(minutes), report=report, **more)


def test_replica_that_is_up_to_date_is_well(kept: Any) -> None:
    kept(current(30))
    [finding] = replicas.check(host())
    assert finding.level is Level.OK and "1 replica is kept" in finding.sentence


def test_server_without_replicas_says_nothing(kept: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(None)
    monkeypatch.setattr(store, "read", lambda: store.Loaded(Config(), None))
    assert replicas.check(host()) == []


def test_replica_that_is_late_is_a_warning_with_the_reason_of_the_last_run(kept: Any) -> None:
    kept(current(200, problem="10.0.0.7:data does not answer any more"))
    [finding] = replicas.check(host())
    assert finding.level is Level.WARN and "is late: it was not up to date for more than 3 periods." in finding.sentence
    assert "The last run: 10.0.0.7:data does not answer any more." in finding.sentence
    assert finding.todo is not None and "millrace replica status copy" in finding.todo


def test_replica_that_never_ended_well_is_late(kept: Any) -> None:
    kept(ReplicaState(share="copy", tried_at=before(5), problem="refused"))
    [finding] = replicas.check(host())
    assert finding.level is Level.WARN and "it has no snapshot yet" in finding.sentence


def test_paused_replica_is_said_and_no_warning(kept: Any) -> None:
    kept(current(2000), SOURCE.model_copy(update={"paused": True}))
    [finding] = replicas.check(host())
    assert finding.level is Level.OK and finding.sentence.endswith("1 is paused.")


def test_drill_that_found_a_difference_is_a_failure(kept: Any) -> None:
    drill = DrillReport(id="8", share="copy", snapshot="x", at=before(1), files=10, bytes=10, different=1)
    kept(current(30, drill=drill))
    [finding] = replicas.check(host())
    assert finding.level is Level.FAIL and "1 of 10 files of replica copy differed" in finding.sentence
