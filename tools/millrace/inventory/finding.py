# SPDX-License-Identifier: Apache-2.0
"""What a probe hands back: nothing for `I looked and there is nothing`, else one finding for each thing."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from millrace.inventory.model import DriveState, Evidence


@dataclass(frozen=True)
class Finding:
    """FOREIGN: something is there. UNKNOWN: this probe could not look."""

    state: DriveState
    evidence: Evidence


SurfaceReader = Callable[[Path, int], list[Finding]]


def found(probe: str, what: str) -> Finding:
    """Something that somebody may want to keep."""
    return Finding(DriveState.FOREIGN, Evidence(probe=probe, finding=what))


def failed(probe: str, why: str) -> Finding:
    """A probe that did not answer."""
    return Finding(DriveState.UNKNOWN, Evidence(probe=probe, finding=why))
