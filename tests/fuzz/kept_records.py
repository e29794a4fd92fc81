# SPDX-License-Identifier: Apache-2.0
"""Records that a kept state brings as they are, in the files from which they are read later."""

from contextlib import suppress
from datetime import UTC, datetime

from millrace.lifecycle.access import change_log
from millrace.lifecycle.update import records
from millrace.serve.account import account_paths, second_factor
from millrace.storage.assemble import revival_limit
from millrace.storage.drive import counter_rises, drive_history, media_errors
from millrace.storage.record import erasure, failure_record, removal_record, scrub_record
from millrace.system import paths
from millrace.system.errors import MillraceError
from tests.fuzz import scratch

NOW = datetime(2026, 11, 29, tzinfo=UTC)
NAME = "anna"
LOADS = (
    drive_history.load,
    media_errors.load,
    counter_rises.load,
    erasure.load,
    removal_record.load,
    scrub_record.load,
    records.failed,
    records.source,
)


def check(data: bytes) -> None:
    """Read the input as each of them."""
    with scratch.empty_root():
        files = (
            paths.failures_file(),
            paths.revivals_file(),
            paths.erase_file(),
            paths.removed_file(),
            paths.scrub_file(),
            paths.state_dir() / "drives.json",
            paths.state_dir() / "media-errors.json",
            paths.state_dir() / "rises.json",
            paths.state_dir() / "update/failed.json",
            paths.state_dir() / "update/source.json",
            change_log.change_log_dir() / f"{NAME}.jsonl",
            account_paths.second_factor_dir() / NAME,
        )
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        paths.run_dir().mkdir(parents=True)
        for failure in failure_record.load():
            failure_record.since_start(failure.array)
        failure_record.shorten()
        revival_limit.recent(NOW.isoformat())
        change_log.entries(100, NAME)
        second_factor.recovery_codes_left(NAME)
        for load in LOADS:
            with suppress(MillraceError):
                load()
        second_factor.prove(NAME, "123456", NOW)
