# SPDX-License-Identifier: Apache-2.0
"""The contract of `millrace support FILE --json`."""

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
