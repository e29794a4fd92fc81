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
from tests.vm.box import CLIENT_ADDRESSES, SERVER_ADDRESSES, Box
from tests.vm.life.words import mounted
from vm.machine import Machine

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
    columns, *rows = book["All runs"].iter_rows(values_only=True)
    shown = [dict(zip(columns, row, strict=True)) for row in rows]
    assert [row["number"] for row in shown] == [reading["number"] for reading in tuned["readings"]]
    reference = tuned["readings"][0]["figures"]
    for reading, row in zip(tuned["readings"], shown, strict=True):
        if reading["score"] is None:
            continue
        parts = (
            goal["weight"] * math.log(reading["figures"][goal["name"]] / reference[goal["name"]])
            for goal in tuned["goals"]
        )
        assert math.isclose(reading["score"], math.exp(math.fsum(parts)), rel_tol=1e-9)
        assert math.isclose(float(str(row["score"])), reading["score"], rel_tol=1e-9)


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
    unit = "millrace-cleanup@measurements.service"
    ended = f"systemctl show -P ExecMainExitTimestampMonotonic {unit} | grep -qvx 0"
    box.machine.wait_command(ended, "the clean-up", 300)
    assert box.say(f"systemctl show -P Result {unit}") == "success"
    assert in_force(box) == before
    assert box.shown("tune --diff --json")["drift"] == []
    assert box.say("ls /var/lib/millrace/tuner/journal.json; true") == ""
    assert box.shown("tuner list --json")["runs"][0]["state"] == "interrupted"
    assert box.failed_units() == []


def test_smb_is_measured_on_an_smbd_with_the_settings_of_the_reading(box: Box, quiet: None) -> None:
    before = box.say("cat /etc/samba/smb.conf")
    knobs = "--knob smbd.max_credits --knob smbd.aio_min_bytes"
    box.millrace(f"tuner start --goal smb-rand-read {knobs} {BUDGET}", seconds=300)
    others = "grep -x 'smb2 max credits = [0-9]*' /run/millrace/bench/smb/smb.conf | grep -v ' 8192$'"
    box.machine.wait_command(
        f"{others} && grep 'Number of credits' /proc/fs/cifs/DebugData", "a reading with other credits", 1800
    )
    tried = box.shown("tuner status --json")["progress"]["combination"]
    assert tried["smbd.max_credits"] != 8192
    # what the kernel's client may have under way now
    granted = box.say("sed -n 's/^.*Number of credits: *\\([0-9]*\\).*$/\\1/p' /proc/fs/cifs/DebugData").split()
    assert granted and all(int(number) <= tried["smbd.max_credits"] for number in granted)
    # nothing of the server is set, so nothing is to be put back
    assert box.say("cat /etc/samba/smb.conf") == before
    assert box.say("ls /var/lib/millrace/tuner/journal.json; true") == ""
    box.millrace("tuner stop", seconds=600)
    measured.nothing_is_left(box)


def credits_of(client: Machine, where: str) -> int:
    """What the server has granted a connection after some requests."""
    client.run(f"for i in $(seq 200); do stat -f {where}; done", seconds=300)
    shown = client.run("sed -n 's/^.*Number of credits: *\\([0-9]*\\).*$/\\1/p' /proc/fs/cifs/DebugData").out
    return min(map(int, shown.split()))


def test_credits_of_the_policy_are_those_of_new_connections_and_end_no_old_one(box: Box, client: Machine) -> None:
    kept = box.machine.run(f"cat {POLICY}", check=False).out
    try:
        with mounted(client, "smb") as where:
            assert credits_of(client, where) > 128
            held = f"exec > {where}/held; echo mine; exec sleep 600"
            client.run(f"systemd-run --collect --unit=held sh -c '{held}'", seconds=300)
            client.wait_command(f"grep mine {where}/held", "an open file", 300)
            box.machine.run(f"mkdir -p /etc/millrace && cat > {POLICY}", stdin=f"{kept}\n[smbd]\nmax_credits = 128\n")
            box.say("millrace share render && millrace tune", seconds=300)
            # the same connection and the same open file
            assert credits_of(client, where) > 128
            client.run(f"systemctl is-active held && grep mine {where}/held", seconds=300)
            client.run(f"systemctl stop held; rm {where}/held", seconds=300)
        with mounted(client, "smb") as where:
            assert credits_of(client, where) <= 128
        told = box.shown("plan --explain smbd.max_credits --json")["decision"]
        assert told["source"] == "policy file: smbd.max_credits"
    finally:
        box.machine.run(f"cat > {POLICY}" if kept else f"rm {POLICY}", stdin=kept)
        box.say("millrace share render && millrace tune", seconds=300)


def test_interrupts_of_ports_are_tried_with_clients_or_left_out_with_the_drivers_words(
    box: Box, client: Machine
) -> None:
    address = CLIENT_ADDRESSES[0]
    shown = "for port in /sys/class/net/*/device; do ethtool -c $(basename $(dirname $port)); done"
    before = box.machine.run(shown, check=False).out
    measured.give_program(box, client)
    with measured.listening(client, SERVER_ADDRESSES[0]) as token:
        measured.add(box, address, token)
        estimate = box.shown(f"tuner estimate --goal seq-read --client {address} {BUDGET} --json")
        left_out = {knob["name"]: knob["reason"] for knob in estimate["left_out"]}
        if "ports.rx_usecs" in left_out:
            assert left_out["ports.rx_usecs"].startswith(("no driver of a network port", "the network ports differ"))
            return
        knobs = "--knob ports.rx_usecs --knob nfsd.threads"
        this = box.shown(f"tuner start --goal seq-read --client {address} {knobs} {BUDGET} --json")["run"]
        first = f"millrace tuner show {this} --json | grep -q '\"number\": *1'"
        box.machine.wait_command(first, "the first reading", 1800)
        run = box.shown(f"tuner show {this} --json")
        refused = {knob["name"]: knob["reason"] for knob in run["refused"]}
        assert ("ports.rx_usecs" in refused) != ("ports.rx_usecs" in [knob["name"] for knob in run["knobs"]])
        assert "cannot be set to" in refused.get("ports.rx_usecs", "cannot be set to")
        box.millrace("tuner stop", seconds=600)
    assert box.machine.run(shown, check=False).out == before


def test_io_modes_of_nfsd_are_set_by_the_policy_and_tried_by_the_tuner(box: Box, client: Machine, quiet: None) -> None:
    shown = "cd /sys/kernel/debug/nfsd && cat io_cache_read io_cache_write disable-splice-read"
    assert box.say(shown).split() == ["0", "0", "0"]
    kept = box.machine.run(f"cat {POLICY}", check=False).out

    def by_policy(read: str, write: str) -> None:
        text = f'{kept}\n[nfsd]\nio_cache_read = "{read}"\nio_cache_write = "{write}"\n'
        box.machine.run(f"mkdir -p /etc/millrace && cat > {POLICY}", stdin=text)
        box.say("millrace share render && millrace tune", seconds=300)

    try:
        by_policy("direct", "direct")
        assert box.say(shown).split() == ["2", "2", "1"]
        told = box.shown("plan --explain nfsd.io_modes --json")["decision"]
        assert told["source"] == "policy file: nfsd.io_cache_read and nfsd.io_cache_write"
        with mounted(client, "nfs-tcp") as where:
            # an odd length: the last part of it is no whole block
            client.run(
                f"head -c 9000001 /dev/urandom > /run/odd; cp /run/odd {where}/direct; sync {where}/direct", seconds=600
            )
            client.run(f"echo 3 > /proc/sys/vm/drop_caches; cmp /run/odd {where}/direct", seconds=600)
            client.run(f"rm /run/odd {where}/direct")
        by_policy("buffered", "buffered")
        assert box.say(shown).split() == ["0", "0", "0"]
    finally:
        box.machine.run(f"cat > {POLICY}" if kept else f"rm {POLICY}", stdin=kept)
        box.say("millrace share render && millrace tune", seconds=300)
    box.say("systemctl restart nfs-server.service", seconds=300)
    box.millrace(
        f"tuner start --goal seq-read --knob nfsd.io_cache_read --knob nfsd.io_cache_write {BUDGET}", seconds=300
    )
    box.machine.wait_command("grep io_cache /var/lib/millrace/tuner/journal.json", "another I/O mode", 1800)
    box.millrace("tuner stop", seconds=600)
    assert box.say(shown).split() == ["0", "0", "0"]
    measured.nothing_is_left(box)
