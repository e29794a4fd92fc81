# SPDX-License-Identifier: Apache-2.0
"""Where a plan cannot be right there is none, and a person reads which drive, what was found and what to do."""

import pytest

from millrace.inventory.model import Drive, DriveState, PcieLink
from millrace.plan.model import Refusal
from millrace.plan.policy import Policy
from millrace.plan.propose import plan_file, propose
from tests.unit.plan.servers import DATA_SIZE, GIB, LOG_SIZE, drive, drives_1u12, found, server


def refused(drives: list[Drive]) -> Refusal:
    proposal = propose(server(drives), Policy())
    assert isinstance(proposal, Refusal)
    return proposal


def with_drive(number: int, **fields: object) -> list[Drive]:
    drives = drives_1u12()
    drives[number] = drives[number].model_copy(update=fields)
    return drives


def test_one_foreign_drive_stops_everything() -> None:
    refusal = refused(with_drive(3, **found(DriveState.FOREIGN, "LVM physical volume")))
    assert [obstacle.serial for obstacle in refusal.obstacles] == ["SN003"]
    assert refusal.obstacles[0].what == "The drive is foreign, not blank: LVM physical volume."
    assert "erase it" in refusal.obstacles[0].todo
    assert plan_file(refusal).sha256 is None
    assert all(entry.partitions == [] for entry in refusal.drives)


def test_a_log_drive_counts_too() -> None:
    assert refused(with_drive(11, **found(DriveState.FOREIGN, "GPT"))).obstacles[0].serial == "SN011"


def test_unknown_comes_before_foreign_and_ours() -> None:
    drives = drives_1u12()
    for number, state in ((1, DriveState.OURS), (2, DriveState.FOREIGN), (7, DriveState.UNKNOWN)):
        drives[number] = drives[number].model_copy(update=found(state, f"evidence {number}"))
    obstacles = refused(drives).obstacles
    assert [obstacle.serial for obstacle in obstacles] == ["SN007", "SN002", "SN001"]
    assert "evidence 7" in obstacles[0].what
    assert len({obstacle.todo for obstacle in obstacles}) == 3


def test_a_thirteenth_drive_with_data_is_not_ignored() -> None:
    refusal = refused([*drives_1u12(), drive(12, 3 * 10**12, **found(DriveState.FOREIGN, "XFS file system"))])
    assert refusal.obstacles[0].serial == "SN012"
    assert refusal.obstacles[1].serial is None


@pytest.mark.parametrize(
    ("drives", "words"),
    [
        ([drive(number) for number in range(7)], "7 NVMe drives (7 x 6.99 TiB)"),
        ([drive(number) for number in range(12)], "12 NVMe drives (12 x 6.99 TiB)"),
        (drives_1u12()[:11], "10 x 6.99 TiB, 1 x 894.25 GiB"),
        ([*drives_1u12()[:10], drive(10, 4 * DATA_SIZE), drive(11, 4 * DATA_SIZE)], "2 x 27.95 TiB"),
        ([*drives_1u12(), drive(12, LOG_SIZE)], "3 x 894.25 GiB"),
    ],
    ids=["seven", "no log drives", "one log drive", "larger log drives", "three log drives"],
)
def test_other_shapes_are_named_with_what_would_do(drives: list[Drive], words: str) -> None:
    obstacle = refused(drives).obstacles[0]
    assert words in obstacle.what
    assert "10 equal data drives and 2 clearly smaller log drives or 18 equal" in obstacle.todo


def test_a_server_without_nvme_drives() -> None:
    assert "no NVMe drives" in refused([drive(0, transport="sata"), drive(1, removable=True)]).obstacles[0].what


def test_mixed_sector_sizes() -> None:
    refusal = refused(with_drive(4, logical_block=4096))
    assert refusal.obstacles[0].what == (
        "The drives have different sector sizes: 11 with 512 bytes, 1 with 4096 bytes."
    )


@pytest.mark.parametrize(
    "fields",
    [{"rotational": True}, {"link": PcieLink(speed=8.0, width=2, max_speed=8.0, max_width=2)}],
    ids=["rotating", "slow link"],
)
def test_a_log_drive_slower_than_the_data(fields: dict[str, object]) -> None:
    refusal = refused(with_drive(10, **fields))
    assert [obstacle.serial for obstacle in refusal.obstacles] == ["SN010"]
    assert "slower" in refusal.obstacles[0].what


def test_a_log_drive_one_generation_older_is_good_enough() -> None:
    gen4 = PcieLink(speed=16.0, width=4, max_speed=16.0, max_width=4)
    assert not isinstance(propose(server(with_drive(10, link=gen4)), Policy()), Refusal)


def test_drives_that_are_too_small() -> None:
    refusal = refused(drives_1u12(GIB, 100 << 20))
    assert {obstacle.serial for obstacle in refusal.obstacles} == {"SN010", "SN011"}
    assert refusal.obstacles[0].what == "The drive holds 100 MiB."
