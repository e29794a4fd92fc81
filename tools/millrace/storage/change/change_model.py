# SPDX-License-Identifier: Apache-2.0
"""The contract of `millrace drive progress --json` and of the lines of `millrace drive replace --json`."""

from typing import Literal

from millrace.storage.record.drive_change import DriveChange, DriveProposal
from millrace.system.documents import Contract


class ChangeProgress(Contract):
    """How far a change is: steps done, steps in all, the active one, null where there is none.

    While md fills the new drive, `progress` is from 0 to 1, with its rate and the seconds that are left; null else.
    """

    schema_version: Literal[1] = 1
    change: DriveChange
    done: int
    total: int
    step: str | None
    progress: float | None
    bytes_per_second: int | None
    seconds_left: float | None


class LastChange(Contract):
    """The change that runs, else the last one that ended; null before the first one."""

    schema_version: Literal[1] = 1
    change: ChangeProgress | None


# What `millrace drive replace --json` prints, in this order: what was confirmed, progress many times, the change at
# its end.
ChangeLine = DriveProposal | ChangeProgress | DriveChange
