# SPDX-License-Identifier: Apache-2.0
"""The light of each share on a second server: on that server whether its replica is in time, from records."""

from datetime import datetime, timedelta

from millrace.protect.light import Light, LightState
from millrace.protect.replica.replica_job import JOB, ORDER
from millrace.protect.replica.replica_model import STATES, ReplicaState, ReplicaStates, late
from millrace.serve.config.model import Config
from millrace.serve.config.replica import ReplicaSource, SnapshotReader
from millrace.system import ages
from millrace.system.command import command
from millrace.system.run import Runner
from millrace.system.text import duration, moment


def lights(config: Config, now: datetime, run: Runner | None = None) -> list[Light]:
    """Return the lights of shares that are replicas, and of those whose snapshots another server may read."""
    states = STATES.get() or ReplicaStates()
    order = ORDER.get() if run is not None else None
    running = order.share if order is not None and run is not None and JOB.runs(run) else None
    lit = []
    for share in config.shares:
        if share.replica is not None:
            lit.append(_replica(share.name, share.replica, states.of(share.name), now, running == share.name))
        elif share.readers:
            lit.append(_source(share.name, share.readers))
    return lit


def _replica(share: str, source: ReplicaSource, state: ReplicaState, now: datetime, running: bool) -> Light:
    last = state.moment
    show = command("millrace replica status", share)
    light, sentence, todo = _state(share, source, state, last, now)
    if running:
        light, sentence, todo = "running", f"Replica {share} is being brought up to date.", show
    period = timedelta(minutes=source.every)
    due = now if state.tried_at is None else max(ages.when(state.tried_at) + period, now)
    return Light(
        share=share,
        place="second-server",
        state=light,
        schedule=None if source.paused else f"every {duration(period.total_seconds())}",
        last=last,
        period=round(period.total_seconds()),
        next=None if source.paused else due.isoformat(timespec="seconds"),
        drill=state.drill.at if state.drill is not None else None,
        sentence=sentence,
        todo=todo,
    )


def _state(
    share: str, source: ReplicaSource, state: ReplicaState, last: str | None, now: datetime
) -> tuple[LightState, str, str | None]:
    show = command("millrace replica status", share)
    if source.paused:
        return "none", f"Replica {share} of {source.place} is paused.", command("millrace replica resume", share)
    if state.drill is not None and state.drill.different:
        return "failed", f"Files of replica {share} differed from the source in the last drill.", show
    if reason := late(source, state, last, now):
        return "late", f"Replica {share} of {source.place} is late: {reason}.", show
    if state.problem is not None:
        return "failed", f"The last run of replica {share} failed: {state.problem.rstrip('.')}.", show
    if last is None:
        # without a record it is not known what the pool holds; the upkeep looks
        known = "has no snapshot yet" if state.since is not None else "has no record of its runs yet"
        return "none", f"Replica {share} of {source.place} {known}.", None
    return "ok", f"Replica {share} of {source.place} has its snapshot of {moment(last)}.", None


def _source(share: str, readers: list[SnapshotReader]) -> Light:
    """Of a source: the replica is not known here, as this server holds nothing of the other one."""
    who = " and ".join(reader.address for reader in readers)
    sentence = f"{who} may keep a replica of share {share}. The Protection page there shows whether it is in time."
    return Light(
        share=share,
        place="second-server",
        state="none",
        schedule=None,
        last=None,
        period=None,
        next=None,
        drill=None,
        sentence=sentence,
        todo=None,
    )
