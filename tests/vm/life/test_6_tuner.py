# SPDX-License-Identifier: Apache-2.0
"""The appliance tunes itself: bad settings are found, a useless one stays, and the plan's come back in any case.

`BUDGET` in the environment is how long the run may take, as `millrace tuner run --budget` has it.
"""

import base64
import io
import json
import math
import os
from collections.abc import Iterator
from typing import Any

import openpyxl
import pytest

from tests.vm import measured
from tests.vm.box import Box

POLICY = "/etc/millrace/policy.toml"
# the stripe cache at the minimum, no read-ahead, one thread
BAD = "[md]\nstripe_cache_size = 256\nread_ahead_kib = 0\n\n[nfsd]\nthreads = 1\n"
PLANTED = ("md.stripe_cache_size", "md.read_ahead_kib", "nfsd.threads")
# requests that wait in the queue of a virtual drive: nothing here fills it
USELESS = "md.member_requests"
KNOBS = " ".join(f"--knob {name}" for name in (*PLANTED, USELESS))
GOALS = "--goal seq-read=2,seq-write=1,rand-read=2"
BUDGET = f"--budget {os.environ.get('BUDGET', '3h')}"

pytestmark = [pytest.mark.soak, pytest.mark.usefixtures("in_use")]


def in_force(box: Box) -> dict[str, str]:
    """What a run may change, as the kernel has it."""
    device = box.say("basename $(readlink -f /dev/md/millrace-data)")
    return {
        "stripes": box.say(f"cat /sys/block/{device}/md/stripe_cache_size"),
        "read-ahead": box.say(f"cat /sys/block/{device}/queue/read_ahead_kb"),
        "threads": box.say("nfsdctl threads"),
        "queues": box.say("cat /sys/block/nvme*n1/queue/nr_requests"),
        "dirty": box.say("sysctl -n vm.dirty_bytes vm.dirty_background_bytes"),
    }


@pytest.fixture(scope="module")
def quiet(box: Box) -> None:
    """No client of an earlier story is connected, and no array is checked."""
    box.say("systemctl restart nfs-server.service", seconds=300)
    box.machine.wait_command("! grep -E 'resync|recovery|check' /proc/mdstat", "arrays in sync", 1800)


@pytest.fixture(scope="module")
def planted(box: Box, quiet: None) -> Iterator[dict[str, str]]:
    """A policy with bad settings; afterwards it is as before."""
    kept = box.machine.run(f"cat {POLICY}", check=False).out
    box.machine.run(f"mkdir -p /etc/millrace && cat > {POLICY}", stdin=BAD)
    box.say("millrace share render && millrace tune", seconds=300)
    yield in_force(box)
    box.millrace("tuner revert", check=False)
    box.machine.run(f"cat > {POLICY}" if kept else f"rm {POLICY}", stdin=kept)
    box.say("millrace share render && millrace tune", seconds=300)


@pytest.fixture(scope="module")
def tuned(box: Box, planted: dict[str, str]) -> dict[str, Any]:
    ended = box.millrace(f"tuner run {GOALS} {KNOBS} {BUDGET} --json", seconds=4 * 3600).out.splitlines()[-1]
    last = json.loads(ended)
    assert last["state"] == "done", last["what"]
    made: dict[str, Any] = box.shown(f"tuner show {last['run']} --json")
    return made


def test_bad_settings_are_found_and_a_useless_one_is_left_alone(
    box: Box, planted: dict[str, str], tuned: dict[str, Any]
) -> None:
    outcome = tuned["outcome"]
    assert outcome["verdict"] == "candidate", outcome["reason"]
    winner, plan = outcome["winner"], outcome["plan"]
    assert (plan["md.stripe_cache_size"], plan["md.read_ahead_kib"]) == (256, 0)
    assert [name for name in PLANTED if winner[name] > plan[name]], outcome
    assert not [name for name in PLANTED if winner[name] < plan[name]], outcome
    assert outcome["winner"][USELESS] == outcome["plan"][USELESS]
    # until it is applied the server has its plan
    assert in_force(box) == planted
    measured.nothing_is_left(box)


def test_what_was_measured_is_applied_with_its_source_and_reverted(
    box: Box, planted: dict[str, str], tuned: dict[str, Any]
) -> None:
    done = box.shown(f"tuner apply {tuned['id']} --json")
    assert tuned["id"] in done["source"] and done["values"]
    [name, *_] = done["values"]
    decision = {"md.read_ahead_kib": "md.read_ahead"}.get(name, name)
    told = box.shown(f"plan --explain {decision} --json")["decision"]
    assert told["source"] == done["source"] and told["source"].startswith("measured here on ")
    assert in_force(box) != planted
    assert box.shown("tune --diff --json")["drift"] == []
    box.millrace("tuner revert")
    assert in_force(box) == planted


def test_spreadsheet_opens_and_holds_the_weighted_scores(box: Box, tuned: dict[str, Any]) -> None:
    file = "/run/tuner.xlsx"
    box.millrace(f"tuner export {tuned['id']} {file}")
    book = openpyxl.load_workbook(io.BytesIO(base64.b64decode(box.say(f"base64 {file}; rm {file}"))))
    assert len(book.sheetnames) == 4
    cells = {cell for sheet in book for row in sheet.iter_rows(values_only=True) for cell in row}
    reference = tuned["readings"][0]["figures"]
    for reading in tuned["readings"]:
        if reading["score"] is None:
            continue
        parts = (
            goal["weight"] * math.log(reading["figures"][goal["name"]] / reference[goal["name"]])
            for goal in tuned["goals"]
        )
        assert math.isclose(reading["score"], math.exp(math.fsum(parts)), rel_tol=1e-9)
        assert any(isinstance(cell, float) and math.isclose(cell, reading["score"], rel_tol=1e-3) for cell in cells)


def test_mistakes_and_a_second_run_are_refused_in_one_sentence(box: Box, quiet: None) -> None:
    for options, words in (
        ("--goal speed=1", "There is no goal 'speed'"),
        ("--profile gaming", "There is no profile 'gaming'"),
        ("--knob md.chunk", "there is no setting 'md.chunk' to try"),
        ("--budget 1m", "shorter than one screen"),
    ):
        result = box.millrace(f"tuner start {options}", check=False)
        assert (result.status, len(result.err.splitlines())) == (2, 1) and words in result.err
    started(box)
    measured.refused(box, f"tuner start {BUDGET}", "the tuner is already running")
    box.millrace("tuner stop", seconds=600)
    assert box.shown("tuner list --json")["runs"][0]["state"] == "stopped"


def started(box: Box) -> dict[str, str]:
    """Start a run and wait until it has changed something; return what was set before."""
    before = in_force(box)
    box.millrace(f"tuner start {GOALS} {KNOBS} {BUDGET}", seconds=300)
    # the second reading is the first of the screen
    box.machine.wait_command("test -s /var/lib/millrace/tuner/journal.json", "a changed setting", 1800)
    return before


def test_killed_run_leaves_the_plans_settings(box: Box, quiet: None) -> None:
    before = started(box)
    box.say("systemctl kill --signal=KILL --kill-whom=main millrace-tuner.service")
    over = "systemctl show -P ActiveState millrace-tuner.service | grep -x -e inactive -e failed"
    box.machine.wait_command(over, "settings that are put back", 300)
    assert in_force(box) == before
    measured.nothing_is_left(box)
    assert box.shown("tuner list --json")["runs"][0]["state"] == "interrupted"
    assert box.shown("tuner status --json")["left"] == []


def test_power_cut_leaves_the_plans_settings(box: Box, quiet: None) -> None:
    before = started(box)
    box.machine.power_cut()
    box.machine.start()
    box.wait_booted()
    ended = "systemctl show -P ExecMainExitTimestampMonotonic millrace-tuner-restore.service | grep -qvx 0"
    box.machine.wait_command(ended, "the clean-up", 300)
    assert box.say("systemctl show -P Result millrace-tuner-restore.service") == "success"
    assert in_force(box) == before
    assert box.shown("tune --diff --json")["drift"] == []
    assert box.say("ls /var/lib/millrace/tuner/journal.json; true") == ""
    assert box.shown("tuner list --json")["runs"][0]["state"] == "interrupted"
    assert box.failed_units() == []
