# SPDX-License-Identifier: Apache-2.0
"""Names and orders that change between two boots do not change the plan."""

import random

import pytest

from millrace.inventory.model import Drive, DriveState, Inventory
from millrace.plan.model import Plan
from millrace.plan.policy.model import Policy
from millrace.plan.propose import propose
from tests.unit.plan.servers import GIB, drive, drives_1u12, drives_2u24, found, server


def digest(inventory: Inventory) -> str:
    proposal = propose(inventory, Policy())
    assert isinstance(proposal, Plan)
    return proposal.digest()


def rebooted(drives: list[Drive], seed: int) -> list[Drive]:
    """The kernel counts in another order."""
    shuffled = random.Random(seed).sample(drives, len(drives))
    return [one.model_copy(update={"name": f"nvme{number}n1"}) for number, one in enumerate(shuffled)]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("drives", [drives_1u12(), drives_2u24()], ids=["1u12", "2u24"])
def test_order_and_kernel_names_do_not_matter(drives: list[Drive], seed: int) -> None:
    assert digest(server(rebooted(drives, seed))) == digest(server(drives))


def test_no_kernel_name_is_in_the_plan() -> None:
    drives = [one.model_copy(update={"name": f"kernelname{one.serial}"}) for one in drives_2u24()]
    proposal = propose(server(drives, nodes=2), Policy())
    assert isinstance(proposal, Plan)
    assert "kernelname" not in proposal.model_dump_json()


def test_what_changes_between_boots_does_not_matter() -> None:
    before = server(drives_1u12())
    nic = before.nics[0].model_copy(update={"carrier": False, "speed": None, "rdma_device": None, "name": "eth0"})
    slow = [
        disk.model_copy(update={"link": disk.link.model_copy(update={"speed": 2.5})}) if disk.link else disk
        for disk in before.drives
    ]
    stick = drive(50, 16 * GIB, transport="usb", removable=True, **found(DriveState.FOREIGN, "FAT"))
    after = before.model_copy(
        update={
            "nics": [nic],
            "memory": before.memory - 3_000_000,
            "kernel": "7.2.13+deb14-amd64",
            "drives": [*slow, stick],
        }
    )
    assert digest(after) == digest(before)


@pytest.mark.parametrize(
    "change", [{"serial": "REPLACED"}, {"size": drives_1u12()[0].size - 10**9}, {"wwid": "eui.other"}]
)
def test_another_drive_is_another_plan(change: dict[str, object]) -> None:
    drives = drives_1u12()
    assert digest(server([drives[0].model_copy(update=change), *drives[1:]])) != digest(server(drives))
