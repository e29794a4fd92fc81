# SPDX-License-Identifier: Apache-2.0
"""Sizing by formula says its terms, and stands beside what was set and measured."""

from millrace.measure.tuner.report.sizing import THREADS, sizing
from millrace.serve.share import smb
from tests.unit.measure.tuner.readings import knob
from tests.unit.measure.tuner.reports import finished


def test_formulas_name_every_term_and_what_was_measured() -> None:
    found = {one.name: one for one in sizing(finished())}
    # 16 cores, one port, memory 5 times as fast as the measured pool
    assert found["SMB credits by the hardware"].value == 16 + 2 + 5 + 5
    assert found["SMB credits by the threads"].value == 16 + 100 + 2 + 3
    assert "1 network port " in found["SMB credits by the hardware"].terms
    here = found["SMB credits by the hardware"].here
    assert here == "8192, or what the policy has (smbd.max_credits); tried where a goal is measured over SMB"
    assert found["NFS server threads"].here == "1 planned, 64 measured best"


def test_credits_that_were_tried_stand_beside_the_formula() -> None:
    run = finished()
    assert run.outcome is not None
    more = {"smbd.max_credits": 4096}
    tried = run.model_copy(
        update={
            "knobs": [*run.knobs, knob("smbd.max_credits", [512, 4096, 8192], 8192, 8192)],
            "outcome": run.outcome.model_copy(update={"winner": {**run.outcome.winner, **more}}),
        }
    )
    by_name = {formula.name: formula.here for formula in sizing(tried)}
    assert by_name["SMB credits by the threads"] == "8192 planned, 4096 measured best"


def test_unknown_server_has_no_sizing() -> None:
    assert sizing(finished().model_copy(update={"environment": None})) == []


def test_settings_are_those_of_smb_conf() -> None:
    text = smb.configuration([], [])
    assert "smb2 max credits = 8192\n" in text
    assert f"aio max threads = {THREADS}\n" in text
