# SPDX-License-Identifier: Apache-2.0
"""What millrace-cleanup@schedule.service does after the snapshots, and `cleanup replica` after each run.

It starts the replica that is due, one after the other, and lists snapshots for replicas elsewhere. It waits for no run:
that takes days, and scheduled snapshots and the floor of free space come every 15 minutes.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta

from millrace.protect.replica import replica_job, replica_pairing, replica_stage
from millrace.protect.replica.replica_model import STATES, ReplicaState, ReplicaStates
from millrace.protect.snapshot.snapshot_schedule import stamp
from millrace.protect.snapshot.snapshot_store import SnapshotStore
from millrace.serve.config import store
from millrace.serve.config.model import Config
from millrace.serve.config.replica import ReplicaSource
from millrace.serve.share.server import ShareServer
from millrace.system import ages, locks, paths
from millrace.system.errors import MillraceError, Refused
from millrace.system.files import describe
from millrace.system.jobs.job import SERVER
from millrace.system.users import only_root

ALREADY = "snapshots are being listed for replicas: systemctl status millrace-cleanup@schedule.service"
SLACK = timedelta(minutes=3)
"""By so much a run is early: the upkeep begins every 15 minutes, and the last run began some time after it."""
AGAIN = timedelta(hours=1)
"""A run that was killed, or that a restart of the server ended, is tried again after this, at most after its period."""


def upkeep(server: ShareServer, now: Callable[[], datetime] = lambda: datetime.now().astimezone()) -> list[str]:
    """Start the replica here that is due, and list the newest snapshots for replicas elsewhere; return that in words.

    Another process that lists snapshots keeps this one from it.
    """
    only_root()
    config = store.load()
    complete(config, server, now())
    done = _start_due(config, server, now())
    with suppress(locks.Busy), locks.held(paths.run_dir() / "replica/upkeep.lock", ALREADY):
        done += replica_pairing.offer(server)
    return done


def is_due(source: ReplicaSource, state: ReplicaState, now: datetime) -> bool:
    """Whether a replica is to be brought up to date now."""
    if source.paused:
        return False
    period = timedelta(minutes=source.every)
    age = None if state.tried_at is None else ages.age(state.tried_at, now)
    return age is None or age >= (period if state.unfinished is None else min(period, AGAIN)) - SLACK


def complete(config: Config, server: ShareServer, now: datetime) -> None:
    """Record of replicas what is not known of them: since when, and what the pool holds. OSError: it cannot be listed.

    A new boot drive has no record, and health opens no pool.
    """
    snapshots = SnapshotStore(server.pool.filesystem.mountpoint)
    for share in config.shares:
        state = (STATES.get() or ReplicaStates()).of(share.name)
        if share.replica is None or (state.since is not None and state.newest is not None):
            continue
        newest = next(reversed(replica_stage.replicated(snapshots, share.name).values()), None)
        known = {"since": state.since or stamp(now)}
        if newest is not None:
            known |= {"newest": newest.name, "moment": newest.moment or newest.last}
        after = state.model_copy(update=known)
        if after != state:
            STATES.write((STATES.get() or ReplicaStates()).with_state(after))


def _start_due(config: Config, server: ShareServer, now: datetime) -> list[str]:
    """Start the one that has waited longest: one whose runs take longer than its period keeps no other from its own."""
    states = STATES.get() or ReplicaStates()
    due = [
        share.name
        for share in config.shares
        if share.replica is not None and is_due(share.replica, states.of(share.name), now)
    ]
    for name in sorted(due, key=lambda each: _tried(states.of(each), now)):
        try:
            replica_job.start(replica_job.prepare(name, "sync", by=SERVER), server)
        except Refused as refused:
            # another job keeps it from that; it stays due
            return [f"replica {name} waits: {refused}"]
        except MillraceError as error:
            return [f"replica {name} does not start: {describe(error)}"]
        return [f"replica {name} is started"]
    return []


def _tried(state: ReplicaState, now: datetime) -> float:
    if state.tried_at is None or ages.age(state.tried_at, now) is None:
        return 0.0
    return ages.when(state.tried_at).timestamp()
