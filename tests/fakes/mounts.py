# SPDX-License-Identifier: Apache-2.0
"""The kernel's table of mounts."""

from pathlib import Path


def mount(root: Path, source: str, point: str | Path, kind: str, options: str = "rw", process: str = "1") -> None:
    """Add a mount to the table of a process, last."""
    path = root / "proc" / process / "mountinfo"
    path.parent.mkdir(parents=True, exist_ok=True)
    number = 0
    if path.exists():
        number = len(path.read_text().splitlines())
    with path.open("a") as file:
        file.write(f"{number + 90} 1 0:{number + 40} / {point} {options} shared:{number + 1} - {kind} {source} rw\n")


def unmount_all(root: Path, process: str = "1") -> None:
    """Empty the table of a process."""
    path = root / "proc" / process / "mountinfo"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
