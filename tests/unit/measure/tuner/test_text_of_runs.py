# SPDX-License-Identifier: Apache-2.0
"""What a run that is active says on a terminal."""

import pytest

from millrace.measure.tuner.model import TunerState
from millrace.measure.tuner.run import text
from millrace.measure.tuner.run.outputs import TunerProgress, TunerStatus
from millrace.measure.tuner.search.goals import parse

GOALS = parse("seq-read,fsync")
MEASURING = TunerProgress(
    run="20261124-160000",
    time=1.0,
    state=TunerState.RUNNING,
    what="reading 4",
    phase="screen",
    combination={"nfsd.threads": 64, "md.stripe_cache_size": 256},
    readings=3,
    seconds_left=600,
)


def test_reading_is_one_line_whatever_the_number_of_its_tests(capsys: pytest.CaptureFixture[str]) -> None:
    tests = [MEASURING.model_copy(update={"goal": goal}) for goal in GOALS]
    guarded = MEASURING.model_copy(update={"what": "reading 5", "phase": "guard"})
    assert text.progress([MEASURING, *tests, guarded]) == guarded
    assert capsys.readouterr().out.splitlines() == [
        "running: reading 4 (screen), 10 minutes left",
        "running: reading 5 (guard), 10 minutes left",
    ]


def test_status_names_the_test_and_the_settings_that_are_measured() -> None:
    found = TunerStatus(running=True, progress=MEASURING.model_copy(update={"goal": GOALS[1]}))
    assert list(text.status(found)) == [
        "Run 20261124-160000 is active: reading 4: 4 KiB writes, each synced, over NFS, 10 minutes left.",
        "Set now: nfsd.threads = 64, md.stripe_cache_size = 256.",
    ]
