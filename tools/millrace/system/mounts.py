# SPDX-License-Identifier: Apache-2.0
"""What is mounted where."""

from millrace import paths


def mount_options(mountpoint: str) -> list[str] | None:
    """The options of what is mounted last at `mountpoint`; None where nothing is."""
    found = None
    # That of process 1: a sandboxed service has a table of its own, in which most is read-only.
    for line in (paths.ROOT / "proc/1/mounts").read_text().splitlines():
        fields = line.split()
        if fields[1] == mountpoint:
            found = fields[3].split(",")
    return found
