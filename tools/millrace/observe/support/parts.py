# SPDX-License-Identifier: Apache-2.0
"""The files of a support archive, each made in a process of its own."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from millrace.inventory import udev
from millrace.storage.array.devices import block
from millrace.system import paths, sysfs
from millrace.system.errors import BadInput
from millrace.system.run import last_words, must, within

# Emulated, a capture takes minutes.
SECONDS = 600.0
# A drive that hangs must not take the time of the others.
DEVICE_SECONDS = 20.0
JOURNAL_LINES, WARNING_LINES = 10_000, 3_000
# Bytes of one file.
LARGEST = 16 << 20


# A week, in hours.
HISTORY_SECONDS, HISTORY_POINTS = 7 * 86_400, 168


@dataclass(frozen=True)
class ArchivePart:
    """One file: its name in the archive, what it is, and how it is made. `opaque`: it is anonymous already."""

    name: str
    what: str
    make: Callable[[], bytes]
    opaque: bool = False


def parts() -> list[ArchivePart]:
    """Return all files of an archive, in the order of their names."""
    files = [
        ArchivePart(
            "capture.tar.zst", "hardware of this server (tools/inventory of the source tree reads it)", _capture, True
        ),
        _document(
            "config.json", "desired state: shares, users, ports; no passwords", paths.state_dir() / "config.json"
        ),
        _document("drives-known.json", "drives that were seen, with their wear", paths.known_drives_file()),
        ArchivePart("drives.json", "millrace drive list", _drives),
        _document("clock.json", "jumps of the clock in this boot", paths.clock_file()),
        _document("health.json", "last health check", paths.health_file()),
        _document("heartbeat.json", "last read and fsync on the pool", paths.heartbeat_file()),
        ArchivePart("history.json", "millrace history --since 7d", _history),
        _document("inventory.json", "inventory of this boot", paths.inventory_file()),
        _tool(
            "journal-warnings.txt",
            "journal: warnings and errors of all boots",
            _journal(WARNING_LINES, "-p", "warning"),
        ),
        _tool("journal.txt", "journal of this boot", _journal(JOURNAL_LINES, "-b")),
        _each("md-detail.txt", "mdadm --detail of each array", ["mdadm", "--detail"], _arrays),
        _each("md-examine.txt", "mdadm --examine of each member", ["mdadm", "--examine"], _members),
        _document("mdstat.txt", "arrays as the kernel shows them", paths.ROOT / "proc/mdstat"),
        _document("latency.json", "latency of the drives of the pool", paths.latency_file()),
        ArchivePart("metrics.txt", "millrace metrics", _metrics),
        _document("os-release.txt", "version of the image", paths.ROOT / "usr/lib/os-release"),
        _tool("packages.txt", "packages of the image", ["dpkg-query", "-W"]),
        _document("plan-approved.json", "plan that the pool was made from", paths.approved_plan_file()),
        _document("plan.json", "plan of this boot", paths.plan_file()),
        _document("policy.toml", "policy", paths.policy_file()),
        _document("pool.json", "record of the pool", paths.pool_file()),
        _document("rises.json", "days on which error counters of the hardware rose", paths.rises_file()),
        _document("settings.json", "runtime settings of this boot with their reasons", paths.settings_file()),
        _document("smart.json", "last SMART readings", paths.smart_file()),
        _tool("units.txt", "failed units", ["systemctl", "--failed", "--no-pager", "--plain"]),
        ArchivePart("xfs-info.txt", "xfs_info of the pool", _xfs_info),
    ]
    return sorted([*files, *_records()], key=lambda part: part.name)


def _records() -> list[ArchivePart]:
    """What is written only when it happens: on most servers most of these are missing, and no problem."""
    known = {
        "drive-change.json": ("change of drives that is open", paths.drive_change_file()),
        "drive-changed.json": ("last change of drives that ended", paths.drive_changed_file()),
        "erase.json": ("last erase of each drive", paths.erase_file()),
        "drive-tests.json": ("last test of each drive", paths.drive_tests_file()),
        "failures.jsonl": ("members that failed, in their order", paths.failures_file()),
        "stopped.json": ("arrays that do not run", paths.stopped_file()),
        "in-sync.json": ("members that were in sync last", paths.in_sync_file()),
        "removed.json": ("drives that were taken out on purpose", paths.removed_file()),
        "rescue.json": ("rescue that is open", paths.rescue_file()),
        "rescued.json": ("last rescue that ended", paths.rescued_file()),
        "returns.json": ("members that returned", paths.returns_file()),
        "revivals.jsonl": ("arrays that were started again by themselves", paths.revivals_file()),
        "scrub.json": ("checks of the arrays", paths.scrub_file()),
        "trim.json": ("last trim of the pool", paths.trim_file()),
    }
    return [_document(name, what, path) for name, (what, path) in known.items() if path.exists()]


def _document(name: str, what: str, path: Path) -> ArchivePart:
    return ArchivePart(name, what, partial(_read, path))


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST)
    except FileNotFoundError as error:
        raise BadInput(f"{path} is missing") from error


def _tool(name: str, what: str, argv: Sequence[str]) -> ArchivePart:
    return ArchivePart(name, what, lambda: must(within(SECONDS), argv).encode()[:LARGEST])


def _each(name: str, what: str, argv: Sequence[str], devices: Callable[[], Sequence[str]]) -> ArchivePart:
    return ArchivePart(name, what, partial(_said, argv, devices))


def _said(argv: Sequence[str], devices: Callable[[], Sequence[str]]) -> bytes:
    """What a tool says of each device; one that it cannot read says why, and the others are there."""
    found = devices()
    if not found:
        raise BadInput("there is none")
    run = within(DEVICE_SECONDS)
    results = {one: run([*argv, f"/dev/{one}"]) for one in found}
    # mdadm names a device itself, but not where it fails
    texts = [done.out or f"/dev/{one}: {last_words(done)}\n" for one, done in results.items()]
    return "\n".join(texts).encode()[:LARGEST]


def _arrays() -> list[str]:
    return [one for one in sysfs.names(paths.ROOT / "sys/class/block") if (block(one) / "md").is_dir()]


def _members() -> list[str]:
    """What carries a superblock of md as udev has read it, of returned and of strange drives, too."""
    names = sysfs.names(paths.ROOT / "sys/class/block")
    return [one for one in names if udev.properties(paths.ROOT, block(one)).get("ID_FS_TYPE") == udev.MD_MEMBER]


def _xfs_info() -> bytes:
    from millrace.storage.record.pool_file import load_pool

    return must(within(DEVICE_SECONDS), ["xfs_info", load_pool().filesystem.mountpoint]).encode()


def _journal(lines: int, *which: str) -> list[str]:
    return ["journalctl", "--no-pager", "--quiet", "--output=short-iso", f"--lines={lines}", *which]


def _capture() -> bytes:
    from millrace.inventory.capture import capture

    with tempfile.TemporaryDirectory(dir=paths.run_dir()) as directory:
        file = Path(directory) / "capture.tar.zst"
        capture(file, sysroot=paths.ROOT)
        return file.read_bytes()


def _drives() -> bytes:
    from millrace.observe.drive.rows import rows
    from millrace.storage.drive.drive_model import DriveList
    from millrace.storage.drive.facts import facts

    return DriveList(drives=rows(facts())).model_dump_json(indent=2).encode()


def _metrics() -> bytes:
    from millrace.observe.metrics.collect import collect

    return collect().encode()


def _history() -> bytes:
    from millrace.observe.history.query import history

    return history([], HISTORY_SECONDS, HISTORY_POINTS).model_dump_json().encode()
