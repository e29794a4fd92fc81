# SPDX-License-Identifier: Apache-2.0
"""Install the staged release beside the running version, and go back to the other one."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from millrace.lifecycle.keep import keeping, nfs_client_records
from millrace.lifecycle.update import boot_entries, documents, obstacles, records, release, stage, trial
from millrace.lifecycle.update.boot_entries import BootEntry
from millrace.lifecycle.update.model import LastUpdate, Order, Outcome, Serving
from millrace.lifecycle.update.serving import serving
from millrace.storage.record.pool_file import known_pool
from millrace.system import locks, paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import BadInput, Failed, MillraceError, Refused
from millrace.system.files import sync_renamed
from millrace.system.os_release import image_version
from millrace.system.run import Runner, last_words, must

SYSUPDATE = "/usr/lib/systemd/systemd-sysupdate"
INSTALLER = "millrace-update.service"
SCHEDULED = "run/systemd/shutdown/scheduled"
TRIES = 3

BUSY = "an update is under way; `millrace update status` shows it"

Measure = Callable[[Runner], Serving]


def order(wanted: Order, run: Runner) -> LastUpdate:
    """Let millrace-update.service install the staged release, and wait for it; return how that ended.

    Failed: it does not end as it should.
    """
    write_model(paths.update_order_file(), wanted, mode=0o600)
    done = run(["systemctl", "start", INSTALLER])
    found = records.last()
    if done.status != 0 or found is None or found.version != wanted.version:
        raise Failed(f"the update was not installed; journalctl -u {INSTALLER} says why")
    return found


def install(run: Runner, measure: Measure = serving) -> LastUpdate:
    """Install what was ordered; the running version stays as it is. Returns how that ended, which is recorded too.

    BadInput, Refused, Failed: it is not installed, for that reason.
    """
    wanted = read_model(paths.update_order_file(), Order)
    with locks.held(paths.run_dir() / "update.lock", BUSY):
        try:
            _install(wanted, run, measure)
        except (MillraceError, OSError) as error:
            said = str(error) if isinstance(error, MillraceError) else f"{error.filename}: {error.strerror}"
            _record(wanted.version, image_version(), wanted.by, "refused", [said])
            raise
        finally:
            paths.update_order_file().unlink(missing_ok=True)
            stage.clear()
        return _record(wanted.version, image_version(), wanted.by, "installed")


def restart(when: str, run: Runner) -> None:
    """Reboot `now` or at a time of day; `later` is when an administrator reboots."""
    if when == "now":
        must(run, ["systemctl", "--no-block", "reboot"])
    elif when != "later":
        must(run, ["shutdown", "--reboot", when, "Millrace starts another version"])


def replan(when: str, run: Runner) -> None:
    """Change when the other version starts; `later` cancels a planned reboot.

    Refused: no version waits for a reboot. Failed: systemd does not take it.
    """
    if records.trial() is None and planned() is None:
        raise Refused("no reboot is planned and no version waits for one")
    if when == "later":
        must(run, ["shutdown", "-c"])
    else:
        restart(when, run)


def planned() -> str | None:
    """Return the time of a planned reboot; None without one."""
    try:
        lines = (paths.ROOT / SCHEDULED).read_text().splitlines()
    except OSError:
        return None
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    microseconds = values.get("USEC", "")
    if values.get("MODE") != "reboot" or not microseconds.isdigit():
        return None
    return datetime.fromtimestamp(int(microseconds) / 1e6, UTC).isoformat(timespec="seconds")


def rollback(run: Runner, by: str) -> LastUpdate:
    """Let the other version be the one that starts. Refused: there is none, or it failed on this server."""
    with locks.held(paths.run_dir() / "update.lock", BUSY):
        running = image_version()
        entries = boot_entries.entries(run)
        mine, other = boot_entries.of(running, entries), _other(running, entries)
        under_trial = records.trial()
        if under_trial is not None and under_trial.version != running:
            # It has not run yet: it need not be tried at all.
            if other is not None:
                boot_entries.put_last(other)
            if mine is not None:
                # it was put last where the other one is older
                boot_entries.accept(mine)
            records.end_trial()
            return _record(under_trial.version, running, by, "rolled-back")
        if other is None or mine is None:
            raise Refused("there is no other version on the boot drive")
        failed = next((one for one in records.failed().versions if one.version == other.version), None)
        if failed is not None:
            raise Refused(f"version {other.version} failed on this server; install another: millrace update apply")
        boot_entries.accept(other)
        boot_entries.put_last(mine)
        records.end_trial()
        return _record(running, other.version, by, "rolled-back")


def _install(wanted: Order, run: Runner, measure: Measure) -> None:
    running = image_version()
    stage.say("verifying")
    found = release.staged(run)
    if found.version != wanted.version:
        raise BadInput(f"version {found.version} is staged, {wanted.version} was confirmed; apply the update again")
    problem = obstacles.of_server(run, wanted.degraded) or obstacles.of_version(
        found.version, running, wanted.older, wanted.again
    )
    if problem:
        raise Refused(problem)
    stage.say("keeping the state")
    _keep(run)
    documents.keep(running)
    pool = known_pool()
    if pool is not None:
        nfs_client_records.remember(running, Path(pool.filesystem.mountpoint))
    stage.say("installing")
    _remove(found.version, run)
    trial.begin(found.version, wanted.by, measure(run))
    try:
        _transfer(found.version, run)
        if release.number(found.version) < release.number(running):
            # systemd-boot would start the newest one, which has no number of tries
            _put_last(running, run)
    except (MillraceError, OSError):
        _remove(found.version, run)
        records.end_trial()
        raise
    # without it the measure from before the installation counts
    run(["systemctl", "start", trial.LAST_LOOK])


def _keep(run: Runner) -> None:
    if known_pool() is None:
        return
    kept = keeping.keep(run)
    if kept.problem:
        raise Refused(f"the state of this server cannot be kept on the pool ({kept.problem}); mend that first")


def _transfer(version: str, run: Runner) -> None:
    # What an attempt that was cut left behind: sysupdate installs no version of which a part is there.
    emptied = run([SYSUPDATE, "vacuum"])
    done = run([SYSUPDATE, "update", version]) if emptied.status == 0 else emptied
    if done.status != 0:
        raise Failed(f"version {version} cannot be written to the boot drive: {last_words(done)}")
    entry = boot_entries.of(version, boot_entries.entries(run))
    if entry is None or entry.left != TRIES:
        raise Failed(f"version {version} was written, and is not among the versions that start: bootctl list")
    # sysupdate gives the kernel image its name at the end, and syncs the directory only
    sync_renamed(entry.path)


def _put_last(version: str, run: Runner) -> None:
    entry = boot_entries.of(version, boot_entries.entries(run))
    if entry is not None:
        boot_entries.put_last(entry)


def _remove(version: str, run: Runner) -> None:
    """What is left of the version on the boot drive is not started any more."""
    entry = boot_entries.of(version, boot_entries.entries(run))
    if entry is not None:
        boot_entries.remove(entry)


def _other(running: str, entries: list[BootEntry]) -> BootEntry | None:
    others = [one for one in entries if one.version != running]
    return max(others, key=lambda one: release.number(one.version), default=None)


def _record(version: str, before: str, by: str, state: Outcome, problems: Sequence[str] = ()) -> LastUpdate:
    found = LastUpdate(version=version, before=before, state=state, at=records.now(), by=by, problems=list(problems))
    records.save_last(found)
    return found
