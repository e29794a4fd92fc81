# SPDX-License-Identifier: Apache-2.0
"""Replicas are started when they are due, and nothing waits for them; a run that never ends well is not silent."""

from datetime import UTC, datetime, timedelta

import pytest

from millrace.protect.replica import replica_change, replica_job, replica_light, replica_run, replica_upkeep
from millrace.protect.replica.replica_job import JOB, ORDER
from millrace.protect.replica.replica_model import STATES, ReplicaState, late
from millrace.serve.config import store
from millrace.system import locks, paths
from millrace.system.jobs import record
from tests.fakes.jobs import shown
from tests.unit.protect.replica.conftest import CA, FINGERPRINT, SOURCE, Replicas
from tests.unit.protect.replica.test_replica_change import OF

LATER = datetime.now(UTC) + timedelta(hours=4)


@pytest.fixture(autouse=True)
def idle(replicas: Replicas) -> None:
    """No job runs."""
    for states in ("systemctl show --property=ActiveState,Job millrace-", "systemctl show --property=Id,"):
        replicas.appliance.broken[states] = lambda words, _: shown(words[3:])


def upkeep(replicas: Replicas, now: datetime | None = None) -> list[str]:
    return replica_upkeep.upkeep(replicas.nas.server, lambda: now or datetime.now(UTC))


def killed(replicas: Replicas, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start a run whose process is killed, as a power cut does it."""
    with monkeypatch.context() as patched:

        def ended(*_: object) -> None:
            raise KeyboardInterrupt

        patched.setattr(replica_run, "_carry_out", ended)
        with pytest.raises(KeyboardInterrupt):
            replicas.run()


def test_upkeep_starts_the_replica_and_does_not_wait_for_it(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    followed: list[object] = []
    monkeypatch.setattr(replica_job, "follow", lambda *given: followed.append(given) or [])
    assert upkeep(replicas) == ["replica copy is started"]
    order = ORDER.read()
    assert (order.share, order.action, order.by, followed) == ("copy", "sync", "the server", [])


def test_run_that_ends_before_it_notes_anything_is_not_started_in_a_loop(replicas: Replicas) -> None:
    assert upkeep(replicas) == ["replica copy is started"]
    JOB.clear()
    assert upkeep(replicas) == []


def test_replica_that_has_waited_longest_is_the_first(replicas: Replicas) -> None:
    replica_change.add(f"{SOURCE}:other", "slow", {}, (CA, FINGERPRINT), replicas.appliance.server)
    for name, hours in (("copy", 2), ("slow", 3)):
        at = (datetime.now(UTC) - timedelta(hours=hours)).isoformat()
        STATES.write(STATES.read().with_state(STATES.read().of(name).model_copy(update={"tried_at": at})))
    assert upkeep(replicas) == ["replica slow is started"]


def test_other_process_that_lists_snapshots_keeps_no_replica_from_its_start(replicas: Replicas) -> None:
    with locks.held(paths.run_dir() / "replica/upkeep.lock", "busy"):
        assert upkeep(replicas) == ["replica copy is started"]


def test_run_that_is_killed_each_time_is_late_and_says_so(replicas: Replicas, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(replicas, monkeypatch)
    state = STATES.read().of("copy")
    assert state.problem is None and state.tried_at is not None and late(OF, state, None, datetime.now(UTC)) is None
    assert late(OF, state, None, LATER) == "it has no snapshot yet"
    ORDER.write(replica_job.prepare("copy", "sync").model_copy(update={"id": str(state.unfinished)}))
    replica_job.end()
    assert "ended from outside" in str(STATES.read().of("copy").problem) and not ORDER.path().exists()
    [light] = [light for light in replica_light.lights(store.load(), LATER) if light.share == "copy"]
    assert light.state == "late"


def test_run_that_was_killed_is_tried_again_after_an_hour(replicas: Replicas, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(replicas, monkeypatch)
    state, weekly = STATES.read().of("copy"), OF.model_copy(update={"every": 7 * 24 * 60})
    assert not replica_upkeep.is_due(weekly, state, datetime.now(UTC))
    assert replica_upkeep.is_due(weekly, state, datetime.now(UTC) + timedelta(hours=1))


def test_run_that_is_cancelled_is_not_started_again_before_its_period(replicas: Replicas) -> None:
    replicas.appliance.TAKEN = (*replicas.appliance.TAKEN, "systemctl stop millrace-reflink@replica.service")
    order = replica_job.prepare("copy", "sync")
    ORDER.write(order)
    began = {"tried_at": (datetime.now(UTC) - timedelta(hours=9)).isoformat(), "unfinished": order.id}
    STATES.write(STATES.read().with_state(STATES.read().of("copy").model_copy(update=began)))
    assert not isinstance(JOB.stop, str)
    JOB.stop(replicas.nas.server.run)
    replica_job.end()
    state = STATES.read().of("copy")
    assert str(state.problem).startswith("it was cancelled by ") and record.load("replica") is None
    assert not replica_upkeep.is_due(OF, state, datetime.now(UTC) + timedelta(minutes=50))
    assert replica_upkeep.is_due(OF, state, datetime.now(UTC) + timedelta(minutes=60))


def test_drill_does_not_put_off_the_next_run(replicas: Replicas) -> None:
    replicas.snapshot(1)
    replicas.synced()
    before = STATES.read().of("copy").tried_at
    STATES.write(STATES.read().with_state(STATES.read().of("copy").model_copy(update={"tried_at": "2026-01-01"})))
    replicas.run("drill")
    assert before is not None and STATES.read().of("copy").tried_at == "2026-01-01"


def test_new_boot_drive_has_what_the_pool_holds(replicas: Replicas) -> None:
    name = replicas.snapshot(1)
    replicas.synced()
    moment = STATES.read().of("copy").moment
    STATES.remove()
    [light] = [light for light in replica_light.lights(store.load(), LATER) if light.share == "copy"]
    assert "has no snapshot yet" not in light.sentence
    upkeep(replicas)
    state = STATES.read().of("copy")
    assert (state.newest, state.moment, state.report) == (name, moment, None) and moment is not None
    assert late(OF, state, moment, LATER) == "it was not up to date for more than 3 periods"


def test_replica_of_which_nothing_is_known_is_recorded_from_now_on(replicas: Replicas) -> None:
    STATES.remove()
    replica_upkeep.complete(store.load(), replicas.nas.server, LATER)
    assert STATES.read().of("copy") == ReplicaState(share="copy", since=LATER.isoformat(timespec="seconds"))
