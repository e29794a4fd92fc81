# SPDX-License-Identifier: Apache-2.0
"""The appliance tunes itself beside something else: ports start again under a client, arrays are checked."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.vm import measured
from tests.vm.box import CLIENT_ADDRESSES, SERVER_ADDRESSES, Box
from tests.vm.card import card_put_in
from vm.machine import Machine

POLICY = "/etc/millrace/policy.toml"
JOURNAL = "/var/lib/millrace/tuner/journal.json"
BUDGET = f"--budget {os.environ.get('BUDGET', '3h')}"

# a run is refused while an array is being synchronised
pytestmark = [pytest.mark.soak, pytest.mark.usefixtures("in_sync")]


@pytest.fixture(scope="module")
def card(box: Box) -> Iterator[str]:
    """A card with several queues, put in while the server runs; the name of its port."""
    with card_put_in(box) as name:
        yield name


def of_ports(box: Box, card: str) -> dict[str, Any]:
    """What a run may change of the card: queues, rings and the CPUs of its interrupts."""
    interrupts = f"for one in /proc/irq/*/{card}-*x-[0-9]*; do cat $(dirname $one)/smp_affinity_list; done"
    return {
        "queues": box.read_json(f"ethtool --json -l {card}")[0]["combined"],
        "rings": box.read_json(f"ethtool --json -g {card}")[0]["rx"],
        "interrupts": box.say(interrupts).split(),
    }


def until(box: Box, run: str, condition: str, what: str) -> None:
    """Wait for a condition while a run is active."""
    # a start does not wait: until then its job is queued
    state = "systemctl show -P ActiveState -P Job millrace-tuner.service"
    over = f"{state} | tr -d '0\\n' | grep -xE 'inactive|failed'"
    box.machine.wait_command(f"{condition} || {over}", what, 1800)
    now = box.shown(f"tuner show {run} --json")
    assert now["state"] == "running", box.say("journalctl -u millrace-tuner -n 30 --no-pager; true") + str(now)


def test_queues_and_rings_are_tried_with_a_client_and_tune_leaves_them_alone(
    box: Box, client: Machine, card: str
) -> None:
    address, kept = CLIENT_ADDRESSES[0], box.machine.run(f"cat {POLICY}", check=False).out
    # half of what the virtual ports have at most
    box.machine.run(f"mkdir -p /etc/millrace && cat > {POLICY}", stdin=f"{kept}\n[ports]\nrx_ring = 128\n")
    try:
        box.millrace("tune", seconds=300)
        before = of_ports(box, card)
        assert before["rings"] == 128 and before["queues"] > 1
        measured.give_program(box, client)
        with measured.listening(client, SERVER_ADDRESSES[0]) as token:
            measured.add(box, address, token)
            knobs = "--knob ports.most_queues --knob ports.rx_ring"
            this = box.shown(f"tuner start --goal seq-read --client {address} {knobs} {BUDGET} --json")["run"]
            other = f"ethtool --json -l {card} | grep -q '\"combined\": *1\\b'"
            until(box, this, f"{other} && ethtool --json -g {card} | grep -q '\"rx\": *256'", "other queues and rings")
            # as the event of a link does; what it would set ends the run: something else changed the settings
            assert "settings that the tuner tries are not changed" in box.millrace("tune", seconds=300).out
            done = len(box.shown(f"tuner show {this} --json")["readings"])
            more = f"millrace tuner show {this} --json | grep -q '\"number\": *{done + 3}\\b'"
            until(box, this, more, "more readings")
            run = box.shown(f"tuner show {this} --json")
            assert (run["state"], run["refused"]) == ("running", [])
            assert {reading["validity"] for reading in run["readings"]} == {"valid"}
            box.millrace("tuner stop", seconds=600)
        assert of_ports(box, card) == before
        assert box.shown("tune --diff --json")["drift"] == []
    finally:
        box.machine.run(f"cat > {POLICY}" if kept else f"rm {POLICY}", stdin=kept)
    measured.nothing_is_left(box)


def test_rebuild_is_measured_beside_the_goals_and_ends_with_a_run_that_is_killed(box: Box) -> None:
    box.say("systemctl restart nfs-server.service", seconds=300)
    box.machine.wait_command("! grep -E 'resync|recovery|check' /proc/mdstat", "arrays in sync", 1800)
    md = f"/sys/block/{box.say('basename $(readlink -f /dev/md/millrace-data)')}/md"
    before = box.say(f"cat {md}/sync_speed_min {md}/sync_min {md}/sync_max {md}/sync_action")
    started = f"tuner start --goal local-rand-read=3,rebuild=1 --knob md.rebuild_min_kib {BUDGET} --json"
    this = box.shown(started)["run"]
    until(box, this, f"grep -x check {md}/sync_action", "a check")
    until(box, this, f"millrace tuner show {this} --json | grep -q '\"number\": *3'", "three readings")
    run = box.shown(f"tuner show {this} --json")
    assert [knob["name"] for knob in run["knobs"]] == ["md.rebuild_min_kib"]
    figures = [reading["figures"] for reading in run["readings"]]
    assert all(reading["rebuild"] > 0 and reading["local-rand-read"] > 0 for reading in figures), figures
    until(box, this, f"grep -x check {md}/sync_action && grep sync_action {JOURNAL}", "another check")
    box.say("systemctl kill --signal=KILL --kill-whom=main millrace-tuner.service")
    over = "systemctl show -P ActiveState millrace-tuner.service | grep -x -e inactive -e failed"
    box.machine.wait_command(over, "settings that are put back", 300)
    assert box.say(f"cat {md}/sync_speed_min {md}/sync_min {md}/sync_max {md}/sync_action") == before
    assert box.say(f"ls {JOURNAL}; true") == ""
    measured.nothing_is_left(box)
