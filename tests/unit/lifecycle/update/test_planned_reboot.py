# SPDX-License-Identifier: Apache-2.0
"""A planned reboot asks again at its time: it waits for a job that it would end, and no job starts meanwhile."""

import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from millrace.lifecycle.update import planned_reboot, update_paths
from millrace.lifecycle.update.planned_reboot import carry_out, planned, replan, restart
from millrace.storage.erase.erase_job import JOB as ERASE
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.heartbeat import Heartbeat
from millrace.system.jobs.job import no_start
from millrace.system.locks import Busy
from millrace.system.run import Result
from tests.fakes.mounts import unmount_all
from tests.unit.lifecycle.update.conftest import Server

REBOOT = "systemctl --no-block reboot"
OF_ADMINISTRATOR = "USEC=1795500000000000\nWARN_WALL=1\nMODE=reboot\n"
ERASING = "a drive is being erased, which a restart would end; wait for it: millrace drive list"


@pytest.fixture(autouse=True)
def evening(monkeypatch: pytest.MonkeyPatch, server: Server) -> Iterator[None]:
    """In Auckland it is 13 hours later than UTC."""
    monkeypatch.setenv("TZ", "NZDT-13")
    time.tzset()
    monkeypatch.setattr(planned_reboot, "local_time", lambda: datetime(2026, 11, 21, 22, 0, 58))
    yield
    monkeypatch.undo()
    time.tzset()


def at() -> str | None:
    plan = planned()
    return plan.at if plan else None


@pytest.mark.parametrize(
    ("when", "is_at", "timer"),
    [
        ("23:00", "2026-11-21T10:00:00+00:00", "2026-11-21 10:00:00 UTC"),
        ("03:30", "2026-11-21T14:30:00+00:00", "2026-11-21 14:30:00 UTC"),
        ("22:00", "2026-11-22T09:00:00+00:00", "2026-11-22 09:00:00 UTC"),
        # what is over when systemd hears of it never happens
        ("22:01", "2026-11-21T09:01:00+00:00", "2026-11-21 09:01:03 UTC"),
    ],
)
def test_time_of_day_is_the_next_one_of_this_server(server: Server, when: str, is_at: str, timer: str) -> None:
    restart(when, server)
    assert (at(), server.timer) == (is_at, timer)
    assert server.called(REBOOT) == []
    assert server.called("shutdown")[-1] == f"shutdown -k --reboot {when} Millrace starts another version"
    # everybody sees it
    assert update_paths.reboot_file().stat().st_mode & 0o777 == 0o644


def test_reboot_that_takes_the_locks_of_clients_waits(server: Server) -> None:
    unmount_all(server.root)
    server.file("proc/fs/nfsd/clients/5/info", "clientid: 0x1\n")
    write_model(paths.heartbeat_file(), Heartbeat(uptime=1, problem=None, error=None, free=0))
    with pytest.raises(Refused, match=r"nfsdcld cannot write the records of NFS clients .* takes their locks"):
        restart("now", server)
    with pytest.raises(Refused, match=r"`millrace update reboot now --lose-locks` reboots all the same"):
        restart("now", server)
    assert server.called(REBOOT) == []
    write_model(paths.heartbeat_file(), Heartbeat(uptime=1, problem=None, error=None, free=0, records_free=27 << 20))
    restart("now", server)
    assert len(server.called(REBOOT)) == 1


def test_administrator_who_accepts_that_locks_are_lost_reboots(server: Server) -> None:
    server.file(planned_reboot.SCHEDULED, OF_ADMINISTRATOR)
    server.file("proc/fs/nfsd/clients/5/info", "clientid: 0x1\n")
    write_model(paths.heartbeat_file(), Heartbeat(uptime=1, problem=None, error=None, free=0))
    replan("now", server, lose_locks=True)
    assert len(server.called(REBOOT)) == 1


def test_reboot_now_and_later_plan_nothing(server: Server) -> None:
    restart("later", server)
    assert server.calls == []
    restart("now", server)
    assert len(server.called(REBOOT)) == 1 and planned() is None and server.timer is None


def test_reboot_that_an_administrator_wants_waits_for_what_it_would_end_alone(server: Server) -> None:
    server.file(planned_reboot.SCHEDULED, OF_ADMINISTRATOR)
    server.file("var/lib/millrace/drive-change.json", "{}")
    with pytest.raises(Refused, match=r"does not reboot now: a drive is being replaced"):
        restart("now", server)
    server.active.add("millrace-reflink@clone.service")
    with pytest.raises(Refused, match=r"does not reboot now: a share is being cloned"):
        replan("now", server)
    assert server.called(REBOOT) == []
    server.active.clear()
    replan("now", server)
    assert len(server.called(REBOOT)) == 1


def test_erasure_at_the_time_defers_the_reboot_until_it_has_ended(server: Server) -> None:
    restart("03:30", server)
    server.states["millrace-erase.service"] = "active"
    assert carry_out(server) == ERASING
    plan = planned()
    assert plan is not None and (plan.at, plan.deferred) == ("2026-11-21T14:30:00+00:00", ERASING)
    assert carry_out(server) is None
    assert server.called(REBOOT) == []
    server.states.clear()
    assert carry_out(server) is None
    assert server.called(REBOOT) == [REBOOT]


@pytest.mark.parametrize(
    "unit", ["bench", "reflink@clone", "reflink@snapshot", "drive-test", "erase", "tuner", "update"]
)
@pytest.mark.parametrize("state", ["activating", "active", "deactivating"])
def test_no_job_that_a_restart_would_end_is_ended(server: Server, unit: str, state: str) -> None:
    server.file(planned_reboot.SCHEDULED, OF_ADMINISTRATOR)
    replan("03:30", server)
    server.states[f"millrace-{unit}.service"] = state
    assert carry_out(server)
    assert server.called(REBOOT) == []


def test_job_that_goes_on_after_a_restart_defers_only_a_reboot_that_no_administrator_moved(server: Server) -> None:
    restart("03:30", server)
    server.file("var/lib/millrace/drive-change.json", "{}")
    assert carry_out(server) == "a drive is being replaced; wait until that is done"
    replan("04:00", server)
    assert (at(), server.timer) == ("2026-11-21T15:00:00+00:00", "2026-11-21 15:00:00 UTC")
    assert carry_out(server) is None
    assert server.called(REBOOT) == [REBOOT]


def test_clock_that_jumps_past_the_time_reboots_nothing(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    restart("03:30", server)
    monkeypatch.setattr(planned_reboot, "local_time", lambda: datetime(2069, 1, 1, 12))
    assert carry_out(server) == planned_reboot.JUMPED
    # it is asked every 5 minutes, also when the clock is right again
    assert carry_out(server) is None
    monkeypatch.setattr(planned_reboot, "local_time", lambda: datetime(2026, 11, 22, 3, 30, 1))
    assert carry_out(server) is None and server.called(REBOOT) == []
    replan("04:00", server)
    monkeypatch.setattr(planned_reboot, "local_time", lambda: datetime(2026, 11, 22, 4, 30))
    assert carry_out(server) is None and server.called(REBOOT) == [REBOOT]


def test_time_of_a_clock_that_was_put_back_is_none_of_this_day(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    restart("22:00", server)
    plan = planned()
    assert plan is not None and not planned_reboot.is_of_another_clock(plan)
    monkeypatch.setattr(planned_reboot, "local_time", lambda: datetime(2026, 11, 20, 12))
    assert planned_reboot.is_of_another_clock(plan)


def test_silent_systemd_defers_the_reboot(server: Server) -> None:
    restart("03:30", server)
    server.broken["systemctl show"] = Result(1, "", "Failed to connect to bus: Connection refused")
    assert "does not report the state of millrace-update.service: Failed to connect" in (carry_out(server) or "")
    assert server.called(REBOOT) == []
    server.broken.clear()
    assert carry_out(server) is None
    assert server.called(REBOOT) == [REBOOT]


def test_reboot_that_systemd_does_not_begin_is_tried_again(server: Server) -> None:
    restart("03:30", server)
    server.broken[REBOOT] = Result(1, "", "Access denied")
    assert "systemctl --no-block reboot failed with status 1: Access denied" in (carry_out(server) or "")
    server.broken[REBOOT] = Result(0, "", "")
    waits: list[float] = []
    assert "has not begun the reboot for 30 seconds" in (carry_out(server, waits.append) or "")
    assert sum(waits) == 30
    server.broken.clear()
    assert carry_out(server) is None


def test_job_that_starts_at_that_moment_is_refused(server: Server) -> None:
    restart("03:30", server)
    seen: list[str] = []

    def start(*_: object) -> None:
        with pytest.raises(Refused) as caught, ERASE.starting(server, "drive A", "admin", pause=lambda _: None):
            pass
        seen.append(str(caught.value))

    server.before["systemctl show"] = server.before["systemctl is-system-running"] = start
    server.before[REBOOT] = start
    assert carry_out(server) is None
    server.before.clear()
    assert len(seen) >= 3 and set(seen) == {
        "the start of the planned reboot has not ended for 60 seconds: millrace job list"
    }
    # then systemd itself takes no start
    with (
        pytest.raises(Failed, match="does not start: Requested transaction"),
        ERASE.starting(server, "drive A", "admin"),
    ):
        pass


def test_job_that_is_being_started_defers_the_reboot(server: Server) -> None:
    restart("03:30", server)
    with no_start("drive erasure"):
        assert "the start of the drive erasure has not ended" in (carry_out(server, lambda _: None) or "")
        with pytest.raises(Busy, match="drive erasure"):
            restart("now", server, pause=lambda _: None)
    assert server.called(REBOOT) == []


def test_reboot_that_waits_is_cancelled(server: Server) -> None:
    restart("03:30", server)
    server.states["millrace-erase.service"] = "active"
    carry_out(server)
    replan("later", server)
    assert planned() is None and server.timer is None
    server.states.clear()
    with pytest.raises(BadInput, match="is missing"):
        carry_out(server)
    with pytest.raises(Refused, match="no reboot is planned"):
        replan("later", server)
    assert server.called(REBOOT) == []


def test_reboot_that_systemd_does_not_cancel_stays_planned(server: Server) -> None:
    restart("03:30", server)
    server.broken["systemctl stop"] = Result(1, "", "Failed to connect to bus: Connection refused")
    with pytest.raises(Failed, match="the planned reboot cannot be cancelled: Failed to connect"):
        replan("later", server)
    assert at() == "2026-11-21T14:30:00+00:00"


def test_reboot_that_systemd_does_not_plan_is_not_planned(server: Server) -> None:
    server.broken["systemd-run"] = Result(1, "", "Failed to connect to bus: Connection refused")
    with pytest.raises(Failed, match="Connection refused"):
        restart("03:30", server)
    assert planned() is None and server.called("shutdown -k") == []


def test_shutdown_of_an_administrator_is_shown_and_cancelled(server: Server) -> None:
    scheduled = server.file(planned_reboot.SCHEDULED, OF_ADMINISTRATOR)
    server.before["shutdown -c"] = lambda: scheduled.unlink(missing_ok=True)
    plan = planned()
    assert plan is not None and (plan.at[:10], plan.deferred) == ("2026-11-24", None)
    replan("later", server)
    assert planned() is None
    # a warning to users plans nothing, nor is a poweroff a reboot
    for text in (f"{OF_ADMINISTRATOR}DRY_RUN=1\n", OF_ADMINISTRATOR.replace("reboot", "poweroff")):
        server.file(planned_reboot.SCHEDULED, text)
        assert planned() is None
