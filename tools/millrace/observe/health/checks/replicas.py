# SPDX-License-Identifier: Apache-2.0
"""Are replicas of shares of other servers up to date, and did their last drill end well?

Read from the record of their runs: no check opens the pool, or asks a source.
"""

from datetime import UTC, datetime

from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.protect.replica.replica_model import STATES, ReplicaState, ReplicaStates, late
from millrace.serve.config import store
from millrace.serve.config.replica import ReplicaSource
from millrace.system.command import command

NAME = "replicas"


def check(host: Host) -> list[HealthFinding]:
    """Return what is wrong with replicas, else one finding; nothing where this server has none."""
    if host.pool is None:
        return []
    states, now = STATES.get() or ReplicaStates(), datetime.now(UTC)
    replicas = [(share.name, share.replica) for share in store.read().config.shares if share.replica is not None]
    findings = [finding for name, source in replicas for finding in _replica(name, source, states.of(name), now)]
    if findings or not replicas:
        return findings
    paused = sum(source.paused for _, source in replicas)
    what = "1 replica is" if len(replicas) == 1 else f"{len(replicas)} replicas are"
    also = f" {paused} {'is' if paused == 1 else 'are'} paused." if paused else ""
    sentence = f"{what} kept of shares of other servers, none of which is late.{also}"
    return [HealthFinding(check=NAME, level=Level.OK, sentence=sentence)]


def _replica(name: str, source: ReplicaSource, state: ReplicaState, now: datetime) -> list[HealthFinding]:
    findings = []
    if reason := late(source, state, state.moment, now):
        why = f" The last run: {state.problem.rstrip('.')}." if state.problem else ""
        findings.append(
            HealthFinding(
                check=NAME,
                kind="late",
                subject=name,
                level=Level.WARN,
                sentence=f"Replica {name} of {source.place} is late: {reason}.{why}",
                todo=f"See what keeps it from that: {command('millrace replica status', name)}",
            )
        )
    if state.report is not None and state.report.unread:
        findings.append(
            HealthFinding(
                check=NAME,
                kind="unread",
                subject=name,
                level=Level.WARN,
                sentence=(
                    f"{state.report.unread} files are missing in snapshot {state.report.snapshot} of replica {name}: "
                    f"{source.place} cannot read them."
                ),
                todo=(
                    "Restore them on the source, for example from an earlier snapshot here; their names: "
                    "journalctl -u millrace-reflink@replica.service"
                ),
            )
        )
    if state.drill is not None and state.drill.different:
        findings.append(
            HealthFinding(
                check=NAME,
                kind="drill",
                subject=name,
                level=Level.FAIL,
                sentence=(
                    f"{state.drill.different} of {state.drill.files} files of replica {name} differed from the source "
                    "in the last drill."
                ),
                todo=(
                    "The next snapshot is read as a whole. Check the drives (millrace drive list), then try "
                    f"again: {command('millrace replica drill', name)}"
                ),
            )
        )
    return findings
