# SPDX-License-Identifier: Apache-2.0
"""The contracts of `millrace install`."""

from typing import Literal

from millrace.system.documents import Contract


class BootCandidate(Contract):
    """A drive of this server. `size_bytes` in bytes.

    `holds` is what was found on it, null on a blank one; it is lost. `refused` is why this version is not written to
    it, null where it may be; `foreign`: only with --foreign.
    """

    name: str
    serial: str
    model: str
    size_bytes: int
    holds: str | None
    refused: str | None
    foreign: bool


class InstallReport(Contract):
    """What `millrace install list --json` prints: the version that runs, from which drive, and all drives.

    `runs_from` is a serial number, or a name where the drive has none.

    `problem` is why nothing can be installed from here; null where it can.
    """

    schema_version: Literal[1] = 1
    version: str
    runs_from: str | None
    problem: str | None
    drives: list[BootCandidate]


class InstallStep(Contract):
    """What is done now."""

    schema_version: Literal[1] = 1
    doing: str


class Installed(Contract):
    """A drive that was written and read back: it starts this version."""

    schema_version: Literal[1] = 1
    serial: str
    version: str
    verified: Literal[True] = True


# What `millrace install write --json` prints: steps, then the end.
InstallLine = InstallStep | Installed
