# SPDX-License-Identifier: Apache-2.0
"""The reboot into another version, now or at a time of day: at that time, too, it waits for a job that it would end."""

import time
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from itertools import repeat

from millrace.lifecycle.keep import nfs_client_room
from millrace.lifecycle.update import records, update_paths
from millrace.lifecycle.update.model import PlannedReboot
from millrace.lifecycle.update.update_job import JOB
from millrace.system import ages, heartbeat, paths
from millrace.system.errors import Failed, MillraceError, Refused
from millrace.system.jobs.job import Document, Pause, no_start
from millrace.system.jobs.kinds import ALL, JobName
from millrace.system.run import Runner, last_words, must
from millrace.system.wait import wait_until

SCHEDULED = "run/systemd/shutdown/scheduled"
"""The shutdown that an administrator planned with shutdown(8)."""
UNIT = "millrace-planned-reboot"
AGAIN = 300
"""Seconds from an attempt that a job prevents to the next one."""
SOON = timedelta(seconds=5)
"""From the order to the earliest time: systemd does not start what a timer has for a time that is over."""
BEGINS = 30
"""Seconds in which systemd begins a reboot: logind may wait for programs that asked it to (InhibitDelayMaxSec=)."""
MISSED = timedelta(hours=1)
"""The timer of a reboot is late by a second; one that is later than this ran because the clock jumped."""
JUMPED = "the clock jumped past its time; plan it again: millrace update reboot HH:MM"
NOT_LOADED = 5
"""What systemctl exits with for a unit that is not there."""
GO_ON: tuple[JobName, ...] = tuple(kind.name for kind in ALL if kind.after_boot != "ends")
"""Jobs that go on after a restart: one that an administrator wants now does not wait for them."""
PLAN = Document(update_paths.reboot_file, PlannedReboot)


def restart(
    when: str,
    run: Runner,
    allowed: Collection[JobName] = (),
    pause: Pause = time.sleep,
    *,
    lose_locks: bool = False,
) -> None:
    """Reboot `now` or plan it for a time of day (HH:MM); `later` is when an administrator reboots.

    `allowed` jobs do not prevent it; with `lose_locks`, nor do locks that clients lose (`now` only). Refused: `now`
    would end a job, find one halfway, or take locks. Failed: systemd does not take it.
    """
    if when == "now":
        if sentence := _reboot(run, allowed, pause, lose_locks):
            raise Refused(f"the server does not reboot now: {sentence}; then: millrace update reboot now")
    elif when != "later":
        _plan(when, run, allowed)


def replan(when: str, run: Runner, pause: Pause = time.sleep, *, lose_locks: bool = False) -> None:
    """Change when the other version starts; `later` cancels a planned reboot, also one that waits.

    `lose_locks`: as `restart`. Refused: no version waits for a reboot, or a job or locks keep the server from one now.
    Failed: systemd does not take it.
    """
    if records.trial() is None and planned() is None:
        raise Refused("no reboot is planned and no version waits for one")
    if when == "later":
        _cancel(run)
    else:
        restart(when, run, GO_ON, pause, lose_locks=lose_locks)


def planned() -> PlannedReboot | None:
    """Return the planned reboot, also one that an administrator planned with shutdown(8); None without one."""
    return PLAN.get() or _of_administrator()


def carry_out(run: Runner, pause: Pause = time.sleep) -> str | None:
    """Reboot as planned, or record why the reboot waits: for a job, or because systemd reports no states.

    Where the clock has jumped past the time, it waits for an administrator.

    The unit of the timer runs this, again AGAIN seconds after each end. Return the reason in a sentence; None where the
    server reboots, or the reason is the same as before. BadInput: no reboot is planned.
    """
    plan = PLAN.read()
    if plan.deferred == JUMPED:
        return None
    if plan.deferred is None and ages.until(plan.at, _utc(local_time())) < -MISSED:
        PLAN.write(plan.model_copy(update={"deferred": JUMPED}))
        return JUMPED
    try:
        sentence = _reboot(run, plan.allowed, pause)
    except MillraceError as error:
        sentence = str(error)
    if sentence is None or sentence == plan.deferred:
        return None
    PLAN.write(plan.model_copy(update={"deferred": sentence}))
    return sentence


def is_of_another_clock(plan: PlannedReboot) -> bool:
    """Whether the time is more than a day away, which no time of day is: the clock was put back since."""
    return ages.until(plan.at, _utc(local_time())) > timedelta(days=1) + MISSED


def local_time() -> datetime:
    """Return the time of day here, without its zone."""
    return datetime.now()


def _reboot(run: Runner, allowed: Collection[JobName], pause: Pause, lose_locks: bool = False) -> str | None:
    """Reboot, or return the sentence why not. No job starts from the question until systemd refuses all starts."""
    with no_start("planned reboot", pause):
        if sentence := JOB.obstacle(run, allowed):
            return sentence
        if not lose_locks and (sentence := nfs_client_room.endangered(heartbeat.last())):
            return f"(`millrace update reboot now --lose-locks` reboots all the same) {sentence}"
        must(run, ["systemctl", "--no-block", "reboot"])

        def state() -> str:
            return run(["systemctl", "is-system-running"]).out.strip()

        if wait_until(state, lambda now: now == "stopping", repeat(1.0, BEGINS), pause) != "stopping":
            raise Failed(f"systemd has not begun the reboot for {BEGINS} seconds: systemctl list-jobs")
    return None


def _plan(when: str, run: Runner, allowed: Collection[JobName]) -> None:
    now = local_time()
    hour, minute = map(int, when.split(":"))
    at = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
    at = at if at > now else at + timedelta(days=1)
    _cancel(run)
    PLAN.write(PlannedReboot(at=_utc(at).isoformat(timespec="seconds"), allowed=list(allowed)))
    named = ["--quiet", "--collect", f"--unit={UNIT}", "--description=Millrace Planned Reboot"]
    timer = [f"--on-calendar={_utc(max(at, now + SOON)):%Y-%m-%d %H:%M:%S} UTC", f"--on-unit-inactive={AGAIN}"]
    options = ["--timer-property=AccuracySec=1s", "--property=ReadWritePaths=/run/millrace"]
    verb = ["/usr/bin/millrace", "update", "reboot-planned"]
    try:
        must(run, ["systemd-run", *named, *timer, *options, *verb])
    except Failed:
        PLAN.remove()
        raise
    # logind tells the users who are logged in, as before a shutdown, and does no more than that at the time
    run(["shutdown", "-k", "--reboot", when, "Millrace starts another version"])


def _utc(local: datetime) -> datetime:
    return local.astimezone(UTC)


def _cancel(run: Runner) -> None:
    """Cancel the planned reboot, or a shutdown of an administrator. Failed: systemd does not; the record stays."""
    must(run, ["shutdown", "-c"])
    # stopped first: an attempt under way would write the record again
    stopped = run(["systemctl", "stop", f"{UNIT}.timer", f"{UNIT}.service"])
    if stopped.status not in (0, NOT_LOADED):
        raise Failed(f"the planned reboot cannot be cancelled: {last_words(stopped)}")
    PLAN.remove()


def _of_administrator() -> PlannedReboot | None:
    try:
        lines = (paths.ROOT / SCHEDULED).read_text().splitlines()
    except OSError:
        return None
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    microseconds = values.get("USEC", "")
    if values.get("MODE") != "reboot" or values.get("DRY_RUN") == "1" or not microseconds.isdigit():
        return None
    return PlannedReboot(at=datetime.fromtimestamp(int(microseconds) / 1e6, UTC).isoformat(timespec="seconds"))
