# SPDX-License-Identifier: Apache-2.0
"""What is known of the replicas of this server: their age, their lag, their last runs and drills."""

from datetime import UTC, datetime

from millrace.protect.replica import replica_stage
from millrace.protect.replica.replica_job import JOB, ORDER, source_of
from millrace.protect.replica.replica_model import STATES, ReaderRow, ReplicaList, ReplicaRow, ReplicaStates, late
from millrace.protect.snapshot.snapshot_store import SnapshotStore
from millrace.serve.config import store
from millrace.serve.config.model import Config
from millrace.serve.config.replica import ReplicaSource
from millrace.serve.share.server import ShareServer
from millrace.system import ages
from millrace.system.users import only_root


def listed(server: ShareServer, name: str | None = None) -> ReplicaList:
    """Return all replicas, or the one of this name, and the servers that read snapshots of this one.

    BadInput, Refused: there is no such replica. OSError: snapshots cannot be listed.
    """
    only_root()
    config = store.load()
    if name is not None:
        source_of(config, name)
    return rows(config, server, STATES.get() or ReplicaStates(), datetime.now(UTC), name)


def rows(
    config: Config, server: ShareServer, states: ReplicaStates, now: datetime, name: str | None = None
) -> ReplicaList:
    """Return the replicas of a desired state with what is known of them. OSError: snapshots cannot be listed."""
    order = ORDER.get()
    running = order.share if order is not None and JOB.runs(server.run) else None
    snapshots = SnapshotStore(server.pool.filesystem.mountpoint)
    replicas = [
        _row(share.name, share.replica, snapshots, states, now, running == share.name)
        for share in config.shares
        if share.replica is not None and name in (None, share.name)
    ]
    readers = [
        ReaderRow(share=share.name, address=reader.address, fingerprint=reader.fingerprint)
        for share in config.shares
        for reader in share.readers
        if name is None
    ]
    return ReplicaList(replicas=replicas, readers=readers)


def _row(
    name: str, source: ReplicaSource, snapshots: SnapshotStore, states: ReplicaStates, now: datetime, running: bool
) -> ReplicaRow:
    held = replica_stage.replicated(snapshots, name)
    newest = next(reversed(held.values()), None)
    state = states.of(name)
    moment = None if newest is None else newest.moment or newest.last
    return ReplicaRow(
        share=name,
        source=source.place,
        every=source.every,
        keep=source.keep,
        paused=source.paused,
        running=running,
        snapshots=len(held),
        newest=None if newest is None else newest.name,
        moment=moment,
        age=_seconds(moment, now),
        lag=_seconds(state.current_at, now),
        late=late(source, state, moment, now),
        last=state,
    )


def _seconds(at: str | None, now: datetime) -> int | None:
    age = None if at is None else ages.age(at, now)
    return None if age is None else round(age.total_seconds())
