# SPDX-License-Identifier: Apache-2.0
"""The tuning contract (`millrace tune --json`)."""

from typing import Literal

from pydantic import Field

from millrace.plan.settings import SettingChange
from millrace.system.documents import Contract


class Drift(Contract):
    """One setting that is not as planned. `changed` is False for `--diff`, which only compares.

    `path` is a file, or the command that sets it.
    """

    path: str
    before: str
    wanted: str
    reason: str
    changed: bool


class TuneReport(Contract):
    """`settings` is how many were compared, `unreadable` how many of them could not be read.

    A warning names a setting that is missing, refuses its value or waits for a restart; `managed` are those that the
    kernel keeps for itself. `changes` are the settings that are computed otherwise than at the last boot.
    """

    schema_version: Literal[1] = 1
    settings: int
    drift: list[Drift]
    warnings: list[str]
    managed: list[str] = Field(default_factory=list)
    unreadable: int = 0
    changes: list[SettingChange] = Field(default_factory=list)


class Originals(Contract):
    """What was set before Millrace changed it for the first time in this boot, and what refused to be changed.

    `given_up`: values that were tried once and not taken, of settings that interrupt service.
    """

    schema_version: Literal[1] = 1
    values: dict[str, str] = Field(default_factory=dict)
    managed: list[str] = Field(default_factory=list)
    given_up: dict[str, str] = Field(default_factory=dict)
