# SPDX-License-Identifier: Apache-2.0
"""The health contract (`/run/millrace/health.json`, `millrace health --json`)."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from millrace.system.documents import Contract


class Level(StrEnum):
    """How it is. UNKNOWN means that the check could not look."""

    OK = "OK"
    WARN = "WARN"
    UNKNOWN = "UNKNOWN"
    FAIL = "FAIL"


SEVERITY = [Level.OK, Level.WARN, Level.UNKNOWN, Level.FAIL]


def _key(values: dict[str, Any]) -> str:
    return "/".join(one for one in (values["check"], values["kind"], values["subject"]) if one)


class HealthFinding(Contract):
    """What one check found: a sentence, and the remedy where there is one. A finding that is OK has none.

    `subject` is what it is about: the serial of a drive, the name of an array, a unit or a share. `kind` tells several
    things apart that a check may find about one subject. `key` is made of these three and stays the same while the
    sentence changes. `since` (ISO 8601 in UTC) is when this boot found it first; null for a finding that is OK.
    """

    check: str
    kind: str = Field(default="", exclude=True)
    subject: str = ""
    level: Level
    sentence: str
    todo: str | None = None
    key: str = Field(default_factory=_key)
    since: str | None = None

    @model_validator(mode="after")
    def _ok_has_no_remedy(self) -> Self:
        if self.level is Level.OK and self.todo:
            raise ValueError(f"a finding that is OK has no remedy: {self.todo}")
        return self


class Health(Contract):
    """All findings; `level` is the worst of them. `at` is ISO 8601 in UTC.

    `starting` is whether the boot was still under way: what is missing may come, what was wrong may not show yet.
    """

    schema_version: Literal[1] = 1
    at: str
    level: Level
    findings: list[HealthFinding]
    starting: bool = False


def worst(findings: Sequence[HealthFinding]) -> Level:
    """Return the worst level; UNKNOWN where nothing was checked."""
    return max((one.level for one in findings), key=SEVERITY.index, default=Level.UNKNOWN)


def continued(earlier: Health | None, now: Health) -> Health:
    """Return `now` with `since` in each finding that is not OK: that of the same key in `earlier`, else now."""
    known = {one.key: one.since for one in (earlier.findings if earlier else []) if one.level is not Level.OK}
    findings = [
        one.model_copy(update={"since": None if one.level is Level.OK else known.get(one.key) or now.at})
        for one in now.findings
    ]
    return now.model_copy(update={"findings": findings})
