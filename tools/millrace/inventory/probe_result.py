# SPDX-License-Identifier: Apache-2.0
"""The result of a probe: nothing where it ran and found nothing, else one finding for each thing."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from millrace.inventory.model import DriveState, Evidence


@dataclass(frozen=True)
class ProbeFinding:
    """FOREIGN: there is content. UNKNOWN: this probe failed."""

    state: DriveState
    evidence: Evidence


SurfaceReader = Callable[[Path, int], list[ProbeFinding]]


def found(probe: str, what: str) -> ProbeFinding:
    """Return a finding of content that its owner may want to keep."""
    return ProbeFinding(DriveState.FOREIGN, Evidence(probe=probe, finding=what))


def failed(probe: str, why: str) -> ProbeFinding:
    """Return a finding of a probe that failed."""
    return ProbeFinding(DriveState.UNKNOWN, Evidence(probe=probe, finding=why))
