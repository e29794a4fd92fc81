# SPDX-License-Identifier: Apache-2.0
"""Replicas that are late, or that differed from their source, are said with what to do."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from millrace.observe.health.checks import replicas
from millrace.observe.health.host import Host
from millrace.observe.health.model import Level
from millrace.protect.replica.replica_model import STATES, DrillReport, ReplicaReport, ReplicaState, ReplicaStates
from millrace.serve.config import files
from millrace.serve.config.model import DesiredShare, first_config
from millrace.serve.config.protocols import Nfs, Smb
from millrace.serve.config.replica import ReplicaSource
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.run import Result
from tests.fakes.samples import pool

SOURCE = ReplicaSource(address="10.0.0.7", share="data", every=60, authority="CA", fingerprint=":".join(["AB"] * 32))


def before(minutes: int) -> str:
    return (datetime.now(UTC) - timedelta(minutes=minutes)).isoformat(timespec="seconds")


@pytest.fixture
def host(root_user: Path) -> Host:
    write_model(paths.pool_file(), pool())
    files.config_file().parent.mkdir(parents=True, exist_ok=True)
    write_model(files.config_file(), first_config())
    return Host(lambda _, stdin=None: Result(0, "ActiveState=inactive\n", ""), uptime=lambda: 7200)


def keep(state: ReplicaState, source: ReplicaSource = SOURCE) -> None:
    """Give the server a replica in this state."""
    share = DesiredShare(
        name="copy", type="mixed", project=1009, nfs=Nfs(enabled=False), smb=Smb(enabled=False), replica=source
    )
    config = first_config()
    write_model(
        files.config_file(), config.model_copy(update={"shares": [*config.shares, share], "next_project": 1010})
    )
    STATES.write(ReplicaStates(replicas=[state]))


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
    known = {"current_at": before(minutes), "moment": before(minutes), "report": report, **more}
    return ReplicaState(share="copy", tried_at=before(5), **known)


def test_replica_that_is_up_to_date_is_well(host: Host) -> None:
    keep(current(30))
    [finding] = replicas.check(host)
    assert finding.level is Level.OK and "1 replica is kept" in finding.sentence


def test_server_without_replicas_says_nothing(host: Host) -> None:
    assert replicas.check(host) == []


def test_replica_that_is_late_is_a_warning_with_the_reason_of_the_last_run(host: Host) -> None:
    keep(current(200, problem="10.0.0.7:data does not answer any more"))
    [finding] = replicas.check(host)
    assert finding.level is Level.WARN and "is late: it was not up to date for more than 3 periods." in finding.sentence
    assert "The last run: 10.0.0.7:data does not answer any more." in finding.sentence
    assert finding.todo is not None and "millrace replica status copy" in finding.todo


def test_replica_that_never_ended_well_is_late(host: Host) -> None:
    keep(ReplicaState(share="copy", tried_at=before(5), problem="refused"))
    [finding] = replicas.check(host)
    assert finding.level is Level.WARN and "it has no snapshot yet" in finding.sentence


def test_first_run_that_is_killed_each_time_is_late(host: Host) -> None:
    keep(ReplicaState(share="copy", since=before(200), tried_at=before(5)))
    [finding] = replicas.check(host)
    assert finding.level is Level.WARN and "it has no snapshot yet" in finding.sentence


def test_paused_replica_is_said_and_no_warning(host: Host) -> None:
    keep(current(2000), SOURCE.model_copy(update={"paused": True}))
    [finding] = replicas.check(host)
    assert finding.level is Level.OK and finding.sentence.endswith("1 is paused.")


def test_drill_that_found_a_difference_is_a_failure(host: Host) -> None:
    drill = DrillReport(id="8", share="copy", snapshot="x", at=before(1), files=10, bytes=10, different=1)
    keep(current(30, drill=drill))
    [finding] = replicas.check(host)
    assert finding.level is Level.FAIL and "1 of 10 files of replica copy differed" in finding.sentence


def test_files_that_the_source_could_not_read_are_a_warning(host: Host) -> None:
    state = current(30)
    assert state.report is not None
    keep(state.model_copy(update={"report": state.report.model_copy(update={"unread": 2})}))
    [finding] = replicas.check(host)
    assert finding.level is Level.WARN and finding.sentence == (
        "2 files are missing in snapshot x of replica copy: 10.0.0.7:data cannot read them."
    )
