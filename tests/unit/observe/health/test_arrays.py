# SPDX-License-Identifier: Apache-2.0
"""Each thing that md knows about a member is a finding with the bay and the serial of the drive."""

import shutil
from datetime import date
from pathlib import Path

import pytest

from millrace.inventory.model import DriveState, Inventory
from millrace.observe.health.checks import arrays
from millrace.observe.health.collect import collect
from millrace.observe.health.host import Host
from millrace.observe.health.model import Level
from millrace.storage.array.live_arrays import live_arrays
from millrace.storage.assemble.standstill import StoppedArray, StoppedArrays
from millrace.storage.drive import drive_history
from millrace.storage.drive.drive_history import KnownDrive
from millrace.storage.record.model import MemberRecord, Pool, WaitingGrowth
from millrace.storage.record.scrub_record import ArrayScrub, RetiredRows, Scrubbed, change
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.run import Result
from tests.unit.observe.health.servers import host, place, sentences, serial, set_md, well
from tests.unit.storage.drive.servers import DATA, NEEDED, drive, examined, server
from tests.unit.tune.fake_sysfs import add_member, add_serial

FILES = "Show the damaged files: millrace pool scrub files"
REPLACE = "Replace the drive: millrace drive replace"
RESCUE = "If they do not come back: millrace pool rescue"
STARTING = Result(1, "starting\n", "")


@pytest.fixture
def serving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    well(tmp_path)
    return tmp_path


def lose(root: Path, device: str, *numbers: int) -> None:
    """The drives with these numbers are pulled."""
    for number in numbers:
        shutil.rmtree(root / f"sys/devices/virtual/{device}/md/dev-nvme{number}n1p1")
        (root / f"sys/block/nvme{number}n1").unlink()
    set_md(root, device, degraded=str(len(numbers)))


def with_spare(serial: str) -> None:
    """The pool was made with a hot spare of the array of the data."""
    pool = read_model(paths.pool_file(), Pool)
    spare = MemberRecord(serial=serial, wwid="", partuuid="", label="")
    data = pool.arrays[0].model_copy(update={"spares": [spare]})
    write_model(paths.pool_file(), pool.model_copy(update={"arrays": [data, *pool.arrays[1:]]}))


def behind_switches(*serials: str, other: str | None = "0000:81:00.0") -> None:
    """These drives of the pool were behind one PCIe switch at boot, the others behind another one."""
    inventory = read_model(paths.inventory_file(), Inventory)
    names = [serial(number) for number in range(12)]
    drives = [
        one.model_copy(update={"serial": name, "switch": "0000:41:00.0" if name in serials else other})
        for name, one in zip(names, [one for one in inventory.drives if one.state is not DriveState.BOOT], strict=True)
    ]
    boot = [one for one in inventory.drives if one.state is DriveState.BOOT]
    write_model(paths.inventory_file(), inventory.model_copy(update={"drives": [*drives, *boot]}))


@pytest.mark.parametrize(
    ("started", "sentence", "todo"),
    [
        (False, "its legs have grown, and 2 TB of them are used after the next restart", "systemctl reboot"),
        (True, "has grown, and the file system does not use 2 TB of it yet", "millrace pool grow"),
    ],
)
def test_growth_of_legs_that_waits_is_a_warning(serving: Path, started: bool, sentence: str, todo: str) -> None:
    pool = read_model(paths.pool_file(), Pool)
    # the file that md has of redundant arrays only
    top = pool.arrays[0].model_copy(
        update={"array": pool.arrays[0].array.model_copy(update={"level": "raid0", "over_arrays": True})}
    )
    growth = WaitingGrowth(array="data", gain=2 * 10**12, by="admin", started=started)
    write_model(paths.pool_file(), pool.model_copy(update={"arrays": [top, *pool.arrays[1:]], "growth": growth}))
    (found,) = [finding for finding in arrays.check(host()) if finding.kind == "growth"]
    assert found.level is Level.WARN and sentence in found.sentence and todo in (found.todo or "")


def test_missing_drives_behind_one_switch_are_named_with_it(serving: Path) -> None:
    behind_switches("D0", "D1", "D2")
    lose(serving, "md127", 2, 3)
    assert "drive D0, drive D1 are missing (all behind PCIe switch 0000:41:00.0); the next" in sentences(
        arrays.check(host())
    )


def test_switch_that_is_above_all_drives_or_above_some_of_the_missing_is_not_named(serving: Path) -> None:
    lose(serving, "md127", 2, 3)
    for behind, other in ([], "0000:41:00.0"), (["D0"], "0000:81:00.0"), ([], None):
        behind_switches(*behind, other=other)
        assert "drive D0, drive D1 are missing; the next" in sentences(arrays.check(host()))


def test_inventory_that_cannot_be_read_hides_no_missing_drive(serving: Path) -> None:
    lose(serving, "md127", 2, 3)
    paths.inventory_file().write_text("{")
    assert "drive D0, drive D1 are missing; the next" in sentences(arrays.check(host()))


def test_healthy_arrays_have_a_sentence_each(serving: Path) -> None:
    assert [(one.level, one.sentence) for one in arrays.check(host())] == [
        (Level.OK, "Array data (RAID6) is healthy."),
        (Level.OK, "Array log (RAID1) is healthy."),
    ]


def test_a_drive_that_this_boot_has_never_seen_is_named_by_its_last_bay(serving: Path) -> None:
    [gone] = [one for one in Host().drives if one.serial == "D3"]
    drive_history.save(
        drive_history.seen(drive_history.load(), [gone.model_copy(update={"bay": "4"})], {}, date(2026, 11, 1))
    )
    lose(serving, "md127", 5)
    assert "degraded: bay 4 (D3) is missing" in arrays.check(host())[0].sentence


def test_a_pulled_drive_is_named_by_bay_and_serial(serving: Path) -> None:
    place(serving, 5, "4")
    lose(serving, "md127", 5)
    found = arrays.check(host())[0]
    assert found.sentence == "Array data (RAID6) is degraded: bay 4 (D3) is missing; it survives 1 more failure."
    assert (found.level, found.todo) == (Level.WARN, "Replace the drive: millrace drive replace D3")


def test_without_redundancy_it_fails_and_names_all(serving: Path) -> None:
    lose(serving, "md127", 5, 6)
    found = arrays.check(host())[0]
    assert found.sentence == (
        "Array data (RAID6) is degraded: drive D3, drive D4 are missing; the next failure loses data."
    )
    assert (found.level, found.todo) == (Level.FAIL, "Replace the drives one by one, first: millrace drive replace D3")
    lose(serving, "md126", 1)
    assert "FAIL: Array log (RAID1) is degraded: drive L1 is missing" in sentences(arrays.check(host()))


def test_a_faulty_member_is_named_while_it_is_degraded_and_after(serving: Path) -> None:
    (serving / "sys/class/block/md127/md/dev-nvme5n1p1/state").write_text("faulty\n")
    set_md(serving, "md127", degraded="1")
    assert "is degraded: drive D3 is faulty; it survives 1 more" in sentences(arrays.check(host()))
    # a drive that was put in by hand took its place
    set_md(serving, "md127", degraded="0")
    assert f"WARN: Array data (RAID6) is healthy, and drive D3 is faulty. [{REPLACE} D3]" in (
        sentences(arrays.check(host()))
    )


def test_a_drive_that_failed_before_it_was_in_sync_is_taken_out(serving: Path) -> None:
    (serving / "sys/class/block/nvme50n1p1").symlink_to(serving / "sys/devices/nvme50n1/nvme50n1p1")
    (serving / "sys/devices/nvme50n1/nvme50n1p1").mkdir(parents=True)
    add_serial(serving, "nvme50n1", "N1")
    (serving / "sys/devices/nvme50n1/nvme50n1p1/partition").write_text("1\n")
    add_member(serving, "md127", "nvme50n1p1", state="faulty", slot="none")
    assert "drive N1 is faulty. [Take it out: millrace drive remove N1]" in sentences(arrays.check(host()))


def test_a_spare_that_took_over_leaves_none(serving: Path) -> None:
    with_spare("D99")
    found = sentences(arrays.check(host()))
    assert f"WARN: Array data (RAID6) is healthy with 0 of 1 hot spares: drive D99 is missing. [{REPLACE} D99]" in found


def test_a_spare_that_waits_is_healthy(serving: Path) -> None:
    with_spare("D9")
    pool = read_model(paths.pool_file(), Pool)
    data = pool.arrays[0]
    members = {"members": data.members[:9], "array": data.array.model_copy(update={"members": data.array.members[:9]})}
    write_model(
        paths.pool_file(), pool.model_copy(update={"arrays": [data.model_copy(update=members), *pool.arrays[1:]]})
    )
    member = serving / "sys/class/block/md127/md/dev-nvme11n1p1"
    (member / "state").write_text("spare\n")
    (member / "slot").write_text("none\n")
    assert {finding.level for finding in arrays.check(host())} == {Level.OK}


def test_a_rebuild_is_shown_and_needs_no_remedy(serving: Path) -> None:
    (serving / "sys/class/block/md127/md/dev-nvme5n1p1/state").write_text("spare\n")
    set_md(serving, "md127", degraded="1", sync_action="recover", sync_completed="250 / 1000", sync_speed="1000")
    finding = arrays.check(host())[0]
    assert finding.sentence.endswith("; rebuild at 25 %, 1.02 MB/s, 1 min left.") and finding.todo is None
    # and one that leaves another drive missing does
    lose(serving, "md127", 6)
    set_md(serving, "md127", degraded="2")
    finding = arrays.check(host())[0]
    assert finding.level is Level.FAIL and finding.todo == "Replace the drive: millrace drive replace D4"
    rebuild = "rebuild at 25 %, 1.02 MB/s, 1 min left."
    assert finding.sentence.endswith(f"drive D4 is missing; the next failure loses data; {rebuild}")


def test_the_first_synchronisation_is_all_right(serving: Path) -> None:
    set_md(serving, "md127", sync_action="resync", sync_completed="delayed")
    assert "OK: Array data (RAID6) is healthy; first synchronisation is waiting." in sentences(arrays.check(host()))


def test_command_of_a_remedy_takes_a_serial_number_with_a_blank(serving: Path) -> None:
    here = host()
    assert here.pool is not None
    [data, *others] = here.pool.arrays
    odd = MemberRecord(serial="S6 XYZ", wwid="", partuuid="", label="")
    here.pool = here.pool.model_copy(update={"arrays": [data.model_copy(update={"spares": [odd]}), *others]})
    assert here.replace("S6 XYZ") == f"{REPLACE} 'S6 XYZ'"


def test_a_blank_drive_in_the_bay_of_a_lost_one_is_proposed(serving: Path) -> None:
    lose(serving, "md127", 5, 6)
    here = host()
    here.refilled = {"D4": "4"}
    assert arrays.check(here)[0].todo == "A blank drive is in bay 4: millrace drive replace D4"


def test_only_a_blank_drive_that_is_large_enough_refills_a_bay(monkeypatch: pytest.MonkeyPatch) -> None:
    was = KnownDrive(serial="D1", model="", firmware="", size=DATA, bay="4", last_seen=date(2026, 11, 1))

    def refilled(size: int = DATA, bay: str = "4", state: DriveState = DriveState.BLANK) -> dict[str, str]:
        found = server(drive("N", bay=bay, size=size), without=["D1"], at_boot=[examined("N", state)], history=[was])
        monkeypatch.setattr("millrace.storage.drive.facts.facts", lambda: found)
        return Host().refilled

    assert refilled() == {"D1": "4"}
    assert refilled(size=NEEDED - 1) == refilled(bay="5") == refilled(state=DriveState.FOREIGN) == {}


def test_a_loss_that_no_member_explains_says_where_to_look(serving: Path) -> None:
    set_md(serving, "md127", degraded="1")
    found = arrays.check(host())[0]
    assert "1 of 10 members missing" in found.sentence
    assert found.todo == "Find the drive with millrace drive list, then: millrace drive replace SERIAL"


def test_a_list_of_bad_blocks_is_a_warning_with_the_drive(serving: Path) -> None:
    (serving / "sys/class/block/md127/md/dev-nvme5n1p1/bad_blocks").write_text("4096 8\n8192 16\n")
    text = sentences(arrays.check(host()))
    assert (
        f"WARN: Array data (RAID6): 2 areas of drive D3 cannot be read (bad-block list of md). [{REPLACE} D3]" in text
    )
    set_md(serving, "md127", degraded="2")
    text = sentences(arrays.check(host()))
    lost = "FAIL: Array data (RAID6): 2 areas cannot be read or rebuilt: drive D3 has bad blocks there. [" + FILES
    assert lost in text
    # a new drive in its place would be no remedy
    assert f"{REPLACE} D3" not in text


def test_rows_that_too_many_members_list_are_lost_and_lead_to_the_files(serving: Path) -> None:
    md = serving / "sys/class/block/md127/md"
    for number, (offset, listed) in enumerate([(0, "4096 8"), (2048, "6144 16\n16384 8"), (0, "4100 8")]):
        (md / f"dev-nvme{number + 3}n1p1/offset").write_text(f"{offset}\n")
        (md / f"dev-nvme{number + 3}n1p1/bad_blocks").write_text(f"{listed}\n")
    text = sentences(arrays.check(host()))
    drives = "drive D1, drive D2, drive D3 have bad blocks there."
    assert f"FAIL: Array data (RAID6): 1 area cannot be read or rebuilt: {drives} [{FILES}" in text
    # what is only on the list of one drive is rebuilt from the others
    assert f"WARN: Array data (RAID6): 1 area of drive D2 cannot be read (bad-block list of md). [{REPLACE} D2]" in text
    assert "of drive D1 cannot" not in text and "of drive D3 cannot" not in text


def test_area_that_is_retired_is_no_finding_and_the_rest_is(serving: Path) -> None:
    for number in range(3):
        (serving / f"sys/class/block/md127/md/dev-nvme{number + 3}n1p1/bad_blocks").write_text("16 8\n800 8\n")
    [data] = [one for one in read_model(paths.pool_file(), Pool).arrays if one.array.name == "data"]
    kept = ArrayScrub(array="data", uuid=data.uuid, retired=[RetiredRows(begin=16, end=24)])
    change(lambda old: old.having(kept))
    assert "1 area cannot be read or rebuilt" in sentences(arrays.check(host()))
    kept = kept.model_copy(update={"retired": [RetiredRows(begin=16, end=24), RetiredRows(begin=800, end=808)]})
    change(lambda old: old.having(kept))
    assert "cannot be read" not in sentences(arrays.check(host()))


def test_bad_blocks_of_the_whole_log_lead_to_its_drive(serving: Path) -> None:
    for number in range(2):
        (serving / f"sys/class/block/md126/md/dev-nvme{number}n1p1/bad_blocks").write_text("16 8\n")
    found = sentences(arrays.check(host()))
    lost = "FAIL: Array log (RAID1): 1 area cannot be read or rebuilt: drive L0, drive L1 have bad blocks there. "
    assert lost + f"[{REPLACE} L0]" in found


@pytest.mark.parametrize("device", ["md127", "md126"])
def test_mismatches_of_a_check_of_another_program_are_counted(serving: Path, device: str) -> None:
    set_md(serving, device, mismatch_cnt="4096", last_sync_action="check")
    [finding] = [one for one in arrays.check(host()) if one.level is Level.WARN]
    assert "a check found 4096 sectors that do not match; their place was not recorded" in finding.sentence
    assert finding.todo == "Check it to the end: millrace pool scrub start"
    set_md(serving, device, last_sync_action="repair")
    assert {one.level for one in arrays.check(host())} == {Level.OK}


def test_mismatches_that_are_recorded_are_a_finding_of_the_checks_only(serving: Path) -> None:
    at = "2026-11-22T01:00:00+00:00"
    last = Scrubbed(started=at, ended=at, bytes=1, seconds=1, mismatches=8, bad_areas=0)
    [data] = [one for one in read_model(paths.pool_file(), Pool).arrays if one.array.name == "data"]
    change(lambda old: old.having(ArrayScrub(array="data", uuid=data.uuid, last=last)))
    set_md(serving, "md127", mismatch_cnt="8", last_sync_action="check")
    assert {one.level for one in arrays.check(host())} == {Level.OK}


def test_array_that_is_read_only_stays_so_until_it_is_made_writable(serving: Path) -> None:
    set_md(serving, "md127", array_state="readonly")
    [finding] = [one for one in arrays.check(host()) if one.level is Level.FAIL]
    assert finding.sentence.endswith("is read-only.") and finding.todo is not None
    assert finding.todo.startswith("To make it writable: mdadm --readwrite /dev/md/millrace-data")


def test_a_missing_array_names_the_drives_that_are_not_there(serving: Path) -> None:
    (serving / "dev/md/millrace-log").unlink()
    assert "FAIL: Array log (RAID1) is missing. [" in sentences(arrays.check(host()))
    assert "WARN: Array log (RAID1) is missing" in sentences(arrays.check(host(running=STARTING)))
    (serving / "sys/block/nvme1n1").unlink()
    assert "FAIL: Array log (RAID1) is missing. Drive L1 is missing. [" in sentences(arrays.check(host()))
    assert RESCUE not in sentences(arrays.check(host()))


def test_rescue_is_named_where_no_drive_of_the_log_is_there(serving: Path) -> None:
    (serving / "dev/md/millrace-log").unlink()
    for number in range(2):
        (serving / f"sys/block/nvme{number}n1").unlink()
    [log] = [one for one in arrays.check(host()) if one.subject == "log"]
    assert log.sentence == "Array log (RAID1) is missing. Drive L0, drive L1 are missing."
    assert (log.todo or "").endswith(f"journalctl -u millrace-assemble. {RESCUE}")


@pytest.mark.parametrize("state", ["broken", "clean"])
def test_rescue_is_named_while_md_still_has_the_mirror(serving: Path, state: str) -> None:
    lose(serving, "md126", 0)
    (serving / "sys/class/block/nvme1n1p1").unlink()
    set_md(serving, "md126", array_state=state)
    [log] = [one for one in arrays.check(host()) if one.subject == "log"]
    assert (log.level, log.sentence) == (Level.FAIL, "Array log (RAID1) is broken: drive L0, drive L1 are missing.")
    again = "Put the missing drives back in. If the array does not start by itself then: millrace pool revive"
    assert log.todo == f"{again}. {RESCUE}"


def behind(root: Path, name: str, *serials: str, doubt: str | None = None) -> None:
    """What the assembly recorded of an array that does not run."""
    (record,) = [array for array in read_model(paths.pool_file(), Pool).arrays if array.array.name == name]
    stopped = StoppedArray(
        uuid=record.uuid,
        name=name,
        broken=False,
        present=[],
        behind=[*serials],
        current=False,
        proven=not doubt,
        doubt=doubt,
    )
    write_model(paths.stopped_file(), StoppedArrays(arrays=[stopped]))


@pytest.mark.parametrize(
    ("doubt", "said"), [(None, ""), ("it is not known which left last", "; it is not known which")]
)
def test_array_whose_drives_are_all_back_names_those_that_are_behind(
    serving: Path, doubt: str | None, said: str
) -> None:
    set_md(serving, "md127", array_state="broken")
    behind(serving, "data", "D0", "D1", "D2", doubt=doubt)
    finding = arrays.check(host())[0]
    assert finding.sentence.startswith(
        "Array data (RAID6) is broken: all drives are present, 3 of them are behind: drive D0, drive D1, drive D2"
        + said
    )
    assert (finding.level, finding.todo) == (Level.FAIL, "Start it: millrace pool revive")


def test_array_that_did_not_start_with_all_drives_there_is_not_missing_a_drive(serving: Path) -> None:
    (serving / "dev/md/millrace-data").unlink()
    behind(serving, "data", "D0")
    found = arrays.check(host())[0]
    assert found.sentence == ("Array data (RAID6) does not run: all drives are present, 1 of them is behind: drive D0.")
    assert found.todo == "Start it: millrace pool revive"


def test_rescue_is_no_remedy_for_an_array_of_the_data(serving: Path) -> None:
    set_md(serving, "md127", array_state="inactive")
    assert RESCUE not in sentences(arrays.check(host()))


def test_a_broken_mirror_names_both_drives_although_md_keeps_one(serving: Path) -> None:
    lose(serving, "md126", 0)
    (serving / "sys/class/block/nvme1n1p1").unlink()
    set_md(serving, "md126", array_state="broken")
    text = sentences(arrays.check(host()))
    assert "FAIL: Array log (RAID1) is broken: drive L0, drive L1 are missing. [" in text
    assert "does not start by itself then: millrace pool revive" in text
    pool = read_model(paths.pool_file(), Pool)
    assert [(member.serial, member.state) for member in live_arrays(pool, {})[1].members] == [
        ("L0", "missing"),
        ("L1", "missing"),
    ]


def test_a_drive_that_was_put_in_later_takes_the_place_of_another(serving: Path) -> None:
    lose(serving, "md127", 5)
    set_md(serving, "md127", degraded="0")
    (serving / "sys/class/block/nvme50n1p1").symlink_to(serving / "sys/devices/nvme5n1/nvme5n1p1")
    add_member(serving, "md127", "nvme50n1p1", slot="5")
    assert {one.level for one in arrays.check(host())} == {Level.OK}


def test_a_state_that_cannot_be_read_is_unknown_and_the_other_checks_go_on(serving: Path) -> None:
    (serving / "sys/class/block/md127/md/degraded").unlink()
    health = collect(host())
    assert [one.check for one in health.findings if one.level is Level.UNKNOWN] == ["arrays"]
    assert [one for one in health.findings if one.check == "cockpit"]
