# SPDX-License-Identifier: Apache-2.0
"""A refusal names each drive, what was found on it and what to do."""

import re

import pytest

from millrace.inventory.collect import mark_duplicates
from millrace.inventory.model import Drive, DriveState, Evidence, PcieLink
from millrace.plan.model import Plan, PlanObstacle, Refusal
from millrace.plan.policy.model import DrivesPolicy, Policy
from millrace.plan.propose import plan_file, propose
from millrace.plan.text import lines
from tests.unit.plan.servers import GIB, LOG_SIZE, boot_drive, drive, drives_1u12, found, server


def refused(drives: list[Drive]) -> Refusal:
    proposal = propose(server(drives), Policy())
    assert isinstance(proposal, Refusal)
    return proposal


def serials(obstacle: PlanObstacle) -> list[str]:
    return [one.serial for one in obstacle.drives]


def with_drive(number: int, **fields: object) -> list[Drive]:
    drives = drives_1u12()
    drives[number] = drives[number].model_copy(update=fields)
    return drives


def test_one_foreign_drive_stops_everything() -> None:
    refusal = refused(with_drive(3, **found(DriveState.FOREIGN, "LVM physical volume")))
    assert serials(refusal.obstacles[0]) == ["SN003"]
    assert refusal.obstacles[0].what == "The drive is foreign, not blank: LVM physical volume."
    assert "erase the drive" in refusal.obstacles[0].todo
    assert plan_file(refusal).sha256 is None
    assert all(entry.partitions == [] for entry in refusal.drives)


def test_a_log_drive_counts_too() -> None:
    assert refused(with_drive(11, **found(DriveState.FOREIGN, "GPT"))).obstacles[0].drives[0].serial == "SN011"


def test_unknown_comes_before_foreign_and_ours() -> None:
    drives = drives_1u12()
    for number, state in ((1, DriveState.OURS), (2, DriveState.FOREIGN), (7, DriveState.UNKNOWN)):
        drives[number] = drives[number].model_copy(update=found(state, f"evidence {number}"))
    obstacles = refused(drives).obstacles
    assert [serials(obstacle) for obstacle in obstacles] == [["SN007"], ["SN002"], ["SN001"]]
    assert "evidence 7" in obstacles[0].what
    assert len({obstacle.todo for obstacle in obstacles}) == 3


def test_drives_of_another_pool_are_one_obstacle_that_says_not_to_erase_them() -> None:
    """A new boot drive knows nothing of the pool: whatever it says must keep the pool alive."""
    drives = [
        disk.model_copy(
            update={**found(DriveState.OURS, f"Millrace partition millrace-data-{n:02}"), "bay": str(n + 1)}
        )
        for n, disk in enumerate(drives_1u12()[:12])
    ]
    by_hand = drive(
        20, slot="7", **found(DriveState.FOREIGN, "md superblock, metadata 1.2, raid6, array millrace:millrace-data")
    )
    refusal = refused([*drives, by_hand, boot_drive()])
    (obstacle,) = refusal.obstacles
    assert obstacle.what.startswith("13 drives belong to another Millrace pool: do not erase them. Arrays: ")
    assert obstacle.what.endswith("Arrays: millrace-data (1 drive).")
    names = [name.words for name in obstacle.drives]
    assert names[:2] == ["bay 1, nvme0n1, SN000", "bay 2, nvme1n1, SN001"]
    assert names[-1] == "slot 7, nvme20n1, SN020"
    assert obstacle.todo.startswith(
        "Keep them unchanged. `millrace pool find` shows the pool, `millrace pool adopt` brings"
    )
    reasons = {entry.reason for entry in refusal.drives if entry.serial != "BOOT"}
    assert reasons == {"Belongs to another Millrace pool: do not erase it."}


def test_another_pool_is_named_by_its_arrays_and_their_uuids() -> None:
    """Two servers' drives in one chassis: which drives belong together is a matter of these numbers."""
    data, log = "5d1b2f3c:7a664c0e:9a530b6f:1c2d3e4f", "aaaaaaaa:bbbbbbbb:cccccccc:dddddddd"
    other = "00000001:00000002:00000003:00000004"
    drives = drives_1u12()
    carried = [
        # partitions of ours, as udev read them
        (DriveState.OURS, "md superblock, array millrace:millrace-data, UUID 5d1b2f3c-7a66-4c0e-9a53-0b6f1c2d3e4f"),
        (DriveState.OURS, f"md superblock, array millrace:millrace-data, UUID {data}"),
        # a member without a partition, as mdadm and blkid name it
        (DriveState.FOREIGN, f"md superblock, metadata 1.2, raid1, array millrace:millrace-log, UUID {log}"),
        (DriveState.FOREIGN, "Linux md RAID member (version 1.2, label millrace:millrace-log)"),
        (DriveState.OURS, f"md superblock, array millrace:millrace-data, UUID {other}"),
    ]
    for number, (state, evidence) in enumerate(carried):
        drives[number] = drives[number].model_copy(update=found(state, evidence))
    (obstacle,) = refused(drives).obstacles
    assert obstacle.what.endswith(
        f"Arrays: millrace-data (UUID {other}, 1 drive), millrace-data (UUID {data}, 2 drives), "
        f"millrace-log (UUID {log}, 1 drive)."
    )


@pytest.mark.parametrize(
    ("state", "evidence"),
    [
        (DriveState.OURS, "Millrace partition millrace-log-00, millrace-data-00"),
        (DriveState.FOREIGN, "partition 1 'millrace-data-03': Linux md RAID member"),
        (DriveState.FOREIGN, "Linux md RAID member (version 1.2, label millrace:millrace-leg0, UUID 1234)"),
        (DriveState.FOREIGN, "md superblock, metadata 1.2, raid6, array millrace:millrace-data"),
    ],
)
@pytest.mark.parametrize("sectors", [512, 4096])
def test_no_sentence_leads_to_erasing_a_drive_of_a_pool(state: DriveState, evidence: str, sectors: int) -> None:
    refusal = refused(with_drive(3, logical_block=sectors, **found(state, evidence)))
    said = [text for one in refusal.obstacles for text in (one.what, one.todo)]
    said += [one.reason for one in refusal.drives]
    assert serials(refusal.obstacles[0]) == ["SN003"]
    assert refusal.obstacles[0].what.startswith("Belongs to another Millrace pool: do not erase it.")
    for text in said:
        assert not re.search(r"(?<!do not )\b(erase|format|wipe)", text, re.IGNORECASE), text


def test_a_thirteenth_drive_with_data_is_not_ignored() -> None:
    refusal = refused([*drives_1u12(), drive(12, 3 * 10**12, **found(DriveState.FOREIGN, "XFS file system"))])
    assert serials(refusal.obstacles[0]) == ["SN012"]


def test_a_server_without_nvme_drives() -> None:
    assert "no NVMe drives" in refused([drive(0, transport="sata"), drive(1, removable=True)]).obstacles[0].what


def test_a_data_drive_with_other_sectors_is_to_be_formatted_or_left_out() -> None:
    obstacle = refused(with_drive(4, logical_block=4096)).obstacles[0]
    assert obstacle.what == ("Drives of 7.68 TB have different sector sizes: 9 with 512 bytes, 1 with 4096 bytes.")
    assert serials(obstacle) == ["SN004"]
    assert "nvme format" in obstacle.todo and "exclude" in obstacle.todo


def test_log_drives_may_have_other_sectors_than_data_drives() -> None:
    drives = [*drives_1u12()[:10], *(drive(number, LOG_SIZE, logical_block=4096) for number in (10, 11))]
    assert not isinstance(propose(server(drives), Policy()), Refusal)


@pytest.mark.parametrize("number", [3, 10], ids=["data", "log"])
def test_two_drives_of_one_serial_could_be_taken_for_each_other(number: int) -> None:
    refusal = refused(with_drive(number, serial="SN007"))
    assert serials(refusal.obstacles[0]) == ["SN007", "SN007"]
    assert "2 drives report the serial number SN007" in refusal.obstacles[0].what


def test_a_namespace_beside_the_running_system_could_be_taken_for_it() -> None:
    system = drive(50, transport="nvme", serial="SN007", **found(DriveState.BOOT, "carries /"))
    assert "2 drives report" in refused([*drives_1u12(), system]).obstacles[0].what


def test_a_drive_that_does_not_say_who_it_is() -> None:
    assert "no serial number" in refused(with_drive(3, serial="")).obstacles[0].what


def test_a_typing_error_in_the_policy_puts_no_drive_into_the_pool() -> None:
    proposal = propose(server(drives_1u12()), Policy(drives=DrivesPolicy(exclude=["SN0O3"])))
    assert isinstance(proposal, Refusal)
    assert proposal.obstacles[0].drives == []
    assert "no drive has the serial SN0O3" in proposal.obstacles[0].what


@pytest.mark.parametrize(
    "fields",
    [{"rotational": True}, {"link": PcieLink(speed=8.0, width=2, max_speed=8.0, max_width=2)}],
    ids=["rotating", "slow link"],
)
def test_a_log_drive_slower_than_the_data(fields: dict[str, object]) -> None:
    refusal = refused(with_drive(10, **fields))
    assert [serials(obstacle) for obstacle in refusal.obstacles] == [["SN010"]]
    assert "slower" in refusal.obstacles[0].what


def test_a_slow_third_small_drive_is_left_alone() -> None:
    drives = [*drives_1u12(), drive(12, LOG_SIZE, serial="A", rotational=True)]
    proposal = propose(server(drives), Policy())
    assert isinstance(proposal, Plan)
    assert next(array.members for array in proposal.arrays if array.name == "log") == ["SN010", "SN011"]


def test_a_log_drive_one_generation_older_is_good_enough() -> None:
    gen4 = PcieLink(speed=16.0, width=4, max_speed=16.0, max_width=4)
    assert not isinstance(propose(server(with_drive(10, link=gen4)), Policy()), Refusal)


def test_drives_that_are_too_small() -> None:
    refusal = refused(drives_1u12(GIB, 100 << 20))
    assert [serials(obstacle) for obstacle in refusal.obstacles] == [["SN010", "SN011"]]
    assert refusal.obstacles[0].what == "The drive is too small: 105 MB."


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"critical_warning": 1 << 0}, "spare is below its threshold"),
        ({"critical_warning": 1 << 2}, "degraded its reliability"),
        ({"critical_warning": 1 << 3}, "read-only mode"),
        ({"critical_warning": 1 << 4}, "power-loss protection"),
        ({"critical_warning": 1 << 5}, "persistent memory region"),
        ({"critical_warning": 0xFF, "wear": 255}, "read-only mode"),
        ({"available_spare": 3, "spare_threshold": 10}, "3 %, below its threshold of 10 %"),
    ],
)
@pytest.mark.parametrize("number", [3, 10], ids=["data", "log"])
def test_a_drive_that_is_failing_is_not_built_on(said: dict[str, int], words: str, number: int) -> None:
    (obstacle,) = refused(with_drive(number, bay="7", **said)).obstacles
    assert words in obstacle.what
    assert [one.words for one in obstacle.drives] == [f"bay 7, nvme{number}n1, SN{number:03}"]
    assert "Replace or remove the drive" in obstacle.todo and "exclude" in obstacle.todo


def test_a_failing_drive_that_the_policy_excludes_does_not_stop_the_others() -> None:
    policy = Policy(drives=DrivesPolicy(exclude=["SN003"]))
    proposal = propose(server(with_drive(3, critical_warning=8)), policy)
    assert isinstance(proposal, Plan)
    assert "SN003" not in {serial for array in proposal.arrays for serial in (*array.members, *array.spares)}


def test_a_hot_or_worn_drive_is_used() -> None:
    assert isinstance(propose(server(with_drive(3, critical_warning=2, temperature=84, wear=97)), Policy()), Plan)


def test_ten_drives_of_one_serial_number_are_one_row_that_names_each() -> None:
    drives = mark_duplicates(
        [one.model_copy(update={"serial": "BRIDGE", "slot": str(n)}) for n, one in enumerate(drives_1u12()[:10])]
    )
    (obstacle,) = refused(drives).obstacles
    assert obstacle.what.startswith("10 drives report the serial number BRIDGE")
    assert [one.words for one in obstacle.drives] == [f"slot {n}, nvme{n}n1, BRIDGE" for n in range(10)]
    assert "respond" not in obstacle.todo
    shown = "\n".join(lines(plan_file(refused(drives))))
    assert all(f"slot {n}, nvme{n}n1, BRIDGE" in " ".join(shown.split()) for n in range(10))


def test_a_shared_serial_number_hides_nothing_that_is_on_one_of_the_drives() -> None:
    drives = with_drive(1, serial="SN000", evidence=[Evidence(probe="blkid", finding="XFS file system")])
    obstacles = refused(mark_duplicates(drives)).obstacles
    assert [one.what.partition(":")[0] for one in obstacles] == [
        "The drive is foreign, not blank",
        "2 drives report the serial number SN000",
    ]
    ours = with_drive(1, serial="SN000", evidence=[Evidence(probe="partitions", finding="Millrace partition x")])
    first = refused(mark_duplicates(ours)).obstacles[0]
    assert "do not erase" in first.what


def test_drives_of_one_wwid_are_one_row() -> None:
    drives = mark_duplicates(with_drive(1, wwid="eui.0000000000000000"))
    (obstacle,) = refused(drives).obstacles
    assert obstacle.what == "2 drives report the wwid eui.0000000000000000."
    assert serials(obstacle) == ["SN000", "SN001"]


@pytest.mark.parametrize(
    ("probe", "finding", "todo"),
    [
        ("exclusive open", "refused: Device or resource busy", "End its use"),
        ("mounts", "the boot drive is not known", "Correct that first"),
        ("read", "cannot be read: Input/output error", "Check why the drive does not respond"),
    ],
)
def test_each_reason_of_an_unknown_drive_has_its_remedy(probe: str, finding: str, todo: str) -> None:
    drives = drives_1u12()
    for number in (3, 4):
        fields = {"state": DriveState.UNKNOWN, "evidence": [Evidence(probe=probe, finding=finding)]}
        drives[number] = drives[number].model_copy(update=fields)
    (obstacle,) = refused(drives).obstacles
    assert obstacle.todo.startswith(todo)
    assert serials(obstacle) == ["SN003", "SN004"]


def test_a_drive_whose_erase_was_interrupted_is_to_be_erased_again() -> None:
    (obstacle,) = refused(with_drive(3, **found(DriveState.FOREIGN, "mark of an erase that was interrupted"))).obstacles
    assert "millrace drive erase" in obstacle.todo
