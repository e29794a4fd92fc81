# SPDX-License-Identifier: Apache-2.0
"""What is kept of snapshots: by the schedules and by the floor of free space, and changes of both that wait."""

from pydantic import field_validator

from millrace.serve.config.schedule import SnapshotSchedule
from millrace.serve.share.kept_snapshots import SecondsLeft
from millrace.system import ages
from millrace.system.documents import Contract, Count
from millrace.system.names import share_name


class WaitingRemoval(Contract):
    """What removes snapshots, as `by` decided at `at`: when a server has run for `left` more seconds.

    `due` is when that is expected. Times are ISO 8601 in UTC.
    """

    by: str
    at: str
    left: SecondsLeft
    due: str

    @field_validator("due")
    @classmethod
    def due_is_a_time(cls, due: str) -> str:
        """Verify the time of the removal. ValueError: it is none."""
        ages.when(due)
        return due


class TighterSchedule(WaitingRemoval):
    """A schedule that keeps fewer snapshots than the one before; about so many are `removed` by it."""

    wanted: SnapshotSchedule
    removed: Count


class Retention(Contract):
    """How many snapshots of a share with this quota project are `kept`; fewer when the `tighter` schedule is due."""

    share: str
    project: int
    kept: SnapshotSchedule
    tighter: TighterSchedule | None = None

    @field_validator("share")
    @classmethod
    def share_is_a_name(cls, share: str) -> str:
        """Verify the name of the share, which leads to its snapshots. ValueError: it is none."""
        share_name(share)
        return share


class RaisedFloor(WaitingRemoval):
    """A floor of free space, in percent, above the one that holds."""

    percent: Count


class KeptFloor(Contract):
    """The floor of free space that holds, in percent, and the `raised` one that waits; null where none does."""

    percent: Count
    raised: RaisedFloor | None = None
