# SPDX-License-Identifier: Apache-2.0
"""A change of the network on trial: in force at once, rolled back unless it is confirmed, and forgotten by a power cut.

It is applied by a process of its own, which systemd starts: that one lives on where the change ends the connection of
the user who made it. The desired state has the change when it is confirmed, and not before.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from millrace.serve.config import store
from millrace.serve.config.model import Config
from millrace.serve.config.store import Mutate
from millrace.serve.network import refusals, trial_record
from millrace.serve.network.addressing import AddressChange, ConfirmedFiles
from millrace.serve.network.listener_change import ListenerChange
from millrace.serve.network.model import NetworkChange, NetworkTrial
from millrace.serve.render.reconcile import Reconciliation, settle
from millrace.serve.render.registry import Change, RenderPart
from millrace.serve.share.server import ShareServer, this_server
from millrace.system import paths
from millrace.system.documents import checked
from millrace.system.errors import Failed, MillraceError, Refused
from millrace.system.files import describe
from millrace.system.run import Runner, attempt, must
from millrace.system.users import invoking_user, only_root
from millrace.system.wait import wait_until

# Seconds: to confirm it, and to apply it at most, where smbd alone may take two minutes to listen.
TO_CONFIRM, TO_APPLY, PAUSE = 60, 300, 0.5

UNIT = "millrace-network-trial"
WRITTEN = "/run /etc /srv/pool /var/lib/nfs /var/lib/samba /var/cache/samba /var/log/samba /var/lib/millrace"
"""What a change writes: that of the network, and shares that follow its addresses (as in millrace-share.service)."""
CONFIRM = "millrace network confirm"

UNCONFIRMED = f"nobody confirmed it within {TO_CONFIRM} s"
KILLED = "the process that applied it was killed"


@dataclass(frozen=True)
class NetworkServer:
    """This server, as a trial needs it. `start` lets another process apply what is recorded."""

    run: Runner = attempt
    pause: Callable[[float], None] = time.sleep
    server: Callable[[], ShareServer] = this_server
    now: Callable[[], float] = time.monotonic
    start: Callable[[Runner], object] | None = None


def try_change(what: str, mutate: Mutate, host: NetworkServer, warnings: Sequence[str] = ()) -> NetworkChange:
    """Put a change in force until it is confirmed or its time is over; `warnings` are those of its input.

    Refused: it cannot be made, or it was rolled back since it does not hold; nothing has changed. Failed: systemd does
    not start the process that applies it, or that does not end.
    """
    only_root()
    refuse_open()
    old = store.load()
    new = checked(lambda: Config.model_validate(store.preview(mutate).model_dump()))
    if trial_record.part_of(old) == trial_record.part_of(new):
        raise Refused("nothing to change: the network is as configured already")
    told = [*warnings, *refusals.refuse(old, new, host.run)]
    trial = NetworkTrial(who=invoking_user(), what=what, part=trial_record.part_of(new), warnings=told)
    trial_record.write(trial)
    try:
        (host.start or _start)(host.run)
    except Failed:
        trial_record.trial_file().unlink()
        raise
    pauses = [PAUSE] * round(TO_APPLY / PAUSE)
    done = wait_until(trial_record.last, lambda seen: seen is None or seen.state != "applying", pauses, host.pause)
    if done is None or done.state == "applying":
        raise Failed(f"the change was not applied in {TO_APPLY} s: systemctl status {UNIT}")
    if done.state == "failed":
        raise Refused(done.problem or KILLED)
    return NetworkChange(what=what, seconds=TO_CONFIRM, verified=done.verified, warnings=done.warnings)


def refuse_open() -> None:
    """Verify that no change is open. Refused: one is."""
    found = trial_record.last()
    if found is not None and trial_record.is_open(found):
        raise Refused(f"the change '{found.what}' waits for its confirmation: {CONFIRM}, or millrace network rollback")


def apply(host: NetworkServer) -> None:
    """Apply the recorded change. Where another process was killed while it applied it, it is rolled back.

    Refused: the caller is not root.
    """
    only_root()
    with store.config_lock():
        trial = trial_record.last()
        if trial is not None and trial.state == "applying":
            _begin(trial, host)


def expire(host: NetworkServer) -> None:
    """Wait until the change that waits is confirmed; roll it back where its time is over."""
    trial = trial_record.last()
    if trial is None or trial.state != "waiting":
        return
    pauses = [PAUSE] * round(2 * TO_CONFIRM / PAUSE)
    wait_until(trial_record.last, lambda seen: seen != trial or host.now() >= trial.deadline, pauses, host.pause)
    with store.config_lock():
        if trial_record.last() == trial:
            _put_back(trial, UNCONFIRMED, host)


def confirm(host: NetworkServer) -> NetworkChange:
    """Keep the change that waits. Refused: none waits."""
    only_root()
    trial = _waiting()
    serving = [ListenerChange(host.server)] if paths.pool_file().exists() else []
    done = Reconciliation([ConfirmedFiles(), *serving])

    def mutate(config: Config) -> Config:
        if trial_record.last() != trial:
            raise Refused(f"the change '{trial.what}' does not wait for its confirmation any more")
        return trial_record.with_part(config, trial.part)

    store.change(trial.who, f"network {trial.what}", mutate, done)
    trial_record.end(trial, "confirmed")
    return NetworkChange(what=trial.what, seconds=0, verified=trial.verified, warnings=done.warnings)


def roll_back(host: NetworkServer) -> NetworkChange:
    """End the change that waits. Refused: none waits. Failed: the previous network cannot be restored."""
    only_root()
    with store.config_lock():
        trial = _waiting()
        trouble = _put_back(trial, f"{invoking_user()} rolled it back", host)
    if trouble:
        raise Failed(trouble)
    return NetworkChange(what=trial.what, seconds=0, verified=["the previous network is in force"], warnings=[])


def _begin(trial: NetworkTrial, host: NetworkServer) -> None:
    old = store.load()
    new = trial_record.with_part(old, trial.part)
    if trial.begun:
        trouble = _put_back(trial, KILLED, host)
        trial_record.end(trial, "failed", f"{KILLED}; {trouble or 'nothing was changed'}")
        return
    trial_record.write(trial.model_copy(update={"begun": True}))
    done = Reconciliation(_parts(host))
    try:
        done(old, new)
    except (MillraceError, OSError) as error:
        trial_record.end(trial, "failed", describe(error))
        return
    waiting = trial.model_copy(
        update={
            "state": "waiting",
            "begun": True,
            "deadline": host.now() + TO_CONFIRM,
            "verified": done.verified,
            "warnings": [*trial.warnings, *done.warnings],
        }
    )
    trial_record.write(waiting)


def _parts(host: NetworkServer) -> list[RenderPart]:
    # Without a pool nothing is served yet.
    serving = [ListenerChange(host.server)] if paths.pool_file().exists() else []
    return [AddressChange(host.run, host.pause, trial=True), *serving]


def _put_back(trial: NetworkTrial, why: str, host: NetworkServer) -> str | None:
    """Put the desired state in force again, which never had the change; what could not be done, in words."""
    wanted = store.load()
    change = Change(trial_record.with_part(wanted, trial.part), wanted)
    trouble = None
    for part in _parts(host):
        try:
            part.prepare(change)
            settle(part.services(wanted), part.force)
        except (MillraceError, OSError) as error:
            trouble = trouble or f"restoring the previous network failed: {describe(error)}"
    trial_record.end(trial, "rolled-back", f"{why}; {trouble or 'the previous network is in force'}")
    return trouble


def _waiting() -> NetworkTrial:
    trial = trial_record.last()
    if trial is None or trial.state != "waiting":
        why = f": the last one was rolled back, {trial.problem}" if trial and trial.state == "rolled-back" else ""
        raise Refused(f"no change of the network waits for its confirmation{why}")
    return trial


def _start(run: Runner) -> None:
    # that of a change which was confirmed a moment ago has not noticed yet
    run(["systemctl", "stop", f"{UNIT}.service"])
    run(["systemctl", "reset-failed", f"{UNIT}.service"])
    named = ["--quiet", "--collect", f"--unit={UNIT}", "--description=Millrace Network Change"]
    # Where it is killed, the next one finds that and rolls back.
    options = ["--property=Restart=on-failure", "--property=RestartSec=1s", "--property=TimeoutStopSec=300s"]
    # what all units of Millrace share closes everything else
    options.append(f"--property=ReadWritePaths={WRITTEN}")
    must(run, ["systemd-run", *named, *options, "/usr/bin/millrace", "network", "apply"])
