# SPDX-License-Identifier: Apache-2.0
"""Files of jobs below /run: the order, the progress and the result, which end with the boot."""

from pathlib import Path

from millrace.system import paths


def drive_test_order_file() -> Path:
    """What millrace-drive-test.service is to test."""
    return paths.run_dir() / "drive-test/order.json"


def drive_test_progress_file() -> Path:
    """How far the tests under way are."""
    return paths.run_dir() / "drive-test/progress.json"


def drive_test_cancel_file() -> Path:
    """Exists while the tests under way are to end."""
    return paths.run_dir() / "drive-test/cancel"


def erase_order_file() -> Path:
    """What millrace-erase.service is to erase."""
    return paths.run_dir() / "erase/order.json"


def erase_progress_file() -> Path:
    """How far the active erasure is."""
    return paths.run_dir() / "erase/progress.json"


def bench_order_file() -> Path:
    """What millrace-bench.service is to measure."""
    return paths.run_dir() / "bench/order.json"


def bench_progress_file() -> Path:
    """The progress of the newest benchmark of this boot, one line for each report."""
    return paths.run_dir() / "bench/progress.jsonl"


def tuner_progress_file() -> Path:
    """The progress of the newest run of the tuner of this boot."""
    return paths.run_dir() / "tuner/progress.json"


def tuner_order_file() -> Path:
    """What millrace-tuner.service is to try."""
    return paths.run_dir() / "tuner/order.json"


def clone_order_file() -> Path:
    """What millrace-reflink@clone.service is to clone."""
    return paths.run_dir() / "clone/order.json"


def clone_progress_file() -> Path:
    """How far the clone under way is."""
    return paths.run_dir() / "clone/progress.json"


def update_download_order_file() -> Path:
    """Which version millrace-update-download.service is to download."""
    return paths.run_dir() / "update/download.json"


def update_progress_file() -> Path:
    """How far an update is."""
    return paths.run_dir() / "update/progress.json"


def copy_order_file() -> Path:
    """What millrace-copy.service is to copy from another server."""
    return paths.run_dir() / "copy/order.json"


def copy_progress_file() -> Path:
    """How far the copy from another server is."""
    return paths.run_dir() / "copy/progress.json"


def copy_result_file() -> Path:
    """What the last copy from another server did."""
    return paths.run_dir() / "copy/result.json"


def snapshot_order_file() -> Path:
    """Of which share millrace-reflink@snapshot.service is to make a snapshot."""
    return paths.run_dir() / "snapshot/order.json"


def snapshot_progress_file() -> Path:
    """How far the snapshot under way is."""
    return paths.run_dir() / "snapshot/progress.json"


def snapshot_counts_file() -> Path:
    """How many snapshots each share has, and how old they are."""
    return paths.run_dir() / "snapshot/counts.json"


def snapshot_schedule_file() -> Path:
    """How the last scheduled snapshot of each share ended."""
    return paths.run_dir() / "snapshot/schedule.json"


def snapshot_kept_file() -> Path:
    """Which removals of snapshots were cancelled while the pool was full."""
    return paths.run_dir() / "snapshot/kept.json"


def replica_order_file() -> Path:
    """Which replica millrace-reflink@replica.service is to bring up to date, or to try."""
    return paths.run_dir() / "replica/order.json"


def replica_progress_file() -> Path:
    """How far the replica under way is."""
    return paths.run_dir() / "replica/progress.json"


def snapshot_holds_file() -> Path:
    """Which snapshots are being read, or are compared with the next one."""
    return paths.run_dir() / "snapshot/holds.json"


def backup_order_file() -> Path:
    """What millrace-reflink@backup.service is to do."""
    return paths.run_dir() / "backup/order.json"


def backup_progress_file() -> Path:
    """How far the task of a backup is."""
    return paths.run_dir() / "backup/progress.json"


def backup_end_file() -> Path:
    """How the last task of a backup ended that did what it should."""
    return paths.run_dir() / "backup/end.json"


def permissions_order_file() -> Path:
    """The share in which millrace-permissions.service is to set permissions."""
    return paths.run_dir() / "permissions/order.json"


def permissions_progress_file() -> Path:
    """How far the walk that sets permissions is."""
    return paths.run_dir() / "permissions/progress.json"


def permissions_result_file() -> Path:
    """What the last walk that set permissions did."""
    return paths.run_dir() / "permissions/result.json"


def damaged_files_order_file() -> Path:
    """Exists while millrace-scrub-files.service is to search for damaged files."""
    return paths.run_dir() / "damaged-files/order"


def damaged_files_result_file() -> Path:
    """What the last search for damaged files found."""
    return paths.run_dir() / "damaged-files/result.json"


def revive_order_file() -> Path:
    """Which revival millrace-pool-change@revive.service is to carry out, as an administrator confirmed it."""
    return paths.run_dir() / "revive/order.json"


def revive_progress_file() -> Path:
    """What the revival under way has done."""
    return paths.run_dir() / "revive/progress.json"


def revive_result_file() -> Path:
    """What the last revival did."""
    return paths.run_dir() / "revive/result.json"
