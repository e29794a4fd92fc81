# SPDX-License-Identifier: Apache-2.0
"""The contracts of `millrace support --json`."""

from typing import Literal

from millrace.system.documents import Contract, Count


class SupportPart(Contract):
    """One file of the archive: what it is, its bytes, and why it could not be made, null where it could."""

    name: str
    what: str
    size: Count
    problem: str | None


class SupportArchive(Contract):
    """The archive, with every file in it."""

    schema_version: Literal[1] = 1
    file: str
    parts: list[SupportPart]


class SupportFile(Contract):
    """One file that an archive has, and what it is."""

    name: str
    what: str


class SupportContents(Contract):
    """What an archive of this server will have; nothing is collected for it."""

    schema_version: Literal[1] = 1
    files: list[SupportFile]


class HardwareParts(Contract):
    """Equal parts of a server: how many, and what each is."""

    count: Count
    what: str


class HardwareReport(Contract):
    """What a server consists of; `memory` in bytes, `bays` the drives whose bay is known.

    `server`, `firmware` and `ecc` are null where the firmware does not report them. `layout` is that of the pool, or of
    the plan where there is no pool.
    """

    schema_version: Literal[1] = 1
    millrace: str
    kernel: str
    server: str | None
    firmware: str | None
    cpu: str
    sockets: Count
    nodes: Count
    cores: Count
    memory: Count
    ecc: bool | None
    modules: list[HardwareParts]
    switches: Count
    bays: Count
    drives: list[HardwareParts]
    ports: list[HardwareParts]
    layout: str
    findings: list[HardwareParts]
