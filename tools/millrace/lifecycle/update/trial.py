# SPDX-License-Identifier: Apache-2.0
"""The trial of a new version: what it may not do worse, and how it ends.

systemd-boot starts a new version three times at most. At the end of each boot millrace-boot-check.service asks whether
it serves no worse than the version before; then systemd-bless-boot.service accepts it. Otherwise the server reboots,
and after the third time systemd-boot starts the version before, which records what was wrong.
"""

import time
from collections.abc import Callable
from itertools import repeat

from millrace.lifecycle.update import boot_entries, records
from millrace.lifecycle.update.model import LastUpdate, Outcome, Serving, Trial
from millrace.lifecycle.update.serving import given_up, serving, still_wanted, worse
from millrace.system.errors import BadInput, Failed, MillraceError
from millrace.system.os_release import image_version
from millrace.system.run import Runner
from millrace.system.wait import wait_until

STEP = 5.0
LONGEST = 10 * 60.0
"""So many seconds a new version has at most until it serves; md may have to assemble many drives."""
IDLE = 90.0
"""So many seconds it has while systemd starts nothing more: nobody will start what is missing then."""
IDLE_FAILED = 20.0
"""So many where the unit of what is missing failed: clients wait for each of the three tries."""

OWN = "millrace-boot-check.service"

NOT_JUDGED = "It was not known in time how it serves."
LAST_LOOK = "millrace-trial.service"

Measure = Callable[[Runner], Serving]


def begin(version: str, by: str, before: Serving) -> None:
    """Record that a version is about to be installed, and how the running one serves."""
    records.save_trial(Trial(version=version, before=image_version(), at=records.now(), by=by, serving=before))


def last_look(run: Runner, measure: Measure = serving) -> None:
    """Count the members of the arrays once more, before the server goes down for the version on trial.

    What failed since the installation is not that version's fault. BadInput: a record cannot be read.
    """
    trial = records.trial()
    if trial is None or trial.version == image_version():
        return
    now = measure(run)
    if now.pool:
        # without the pool its arrays are stopped already
        before = trial.serving.model_copy(update={"arrays": now.arrays})
        records.save_trial(trial.model_copy(update={"serving": before}))


def judge(
    run: Runner,
    measure: Measure = serving,
    pause: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> list[str]:
    """Judge the version that runs, at the end of its boot; return what is said of it.

    Failed: it serves worse than the one before; `boot-check` reboots the server.
    """
    try:
        trial = records.trial()
    except BadInput as error:
        # A server that runs is worth more than a record: what is not known to fail is accepted.
        records.end_trial()
        return [f"what was on trial is not known: {error}"]
    if trial is None:
        return ["no version is on trial"]
    running = image_version()
    if running == trial.version:
        return _tried(trial, run, measure, pause, clock)
    return _back(trial, running, run)


def _tried(
    trial: Trial, run: Runner, measure: Measure, pause: Callable[[float], None], clock: Callable[[], float]
) -> list[str]:
    began, longest_idle = clock(), IDLE
    idle_since: float | None = None
    # until it is known: a look that hangs ends in a reboot by systemd
    trial = trial.model_copy(update={"tries": trial.tries + 1, "problems": [NOT_JUDGED]})
    records.save_trial(trial)

    def look() -> list[str]:
        nonlocal idle_since, longest_idle
        if _starting(run):
            idle_since = None
        elif idle_since is None:
            idle_since = clock()
        try:
            before, now = still_wanted(trial.serving), measure(run)
            longest_idle = IDLE_FAILED if given_up(before, now, run) else IDLE
            return worse(before, now)
        except MillraceError as error:
            return [f"How this server serves is not known: {error}."]

    def ended(found: list[str]) -> bool:
        # by the clock: where NFS does not answer, a look takes long
        idle = 0.0 if idle_since is None else clock() - idle_since
        return not found or idle >= longest_idle or clock() - began >= LONGEST

    problems = wait_until(look, ended, repeat(STEP), pause)
    if problems:
        records.save_trial(trial.model_copy(update={"problems": problems}))
        raise Failed(f"version {trial.version} serves worse than {trial.before}: {' '.join(problems)}")
    records.forget_failed(trial.version)
    _end(trial, "accepted", [])
    return [f"version {trial.version} serves as {trial.before} did and is accepted"]


def _starting(run: Runner) -> bool:
    """Whether systemd starts or stops anything but this check."""
    # systemd 262 has no JSON of its jobs
    found = run(["systemctl", "list-jobs", "--no-legend", "--plain"])
    jobs = [line.split() for line in found.out.splitlines()]
    # not known: the longest time counts
    return found.status != 0 or any(job[-1:] == ["running"] and OWN not in job for job in jobs)


def _back(trial: Trial, running: str, run: Runner) -> list[str]:
    """Another version runs than the one on trial: that failed, was not installed to its end, or was rolled back."""
    entries = boot_entries.entries(run)
    entry, mine = boot_entries.of(trial.version, entries), boot_entries.of(running, entries)
    if mine is not None:
        # it was put last where the other one is older
        boot_entries.accept(mine)
    if entry is not None and entry.is_empty:
        # the power went between its name and what is in it
        boot_entries.remove(entry)
        entry = None
    if entry is None:
        _end(trial, "interrupted", ["The installation was interrupted."])
        return [f"version {trial.version} was not installed completely; {running} runs as before"]
    if entry.left == 0:
        problems = trial.problems or ["It did not come up far enough to say why."]
        records.add_failed(trial.version, problems)
        _end(trial, "failed", problems)
        return [f"version {trial.version} failed and {running} runs again: {' '.join(problems)}"]
    boot_entries.put_last(entry)
    _end(trial, "rolled-back", [])
    return [f"version {running} was chosen at the boot menu, so {trial.version} is not tried"]


def _end(trial: Trial, state: Outcome, problems: list[str]) -> None:
    found = LastUpdate(
        version=trial.version, before=trial.before, state=state, at=records.now(), by=trial.by, problems=problems
    )
    records.save_last(found)
    records.end_trial()
