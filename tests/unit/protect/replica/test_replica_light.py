# SPDX-License-Identifier: Apache-2.0
"""The light of a replica says whether it is in time; a source does not know."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.protect.light import Light
from millrace.protect.replica import replica_light
from millrace.protect.replica.replica_model import STATES, DrillReport, ReplicaReport, ReplicaState, ReplicaStates
from millrace.serve.config.model import Config, first_config
from millrace.serve.config.replica import ReplicaSource, SnapshotReader
from tests.unit.protect.replica.conftest import FINGERPRINT, READER, SOURCE

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def at(hours: float) -> str:
    return (NOW - timedelta(hours=hours)).isoformat(timespec="seconds")


def replica(paused: bool = False) -> Config:
    source = ReplicaSource(
        address=SOURCE, share="data", every=60, authority="a certificate", fingerprint=FINGERPRINT, paused=paused
    )
    share = first_config().shares[0].model_copy(update={"name": "copy", "replica": source})
    return first_config().model_copy(update={"shares": [share]})


def state(hours: float, different: int | None = None, problem: str | None = None) -> ReplicaState:
    report = ReplicaReport(
        id="1",
        share="copy",
        source=f"{SOURCE}:data",
        snapshot="20261130T110000Z-hourly",
        moment=at(hours),
        at=at(hours),
        is_new=True,
    )
    drill = None
    if different is not None:
        name = report.snapshot
        drill = DrillReport(id="2", share="copy", snapshot=name, at=at(1), files=9, bytes=1, different=different)
    current = at(hours)
    return ReplicaState(
        share="copy",
        tried_at=current,
        current_at=current,
        moment=current,
        report=report,
        drill=drill,
        problem=problem,
    )


def lit(config: Config, known: ReplicaState | None) -> Light:
    STATES.write(ReplicaStates(replicas=[known] if known else []))
    [light] = replica_light.lights(config, NOW)
    return light


def test_replica_that_is_up_to_date_is_ok_and_says_when_the_next_is_due(root_user: Path) -> None:
    light = lit(replica(), state(0.5, different=0))
    assert (light.place, light.state, light.last, light.next) == ("second-server", "ok", at(0.5), at(-0.5))
    assert (light.schedule, light.period, light.drill) == ("every 1 h 0 min", 3600, at(1))
    assert light.sentence == f"Replica copy of {SOURCE}:data has its snapshot of 2026-11-30 11:30 UTC."


@pytest.mark.parametrize(
    ("known", "expected", "words"),
    [
        (state(5), "late", "not up to date for more than 3 periods"),
        (state(0.5, problem="no answer"), "failed", "failed: no answer."),
        (state(0.5, different=2), "failed", "differed from the source"),
        (ReplicaState(share="copy", tried_at=at(0), problem="no answer"), "late", "it has no snapshot yet"),
        (ReplicaState(share="copy", since=at(1)), "none", "has no snapshot yet"),
        (ReplicaState(share="copy", since=at(4)), "late", "it has no snapshot yet"),
        (None, "none", "has no record of its runs yet"),
    ],
)
def test_replica_that_does_not_protect_says_why(
    root_user: Path, known: ReplicaState | None, expected: str, words: str
) -> None:
    light = lit(replica(), known)
    assert light.state == expected and words in light.sentence


def test_paused_replica_has_no_schedule(root_user: Path) -> None:
    light = lit(replica(paused=True), state(90))
    assert (light.state, light.schedule, light.todo) == ("none", None, "millrace replica resume copy")


def test_source_names_who_may_have_a_replica_and_claims_nothing(root_user: Path) -> None:
    reader = SnapshotReader(address=READER, fingerprint=FINGERPRINT)
    share = first_config().shares[0].model_copy(update={"readers": [reader]})
    light = lit(first_config().model_copy(update={"shares": [share]}), None)
    assert (light.state, light.last, light.schedule) == ("none", None, None)
    assert light.sentence.startswith(f"{READER} may keep a replica of share data.")
