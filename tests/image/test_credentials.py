# SPDX-License-Identifier: Apache-2.0
"""What a server takes from its firmware, its hypervisor or its ESP is on one list, in the manual."""

import re
from pathlib import Path

from host import layout

MANUAL = layout.REPO / "docs/security.md"
IMPORT = re.compile(r"^ImportCredential=([^:\n]+)", re.MULTILINE)
# Read by PID 1 and by generators, which have no unit that would name them. By the beginning of the name.
BEGINNINGS = (
    rb"systemd\.extra-unit|systemd\.unit-dropin|fstab\.extra|getty\.ttys|getty\.auto|ssh\.listen|vmm\.|import\.pull"
    rb"|system\.hostname|system\.machine_id"
)
# lines of units that generators write
GENERATED = re.compile(rb"(?<=\n)ImportCredential=([a-z.*-]+)\n")
READ_BY_NAME = re.compile(rb"(?<=\0)((?:" + BEGINNINGS + rb")[a-z._]*)(?=\0)")
PROGRAMS = ("systemd/systemd", "systemd/system-generators/*", "x86_64-linux-gnu/systemd/libsystemd-*.so")


def listed() -> set[str]:
    section = MANUAL.read_text().partition("## Credentials from outside")[2].partition("\n##")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def imported(tree: Path) -> set[str]:
    units = [*tree.glob("usr/lib/systemd/system/**/*.service"), *tree.glob("usr/lib/systemd/system/**/*.conf")]
    return {name for unit in units if unit.is_file() for name in IMPORT.findall(unit.read_text())}


def read_by_name(tree: Path) -> set[str]:
    programs = [path for pattern in PROGRAMS for path in tree.glob(f"usr/lib/{pattern}") if path.is_file()]
    data = [path.read_bytes() for path in programs]
    found = {name.decode() for one in data for name in READ_BY_NAME.findall(one) + GENERATED.findall(one)}
    return {f"{name}*" if name.endswith(".") else name for name in found}


def test_every_credential_that_is_read_is_in_the_manual_and_no_other(tree: Path) -> None:
    units, programs = imported(tree), read_by_name(tree)
    # the patterns find what is certainly there
    assert "millrace.provision" in units and {"systemd.extra-unit.*", "cryptsetup.*"} <= programs
    assert units | programs == listed()
