# SPDX-License-Identifier: Apache-2.0
"""The desired state: how many snapshots of a share are kept that are made by themselves."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from millrace.serve.config.network import DesiredModel

ScheduledKind = Literal["hourly", "daily", "weekly", "monthly"]

MOST: dict[ScheduledKind, int] = {"hourly": 168, "daily": 365, "weekly": 260, "monthly": 120}
"""Snapshots of each kind that a share keeps at most: each of them has an inode of the pool for each file."""

NONE_KEPT = "a schedule keeps at least one snapshot; without a schedule there are none (null)"


class SnapshotSchedule(DesiredModel):
    """How many snapshots of each kind are kept; none of a kind is made where that is 0.

    `large`: also of a share with more files and directories than snapshots are made of without a question.
    """

    hourly: Annotated[int, Field(ge=0, le=MOST["hourly"])] = 0
    daily: Annotated[int, Field(ge=0, le=MOST["daily"])] = 0
    weekly: Annotated[int, Field(ge=0, le=MOST["weekly"])] = 0
    monthly: Annotated[int, Field(ge=0, le=MOST["monthly"])] = 0
    large: bool = False

    @model_validator(mode="after")
    def _keeps_any(self) -> Self:
        if not any(self.kept.values()):
            raise ValueError(NONE_KEPT)
        return self

    @property
    def kept(self) -> dict[ScheduledKind, int]:
        """How many of each kind are kept, the shortest period first."""
        return {"hourly": self.hourly, "daily": self.daily, "weekly": self.weekly, "monthly": self.monthly}

    @property
    def words(self) -> str:
        """The schedule in words, `24 hourly, 7 daily`."""
        return ", ".join(f"{number} {kind}" for kind, number in self.kept.items() if number)
