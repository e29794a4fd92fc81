# SPDX-License-Identifier: Apache-2.0
"""Findings of the hardware audit."""

from enum import StrEnum

from millrace.inventory.model import Drive
from millrace.system.documents import Contract


class Severity(StrEnum):
    """INFO: good to know. WARN: it costs speed or safety. FAIL: it must not stay like this."""

    INFO = "info"
    WARN = "warn"
    FAIL = "fail"


class PlanFinding(Contract):
    """One thing that is not as it could be.

    `subject` is a drive's serial, a PCI address or a part of the server, never a kernel name; `what` does not repeat
    it, so that findings that differ in their subject only can be shown as one. `todo` is the remedy, `bay` where the
    drive is, its bay or its slot.
    """

    name: str
    severity: Severity
    subject: str
    what: str
    todo: str
    bay: str | None = None

    @property
    def place(self) -> str:
        """The subject with its bay."""
        return f"{self.subject} ({self.bay})" if self.bay else self.subject


REPLACE_DRIVE = "Replace the drive."
"""The remedy of a drive that may be of no pool yet."""

# Subjects of one finding that are shown by name.
SHOWN = 4


def about(drive: Drive, name: str, severity: Severity, what: str, todo: str) -> PlanFinding:
    """Return a finding on one drive."""
    return PlanFinding(name=name, severity=severity, subject=drive.serial, what=what, todo=todo, bay=place_of(drive))


def place_of(drive: Drive) -> str | None:
    """Return where a drive is in words: its bay, else its slot; None where the server does not report either."""
    return f"bay {drive.bay}" if drive.bay else f"slot {drive.slot}" if drive.slot else None


def merged(findings: list[PlanFinding]) -> list[PlanFinding]:
    """Return findings that differ in their subject only as one, in the order of the first of each."""
    subjects: dict[tuple[str, str, str, str], list[str]] = {}
    for one in findings:
        subjects.setdefault((one.name, one.severity, one.what, one.todo), []).append(one.place)
    return [
        PlanFinding(name=name, severity=Severity(severity), subject=_in_short(shared), what=what, todo=todo)
        for (name, severity, what, todo), shared in subjects.items()
    ]


def _in_short(subjects: list[str]) -> str:
    rest = len(subjects) - SHOWN
    return ", ".join(subjects[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")
