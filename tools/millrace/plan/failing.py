# SPDX-License-Identifier: Apache-2.0
"""When a drive is failing: the one rule for what is built, replaced and added, and for what health reports. Pure."""

from collections.abc import Iterator

from millrace.inventory.model import Drive
from millrace.plan.finding import REPLACE_DRIVE, PlanFinding, Severity, about

# NVMe base specification, SMART / health information, critical warning.
SPARE_BIT, BACKUP_BIT = 1 << 0, 1 << 4
FATAL = {
    SPARE_BIT: "the available spare is below its threshold",
    1 << 2: "errors have degraded its reliability",
    1 << 3: "it is in read-only mode",
    1 << 5: "its persistent memory region is read-only",
}


def failing(drive: Drive) -> list[PlanFinding]:
    """Return why a drive must not hold data, from its last SMART reading; none where it has not said so."""
    return list(_failing(drive))


def why_failing(drive: Drive) -> str | None:
    """Return the reasons in one line, as the end of a sentence about a drive; None for a drive that is not failing."""
    reasons = [one.what[0].lower() + one.what[1:].rstrip(".") for one in failing(drive)]
    return f"is failing ({'; '.join(reasons)})" if reasons else None


def _failing(drive: Drive) -> Iterator[PlanFinding]:
    warning = drive.critical_warning or 0
    if warning & BACKUP_BIT:
        what = "The power-loss protection of the drive has failed: a power cut may lose acknowledged writes."
        yield about(drive, "cache.protection", Severity.FAIL, what, REPLACE_DRIVE)
    reported = [words for bit, words in FATAL.items() if warning & bit]
    if reported:
        what = f"The drive reports a critical warning: {', '.join(reported)}."
        yield about(drive, "drive.failing", Severity.FAIL, what, REPLACE_DRIVE)
    spare, threshold = drive.available_spare, drive.spare_threshold
    if spare is not None and threshold is not None and spare < threshold and not warning & SPARE_BIT:
        what = f"Its spare capacity is {spare} %, below its threshold of {threshold} %."
        yield about(drive, "drive.spare", Severity.FAIL, what, REPLACE_DRIVE)
