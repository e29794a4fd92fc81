# SPDX-License-Identifier: Apache-2.0
"""The kinds of long work: one unit each, and what a restart of the server does to it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from millrace.system import paths
from millrace.system.errors import BadInput
from millrace.system.jobs import job_paths
from millrace.system.units import UnitState

JobName = Literal[
    "provision",
    "drive-change",
    "erase",
    "drive-test",
    "rescue",
    "revive",
    "adopt",
    "clone",
    "copy",
    "snapshot",
    "replica",
    "backup",
    "permissions",
    "benchmark",
    "tuner",
    "update-download",
    "update",
    "scrub",
    "damaged-files",
    "unclean",
    "trim",
    "reset",
    "destroy",
]

AfterBoot = Literal["continues", "continues in its window", "ends", "is confirmed again"]


class JobKind(NamedTuple):
    """One kind of long work; at most one job of a kind runs.

    `title` names it in lists, `busy` says in a sentence that it runs, `remedy` what to do then, and `after_boot` what
    becomes of it when the server restarts. `is_open` says whether its journal is not at its end, whether or not its
    unit runs: BadInput where the journal cannot be read. `has_work` says whether a unit that runs has anything to do: a
    timer starts some of them to look. `condition` says whether one that the boot has queued would run: systemd looks at
    its conditions only when it starts it. `sign` is a file that is there while one runs, `restarts` whether systemd
    starts its unit again after a kill.
    """

    name: JobName
    title: str
    unit: str
    busy: str
    remedy: str
    after_boot: AfterBoot
    is_open: Callable[[], bool] = lambda: False
    has_work: Callable[[], bool] = lambda: True
    sign: Callable[[], Path] | None = None
    restarts: bool = False
    condition: Callable[[], bool] = lambda: True

    def works(self, state: UnitState) -> bool:
        """Whether its unit, in this state, does this work or is about to."""
        return (state.is_under_way or (state.queued and self.condition())) and self.has_work()

    @property
    def pauses(self) -> bool:
        """Whether its unit may end well and the job goes on later: in the next window, or when it is confirmed."""
        return self.after_boot in ("continues in its window", "is confirmed again")

    def may_run(self) -> bool:
        """Whether one runs or waits, or its last one was killed: files say it, and nobody is asked."""
        try:
            return (self.sign is not None and self.sign().exists()) or self.is_open()
        except BadInput:
            return True


WAIT = "wait until that is done"


def _change_is_open() -> bool:
    path = paths.drive_change_file()
    try:
        found = json.loads(path.read_text())
    except FileNotFoundError:
        return False
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} cannot be read, so an open change of drives is not known: {error}") from error
    # one that an error has stopped waits for an administrator, and keeps nothing from running
    return isinstance(found, dict) and not found.get("ended") and found.get("error") is None


def _adoption_is_open() -> bool:
    # with pool.json it is over, and nothing is restored any more
    return paths.adoption_file().exists() and not paths.pool_file().exists()


def _round_of(path: Callable[[], Path], stopped: bool = False) -> Callable[[], bool]:
    """Whether a round, or a repair of an array, is under way; with `stopped` also a round that waits."""

    def has_round() -> bool:
        try:
            document = json.loads(path().read_text())
        except FileNotFoundError:
            return False
        except (OSError, ValueError):
            return True
        if not isinstance(document, dict):
            return False
        if _is_of_another_pool(document):
            return False
        repairs = any(array.get("repair") is not None for array in document.get("arrays", []))
        return repairs or (document.get("round") is not None and (stopped or document.get("stopped") is None))

    return has_round


def _search_is_open() -> bool:
    """Whether the search after an unclean start is not at its end: its files, or the repair of torn rows."""
    try:
        document = json.loads(paths.unclean_file().read_text())
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return True
    starts = document.get("starts") if isinstance(document, dict) else None
    if not starts:
        return False
    return document.get("suspects") is None or any(start.get("check") in ("waiting", "found") for start in starts)


def _is_of_another_pool(document: dict[str, object]) -> bool:
    """Whether a record names the file system of a pool that is not that of this server; not where that is not known."""
    try:
        pool = json.loads(paths.pool_file().read_text())
    except (OSError, ValueError):
        return False
    here = pool.get("filesystem_uuid") if isinstance(pool, dict) else None
    return "uuid" in document and here is not None and document["uuid"] != here


def _building_is_open() -> bool:
    # a power cut between the last two writes leaves both, and nothing is built any more
    return paths.transaction_file().exists() and not paths.pool_file().exists()


def _building_would_start() -> bool:
    return not paths.pool_file().exists() and (paths.approval_file().exists() or paths.transaction_file().exists())


def _there(path: Callable[[], Path]) -> Callable[[], bool]:
    return lambda: path().exists()


PROVISION = JobKind(
    "provision",
    "creation of the pool",
    "millrace-provision.service",
    "the pool is being created",
    WAIT,
    "continues",
    is_open=_building_is_open,
    condition=_building_would_start,
)
DRIVE_CHANGE = JobKind(
    "drive-change",
    "drive change",
    "millrace-drive.service",
    "a drive is being replaced",
    WAIT,
    "continues",
    is_open=_change_is_open,
    condition=_there(paths.drive_change_file),
    restarts=True,
)
ERASE = JobKind(
    "erase",
    "drive erasure",
    "millrace-erase.service",
    "a drive is being erased, which a restart would end",
    "wait for it: millrace drive list",
    "ends",
    sign=job_paths.erase_order_file,
)
DRIVE_TEST = JobKind(
    "drive-test",
    "drive test",
    "millrace-drive-test.service",
    "a drive is being tested, which a restart would end",
    "wait for it, or cancel it: millrace drive test --cancel",
    "ends",
    sign=job_paths.drive_test_order_file,
)
RESCUE = JobKind(
    "rescue",
    "pool rescue",
    "millrace-rescue.service",
    "the pool is being rescued",
    "finish that first: millrace pool rescue",
    "is confirmed again",
    is_open=_there(paths.rescue_file),
    sign=paths.rescue_step_file,
    restarts=True,
)
REVIVE = JobKind(
    "revive",
    "revival of the pool",
    "millrace-pool-change@revive.service",
    "the arrays of the pool are being started again",
    "wait for its end: millrace job follow revive",
    "ends",
    # an order is there only where an administrator confirmed it
    sign=job_paths.revive_progress_file,
)
ADOPT = JobKind(
    "adopt",
    "pool adoption",
    "millrace-adopt.service",
    "a pool is being adopted",
    WAIT,
    "continues",
    is_open=_adoption_is_open,
    condition=_there(paths.adoption_file),
)
CLONE = JobKind(
    "clone",
    "share clone",
    "millrace-reflink@clone.service",
    "a share is being cloned, which a restart would end",
    "wait for it: millrace share clone-status",
    "ends",
    sign=job_paths.clone_order_file,
)
COPY = JobKind(
    "copy",
    "copy from another server",
    "millrace-copy.service",
    "files are being copied from another server, which a restart would end",
    "wait for it, or cancel it: millrace job cancel copy",
    "ends",
    sign=job_paths.copy_order_file,
)
SNAPSHOT = JobKind(
    "snapshot",
    "share snapshot",
    "millrace-reflink@snapshot.service",
    "a snapshot of a share is being made, which a restart would end",
    "wait for it, or cancel it: millrace job cancel snapshot",
    "ends",
    sign=job_paths.snapshot_order_file,
)
REPLICA = JobKind(
    "replica",
    "replica",
    "millrace-reflink@replica.service",
    "a replica is being brought up to date, which a restart would interrupt",
    "wait for it, or cancel it: millrace job cancel replica",
    "ends",
    sign=job_paths.replica_order_file,
)
BACKUP = JobKind(
    "backup",
    "backup off site",
    "millrace-reflink@backup.service",
    "a backup is being made, checked or restored, which a restart would end",
    "wait for it, or cancel it: millrace job cancel backup",
    "ends",
    sign=job_paths.backup_order_file,
)
PERMISSIONS = JobKind(
    "permissions",
    "setting of permissions",
    "millrace-permissions.service",
    "the permissions of a share are being set, which a restart would end",
    "wait for it, or cancel it: millrace job cancel permissions",
    "ends",
    sign=job_paths.permissions_order_file,
)
BENCHMARK = JobKind(
    "benchmark",
    "benchmark",
    "millrace-bench.service",
    "a benchmark is running",
    "wait for it, or stop it: millrace bench stop",
    "ends",
    sign=job_paths.bench_order_file,
)
TUNER = JobKind(
    "tuner",
    "tuner",
    "millrace-tuner.service",
    "the tuner is running",
    "wait for it, or stop it: millrace tuner stop",
    "ends",
    sign=job_paths.tuner_order_file,
)
UPDATE_DOWNLOAD = JobKind(
    "update-download",
    "download of an update",
    "millrace-update-download.service",
    "an update is being downloaded, which a restart would end",
    "wait for it, or cancel it: millrace job cancel update-download",
    "ends",
    sign=job_paths.update_download_order_file,
)
UPDATE = JobKind(
    "update",
    "update",
    "millrace-update.service",
    "an update is being installed",
    WAIT,
    "ends",
    sign=job_paths.update_progress_file,
)
SCRUB = JobKind(
    "scrub",
    "array check",
    "millrace-scrub.service",
    "arrays are being checked",
    "wait for it, or stop it: millrace pool scrub stop",
    "continues in its window",
    has_work=_round_of(paths.scrub_file),
    is_open=_round_of(paths.scrub_file, stopped=True),
)
DAMAGED_FILES = JobKind(
    "damaged-files",
    "search for damaged files",
    "millrace-scrub-files.service",
    "damaged files are being searched for, which a restart would end",
    "wait for it, or cancel it: millrace job cancel damaged-files",
    "ends",
    sign=job_paths.damaged_files_order_file,
)
UNCLEAN = JobKind(
    "unclean",
    "search after an unclean start",
    "millrace-unclean.service",
    "files that an unclean start may have damaged are being searched for",
    "wait for it, or give up its list: millrace pool acknowledge",
    "continues",
    has_work=_search_is_open,
    is_open=_search_is_open,
)
TRIM = JobKind(
    "trim",
    "trim",
    "millrace-trim.service",
    "the pool is being trimmed",
    "wait for it, or stop it: millrace pool trim stop",
    "continues in its window",
    has_work=_round_of(paths.trim_file),
    is_open=_round_of(paths.trim_file, stopped=True),
)
RESET = JobKind(
    "reset",
    "factory reset",
    "millrace-reset.service",
    "a factory reset of this server is under way",
    "wait for the restart, or restart the server",
    "continues",
    is_open=_there(paths.reset_file),
    condition=_there(paths.reset_file),
)
DESTROY = JobKind(
    "destroy",
    "destruction of the pool",
    "millrace-pool-change@destroy.service",
    "the pool is being destroyed",
    "wait for its end: millrace pool destroy --status",
    "continues",
    is_open=_there(paths.destruction_file),
    condition=_there(paths.destruction_file),
)

ALL = (
    PROVISION,
    DRIVE_CHANGE,
    ERASE,
    DRIVE_TEST,
    RESCUE,
    REVIVE,
    ADOPT,
    CLONE,
    COPY,
    SNAPSHOT,
    REPLICA,
    BACKUP,
    PERMISSIONS,
    BENCHMARK,
    TUNER,
    UPDATE_DOWNLOAD,
    UPDATE,
    SCRUB,
    DAMAGED_FILES,
    UNCLEAN,
    TRIM,
    RESET,
    DESTROY,
)
BY_NAME: dict[JobName, JobKind] = {kind.name: kind for kind in ALL}
