# SPDX-License-Identifier: Apache-2.0
"""The appliance measures itself: every layer, reports that open, nothing left behind."""

from pathlib import Path
from typing import Any

import pytest

from tests.vm import measured
from tests.vm.box import CLIENT_ADDRESSES, SERVER_ADDRESSES, Box
from tests.vm.life.words import PROTOCOLS, mounted
from vm.machine import Machine

NO_TOKEN = "aaaa-aaaa-aaaa-aaaa-aaaa\n"

pytestmark = pytest.mark.usefixtures("in_use")


@pytest.fixture(scope="module")
def ladder(box: Box, rdma: None) -> dict[str, Any]:
    return measured.run(box, "--quick --profile seq")


@pytest.mark.soak
def test_every_layer_is_measured(box: Box, ladder: dict[str, Any]) -> None:
    protocols = {f"L2/{name}" for name in PROTOCOLS}
    assert measured.places(ladder) == {"L0/drives", "L1/array", "L1/xfs", *protocols}
    measured.nothing_is_left(box)


@pytest.mark.soak
def test_report_is_readable_in_every_format(box: Box, ladder: dict[str, Any], tmp_path: Path) -> None:
    measured.exports_open_again(box, ladder, tmp_path)


@pytest.mark.soak
def test_run_is_estimated_first_exclusive_and_cleaned_up_when_killed(box: Box) -> None:
    measured.a_full_run_is_estimated_before_it_starts(box)
    measured.refused(box, "bench start --quick", "a benchmark is already running")
    measured.a_killed_run_leaves_nothing(box)


@pytest.mark.soak
def test_client_is_measured_over_both_transports(box: Box, client: Machine, rdma: None) -> None:
    address = CLIENT_ADDRESSES[0]
    measured.give_program(box, client)
    unreachable = measured.add(box, address, NO_TOKEN, check=False)
    assert "does not answer on port 8764" in unreachable.err
    with measured.thief(client, address), measured.listening(client, SERVER_ADDRESSES[0]) as token:
        other = measured.add(box, address, NO_TOKEN, check=False)
        assert (other.status, len(other.err.splitlines())) == (1, 1)
        assert f"client {address} uses a different token" in other.err
        measured.add(box, address, token)
        assert box.say("stat -c %a /var/lib/millrace/bench/tokens.json") == "600"
        made = measured.run(box, f"--layer L3 --client {address} --profile retinanet")
        assert measured.places(made) == {"L3/nfs-tcp", "L3/nfs-rdma"}
        assert {rung["target"] for rung in made["rungs"] if rung["state"] == "skipped"} == {"smb"}
        (trained, *_) = [rung for rung in made["rungs"] if rung["id"] == "L3/nfs-tcp/retinanet/train"]
        assert [accelerator["accelerator"] for accelerator in trained["accelerators"]] == ["B200"]
        assert trained["accelerators"][0]["au"] > 0
        measured.nothing_is_left(box)
        measured.a_killed_run_leaves_nothing_on_the_client(box, client, address)
    measured.refused(box, f"bench run --layer L3 --client {address}", "does not answer on port 8764")


def see_knees(box: Box, made: dict[str, Any], layer: str, **expected: str) -> None:
    """See the throughput of both loads over so many connections or addresses, in percent of the highest."""
    said = " ".join(box.millrace(f"bench show {made['id']}").out.split())
    for load in ("1 MiB reads", "4 KiB reads"):
        for over, numbers in expected.items():
            (line,) = [line for line in said.split(f"{layer}, ") if line.startswith(f"{load} over {over}: ")]
            assert [word.rstrip(":") for word in line.split() if word.endswith(":")][1:] == numbers.split()
            assert "100%" in line


@pytest.mark.soak
def test_load_over_more_and_more_connections(box: Box) -> None:
    """Each mount has as many as it is measured with; a run whose mount had others fails."""
    made = measured.run(box, "--layer L2 --profile connections")
    counts = [1, 2, 4, 8, 16, *(f"{number}-addresses" for number in (2, 4, 8))]
    assert measured.places(made) == {f"L2/nfs-tcp-{count}" for count in counts}
    see_knees(box, made, "L2", connections="1 2 4 8 16", addresses="1 2 4 8")
    measured.nothing_is_left(box)


@pytest.mark.soak
def test_client_is_measured_over_more_and_more_connections(box: Box, client: Machine) -> None:
    address = CLIENT_ADDRESSES[0]
    measured.give_program(box, client)
    with measured.listening(client, SERVER_ADDRESSES[0]) as token:
        measured.add(box, address, token)
        made = measured.run(box, f"--layer L3 --client {address} --profile connections")
    assert measured.places(made) == {f"L3/nfs-tcp-{count}" for count in (1, 2, 4, 8, 16)}
    see_knees(box, made, "L3", connections="1 2 4 8 16")
    measured.nothing_is_left(box)


@pytest.mark.soak
def test_result_measured_by_hand_is_imported(box: Box, client: Machine) -> None:
    measured.give_program(box, client)
    with mounted(client, "nfs-tcp") as where:
        taken = measured.by_hand(box, client, where)
    assert [(rung["id"], rung["state"]) for rung in taken["rungs"]] == [("L3/nfs-tcp/fsync/fsync", "done")]
    assert box.shown("bench list --json")["runs"][0]["id"] == taken["id"]


def test_run_on_a_read_only_pool_is_refused(box: Box) -> None:
    measured.a_read_only_pool_is_refused(box)
