# SPDX-License-Identifier: Apache-2.0
"""One run of `millrace tune` over all stages."""

from collections.abc import Sequence

from millrace.tune.apply import ERRORS, apply, merged, revert
from millrace.tune.collect import Collected, Stage
from millrace.tune.model import TuneReport
from millrace.tune.originals import Memory


def run(stages: Sequence[Stage], look_only: bool = False, put_back: bool = False) -> TuneReport:
    """Set, look at or put back everything. The way back goes through the stages from the last to the first."""
    memory = Memory()
    if put_back:
        return merged([revert(*_collected(stage), memory) for stage in reversed(stages)])
    return merged([apply(*_collected(stage), memory, look_only) for stage in stages])


def _collected(stage: Stage) -> Collected:
    """A stage that cannot look does not keep the others from it."""
    try:
        return stage()
    except ERRORS as error:
        return [], [f"some settings could not be read: {error}"]
