# SPDX-License-Identifier: Apache-2.0
"""The tuning contract (`millrace tune --json`)."""

from typing import Literal

from millrace.inventory.model import Contract


class Drift(Contract):
    """One setting that is not as planned. `changed` is False for `--diff`, which only looks."""

    path: str
    before: str
    wanted: str
    reason: str
    changed: bool


class TuneReport(Contract):
    """`settings` is how many were looked at; a warning names a knob that is missing or refuses its value."""

    schema_version: Literal[1] = 1
    settings: int
    drift: list[Drift]
    warnings: list[str]
