# SPDX-License-Identifier: Apache-2.0
"""What a client is told to do, done as it stands: every workload over every protocol passes its own check."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.vm.box import CLIENT_ADDRESSES, Box
from tests.vm.roce import nfs_over_rdma
from tests.vm.shares.words import PASSWORD
from vm.agent import Result
from vm.machine import Machine

pytestmark = pytest.mark.usefixtures("models", "trunk")

# Of a workload over a protocol.
Recipe = Callable[[str, str], Result]

WORKLOADS = ("training", "checkpoint", "dataloader", "mixed", "kvcache")
# Lines of fstab and systemd units say the same; each is taken for half of the pairs.
WAYS = list(zip(WORKLOADS, ("fstab", "units", "fstab", "units", "fstab"), strict=True))
PROTOCOLS = ("nfs-tcp", "nfs-tcp-trunked", "nfs-rdma", "nfs-rdma-trunked", "smb-multichannel")
# The recipes of the other pairs are made of the same parts; that for GPUs is trunked, over RDMA and with units.
ALWAYS = {"training": ("nfs-tcp", "smb-multichannel"), "mixed": ("nfs-rdma",)}
RECIPES = [
    pytest.param(*way, protocol, marks=[] if protocol in ALWAYS.get(way[0], ()) else [pytest.mark.soak])
    for way in WAYS
    for protocol in PROTOCOLS
]


@pytest.fixture(scope="module")
def recipe(box: Box, client: Machine) -> Recipe:
    """What the server says for a pair, and a client that has RDMA and the two programs."""
    nfs_over_rdma(box.machine, client)
    box.give_check(client)
    client.run("cat > /run/apply.py", stdin=(Path(__file__).parent / "apply_recipe.py").read_text())
    ask = ["client", "recipe", "--share", "models", "--user", "anna", "--json"]
    return lambda workload, protocol: box.millrace([*ask, "--workload", workload, "--protocol", protocol], check=False)


@pytest.mark.parametrize(("workload", "way", "protocol"), RECIPES)
def test_recipe_applied_unchanged_passes_its_check(
    recipe: Recipe, client: Machine, workload: str, way: str, protocol: str
) -> None:
    said = recipe(workload, protocol)
    assert said.status == 0, said.err
    done = client.run(
        ["python3", "/run/apply.py", way, "/run/check.pyz", PASSWORD], stdin=said.out, check=False, seconds=600
    )
    assert done.status == 0, done.out + done.err


@pytest.mark.usefixtures("recipe")
def test_recipe_for_gpus_mounts_and_its_check_says_what_it_cannot_see(box: Box, client: Machine) -> None:
    chosen = f"--share models --gpu nvidia --client-address {CLIENT_ADDRESSES[0]}"
    said = box.millrace(f"client recipe {chosen} --json")
    made = json.loads(said.out)
    assert made["protocol"] == "nfs-rdma-trunked"
    assert CLIENT_ADDRESSES[0] in made["gpu"]["merge"][0]["text"]
    done = client.run(
        ["python3", "/run/apply.py", "units", "/run/check.pyz", PASSWORD], stdin=said.out, check=False, seconds=600
    )
    # the mount is as it should be; nothing is said of GPUs that are not there
    assert done.status == 1, done.out + done.err
    lines = [line for line in done.out.splitlines() if line.startswith(("FAIL", "WARN", "UNSEEN"))]
    assert lines[0].startswith("FAIL") and "is made by the CPU (rxe)" in lines[0], lines
    assert {line.split()[0] for line in lines[1:]} == {"UNSEEN"}, lines
    assert any("gpu: no GPU of NVIDIA on this client: drivers, distance and the direct path" in line for line in lines)


def test_smb_direct_is_refused_with_the_reason(recipe: Recipe) -> None:
    said = recipe("mixed", "smb-rdma")
    assert said.status == 1
    assert "SMB Direct" in said.err and "--protocol nfs-rdma" in said.err
    assert len(said.err.strip().splitlines()) == 1


# of a real run of DLIO: tests/recorded.toml
SUMMARY = (Path(__file__).parents[2] / "unit/measure/bench/summary.json").read_text()


def test_submission_describes_this_server_and_its_summary_comes_into_the_history(box: Box) -> None:
    made = box.shown("client mlperf --share models --client-memory 4G --model unet3d --json")
    assert "system_under_test.product_nodes[0].chassis.rack_units" in made["unknown"]
    (sheet,) = made["sheets"]
    # 500 steps of 7 volumes do not fit into a virtual server
    assert sheet["fits"] is False and any("Too large for the pool" in note["text"] for note in sheet["notes"])
    box.machine.run("cat > /run/summary.json", stdin=SUMMARY)
    taken = box.shown("bench import --model retinanet --accelerator b200 --json /run/summary.json")
    assert "imported" in taken["labels"] and round(taken["rungs"][0]["accelerators"][0]["au"], 2) == 39.01
    assert box.shown("bench list --json")["runs"][0]["id"] == taken["id"]
    box.machine.run("echo '{}' > /run/summary.json")
    refused = box.millrace("bench import --model unet3d --accelerator b200 /run/summary.json", check=False)
    assert refused.status == 2 and "no summary.json of mlpstorage 3.0" in refused.err
