# SPDX-License-Identifier: Apache-2.0
"""What millrace-cleanup@schedule.service does after the snapshots: list them for replicas, and bring ours on."""

from collections.abc import Callable
from datetime import datetime, timedelta

from millrace.protect.replica import replica_job, replica_pairing
from millrace.protect.replica.replica_model import STATES, ReplicaState, ReplicaStates
from millrace.serve.config import store
from millrace.serve.config.replica import ReplicaSource
from millrace.serve.share.server import ShareServer
from millrace.system import ages, locks, paths
from millrace.system.errors import MillraceError
from millrace.system.files import describe
from millrace.system.jobs.job import SERVER
from millrace.system.users import only_root

ALREADY = "the upkeep of replicas is running: systemctl status millrace-cleanup@schedule.service"
SLACK = timedelta(minutes=3)
"""By so much a run is early: the upkeep begins every 15 minutes, and the last run ended some time after it began."""


def upkeep(server: ShareServer, now: Callable[[], datetime] = lambda: datetime.now().astimezone()) -> list[str]:
    """List the newest snapshots for replicas elsewhere, and run the replicas here that are due; return that in words.

    Refused: another process does so.
    """
    only_root()
    with locks.held(paths.run_dir() / "replica/upkeep.lock", ALREADY):
        done = replica_pairing.offer(server)
        for name in [share.name for share in store.load().shares if share.replica is not None]:
            # those before it may have taken hours
            share = store.load().share(name)
            states = STATES.get() or ReplicaStates()
            if share is not None and share.replica is not None and is_due(share.replica, states.of(name), now()):
                done.append(_run(name, server))
    return done


def is_due(source: ReplicaSource, state: ReplicaState, now: datetime) -> bool:
    """Whether a replica is to be brought up to date now."""
    if source.paused:
        return False
    age = None if state.tried_at is None else ages.age(state.tried_at, now)
    return age is None or age >= timedelta(minutes=source.every) - SLACK


def _run(name: str, server: ShareServer) -> str:
    try:
        order = replica_job.prepare(name, "sync", by=SERVER)
        replica_job.start(order, server)
        for _ in replica_job.follow(order, server):
            pass
    except MillraceError as error:
        # another job kept it from that, or it failed: it is tried again when it is due
        return f"replica {name} is not up to date: {describe(error)}"
    return f"replica {name} is up to date"
