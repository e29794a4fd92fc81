# SPDX-License-Identifier: Apache-2.0
"""The system journal goes on under the machine ID of the pool's server.

journald writes below the machine ID that it started with, and `journalctl` reads below the one of now: without this, it
shows nothing until the next boot, and what this boot has recorded is never shown again.
"""

import re
from pathlib import Path

from millrace.system import paths, sysfs
from millrace.system.files import sync
from millrace.system.run import Runner

UNIT = "systemd-journald.service"
MACHINE_ID = re.compile(r"[0-9a-f]{32}")


def take_over(run: Runner) -> list[str]:
    """Let journald use the machine ID of now, and give it what was recorded under another one; can be repeated.

    Return what does not come, in sentences: no server stays without its pool because of its logs.
    """
    now = sysfs.text(paths.ROOT / "etc/machine-id") or ""
    others = [name for name in sysfs.names(_top()) if MACHINE_ID.fullmatch(name) and name != now]
    if not others or not MACHINE_ID.fullmatch(now):
        return []
    # it opens its files again, below the machine ID of now
    if run(["systemctl", "try-restart", UNIT]).status != 0:
        return [f"the system journal is not shown until the next boot: systemctl restart {UNIT}"]
    missing = []
    for name in others:
        try:
            _move(_top() / name, _top() / now)
        except OSError as error:
            missing.append(f"the system journal of before stays in {_top() / name}: {error.strerror}")
    return missing


def _move(old: Path, new: Path) -> None:
    new.mkdir(exist_ok=True)
    for file in sorted(old.iterdir()):
        file.rename(new / _archived(file, old.name))
    sync(new)
    old.rmdir()


def _archived(file: Path, machine: str) -> str:
    """The name of a file that nothing is written to any more: journald removes those when it needs room.

    An archived file has an ID, a sequence number and the time of its first entry in µs in its name (systemd 262,
    src/libsystemd/sd-journal/journal-file.c). Of a file that was in use the time of its last entry stands for that.
    """
    if "@" in file.name or file.suffix != ".journal":
        return file.name
    return f"{file.stem}@{machine}-{1:016x}-{int(file.stat().st_mtime * 1e6):016x}.journal"


def _top() -> Path:
    return paths.ROOT / "var/log/journal"
