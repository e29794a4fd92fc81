# SPDX-License-Identifier: Apache-2.0
"""The health contract (`/run/millrace/health.json`, `millrace health --json`)."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, Self

from pydantic import model_validator

from millrace.system.documents import Contract


class Level(StrEnum):
    """How it is. UNKNOWN means that the check could not look."""

    OK = "OK"
    WARN = "WARN"
    UNKNOWN = "UNKNOWN"
    FAIL = "FAIL"


SEVERITY = [Level.OK, Level.WARN, Level.UNKNOWN, Level.FAIL]


class Finding(Contract):
    """What one check found: a sentence, and the remedy where there is one. A finding that is OK has none."""

    check: str
    level: Level
    sentence: str
    todo: str | None = None

    @model_validator(mode="after")
    def _ok_has_no_remedy(self) -> Self:
        if self.level is Level.OK and self.todo:
            raise ValueError(f"a finding that is OK has no remedy: {self.todo}")
        return self


class Health(Contract):
    """All findings; `level` is the worst of them. `at` is ISO 8601 in UTC."""

    schema_version: Literal[1] = 1
    at: str
    level: Level
    findings: list[Finding]


def worst(findings: Sequence[Finding]) -> Level:
    """Return the worst level; UNKNOWN where nothing was checked."""
    return max((one.level for one in findings), key=SEVERITY.index, default=Level.UNKNOWN)
