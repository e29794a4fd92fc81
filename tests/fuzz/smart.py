# SPDX-License-Identifier: Apache-2.0
"""What nvme-cli prints of a drive: its SMART log, its namespace, its controller. Firmware writes all of it."""

from pathlib import Path

from millrace.inventory import nvme
from millrace.storage.drive.smart import DriveSmart, SmartReport
from millrace.system.run import Result

NOWHERE, DEVICE = Path("/nonexistent"), Path("/dev/nvme0n1")


def check(data: bytes) -> None:
    """Read the same document as each of the logs, and write and read the report that it makes."""
    said = Result(0, data.decode(errors="replace"), "")
    found = nvme.smart(NOWHERE, DEVICE, lambda argv, stdin=None: said)
    nvme.details(NOWHERE, NOWHERE, DEVICE, lambda argv, stdin=None: said)
    if found is not None:
        about = DriveSmart(name="nvme0n1", serial="S", transport="nvme", boot=False, known=True)
        report = SmartReport(uptime=1.0, drives=[about.model_copy(update={**found})])
        SmartReport.model_validate_json(report.model_dump_json())
