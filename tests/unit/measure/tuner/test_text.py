# SPDX-License-Identifier: Apache-2.0
"""A run on a terminal: what mattered, the winner beside the plan, and what to do."""

from millrace.measure.tuner.model import TunerRun, TunerState
from millrace.measure.tuner.report import text
from tests.unit.measure.tuner.reports import finished


def printed(run: TunerRun) -> str:
    return " ".join(" ".join(text.run(run)).split())


def test_finished_run_shows_what_mattered_and_how_to_apply_it() -> None:
    out = printed(finished())
    assert "changed to 64" in out
    assert "stays at a" in out
    assert "faster than the plan's settings" in out
    assert "the nfsd.threads: 64 in place of 1" in out
    assert "millrace tuner apply 20260101-000000" in out
    assert "GB/s" in out


def test_emulated_run_shows_ratios_only() -> None:
    out = printed(finished("kvm"))
    assert "only ratios are meaningful" in out
    assert "GB/s" not in out.replace("memory at 5 GB/s", "")


def test_stopped_run_is_not_proposed() -> None:
    stopped = {"state": TunerState.STOPPED, "reason": "stopped by an administrator", "outcome": None, "effects": []}
    out = printed(finished().model_copy(update=stopped))
    assert "stopped by an administrator" in out
    assert "tuner apply" not in out
