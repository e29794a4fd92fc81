# SPDX-License-Identifier: Apache-2.0
"""Which drive may be erased: none that this server needs, none of others by mistake."""

import dataclasses

import pytest

from millrace.inventory.drive_tests import CANCELLED
from millrace.inventory.model import Drive, DriveState, Evidence
from millrace.inventory.surface import ERASE_INTERRUPTED, TEST_INTERRUPTED
from millrace.observe.drive.rows import row
from millrace.storage.array.live_model import MemberState
from millrace.storage.drive.facts import Contents, ServerFacts
from millrace.storage.erase.may_erase import check, confirm, fresh, intact
from millrace.storage.record.apart_record import Apart
from millrace.storage.record.erasure import INTERRUPTED, RUNNING
from millrace.system.errors import BadInput, Refused
from tests.fakes.samples import external_pool
from tests.unit.storage.drive.servers import ON_DISK, drive, examined, server

OURS = Contents(frozenset([ON_DISK["data"]]), millrace=True)
OTHER = Contents(frozenset(["deadbeef-0000-0000-0000-000000000000"]), millrace=True, other="GPT partition table")


def refused(facts: ServerFacts, now: Drive | None, serial: str = "X", foreign: bool = False) -> str:
    """Why a drive is not erased; an empty text where it may be."""
    known = fresh(facts, now) if now else facts
    try:
        check(known, row(known, serial), now, foreign)
    except Refused as refusal:
        return str(refusal)
    return ""


def probed(state: DriveState, probe: str, finding: str) -> Drive:
    return drive("X", state, evidence=[Evidence(probe=probe, finding=finding)])


@pytest.mark.parametrize("state", ["in-sync", "rebuilding", "spare", "faulty", "unknown"])
def test_member_is_refused_with_the_verb_that_takes_it_out(state: MemberState) -> None:
    verb = (
        "take it out first: millrace drive remove" if state == "spare" else "replace it first: millrace drive replace"
    )
    facts = server(states={"D1": state})
    assert refused(facts, examined("D1", DriveState.OURS, "Millrace partition"), "D1", foreign=True) == (
        f"drive D1 belongs to this pool (array data, {state}): {verb} D1; nothing was written"
    )


def test_member_that_md_has_by_hand_is_a_member_though_it_looks_blank() -> None:
    facts = server(drive("X"), states={"X": "in-sync"})
    assert "belongs to this pool" in refused(facts, examined("X", DriveState.BLANK), foreign=True)


def test_serial_number_in_a_command_is_quoted() -> None:
    odd = "D$(reboot) 1"
    facts = server(drive(odd), states={odd: "spare"})
    assert refused(facts, examined(odd, DriveState.OURS, "x"), odd).endswith(
        "millrace drive remove 'D$(reboot) 1'; nothing was written"
    )
    running = dataclasses.replace(server(drive(odd)), unfinished={odd: RUNNING})
    said = refused(running, examined(odd, DriveState.BLANK), odd)
    assert said.endswith("millrace drive show 'D$(reboot) 1'; nothing was written")


def test_drive_that_is_gone_is_named() -> None:
    assert refused(server(without=["D1"]), None, "D1", foreign=True).startswith("drive D1 is not in this server")


@pytest.mark.parametrize("states", [{"D1": "missing"}, {"D1": "rebuilding"}, {"D2": "faulty"}])
def test_returned_drive_is_kept_while_the_pool_may_need_it(states: dict[str, MemberState]) -> None:
    facts = server(drive("X"), contents={"X": OURS}, states=states)
    said = refused(facts, examined("X", DriveState.OURS, "Millrace partition"), foreign=True)
    assert "not complete and may need it: repair the pool first" in said
    assert not intact(facts)


def test_returned_drive_of_a_complete_pool_is_erased() -> None:
    facts = server(drive("X"), contents={"X": OURS})
    assert refused(facts, examined("X", DriveState.OURS, "Millrace partition")) == ""


def test_drive_of_a_pool_that_does_not_run_is_kept() -> None:
    facts = server(drive("X"), contents={"X": OURS}, runs=False)
    said = refused(facts, examined("X", DriveState.OURS, "Millrace partition"), foreign=True)
    assert "carries data of this pool (array data does not run): start the pool first: millrace assemble" in said


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("carries /", "is the boot drive (it carries /), which is never erased"),
        ("carries the EFI system partition that this boot came from", "is the boot drive"),
        ("carries /mnt/old", "carries /mnt/old: unmount it first: umount /mnt/old"),
        ("carries swap on /dev/sdb2", "carries swap on /dev/sdb2: end its use first with swapoff"),
    ],
)
def test_drive_that_this_system_uses_is_refused(what: str, words: str) -> None:
    assert words in refused(server(drive("X")), probed(DriveState.BOOT, "mounts", what), foreign=True)


@pytest.mark.parametrize(
    ("state", "probe", "finding", "words"),
    [
        (DriveState.FOREIGN, "holders", "X is in use by dm-0", "is in use (X is in use by dm-0)"),
        (DriveState.UNKNOWN, "exclusive open", "refused: busy", "is in use (refused: busy)"),
        (DriveState.UNKNOWN, "mounts", "no drive found under /", "cannot be told from the boot drive"),
        (DriveState.UNKNOWN, "identity", "2 drives have the wwid eui.X", "cannot be told from the boot drive"),
    ],
)
def test_drive_that_may_be_needed_is_refused_also_with_foreign(
    state: DriveState, probe: str, finding: str, words: str
) -> None:
    assert words in refused(server(drive("X")), probed(state, probe, finding), foreign=True)


def test_what_others_left_takes_foreign() -> None:
    facts = server(drive("X"))
    found = examined("X", DriveState.FOREIGN, "ZFS pool member")
    assert refused(facts, found) == (
        "drive X carries data of another system (ZFS pool member); to erase it nevertheless: "
        "millrace drive erase X --foreign; nothing was written"
    )
    assert refused(facts, found, foreign=True) == ""


def test_another_pool_takes_foreign_and_erasing_it_is_not_proposed() -> None:
    facts = server(drive("X"), contents={"X": OTHER})
    found = examined("X", DriveState.OURS, "Millrace partition")
    said = refused(facts, found)
    assert "put it back into its server" in said and "erase X" not in said
    assert refused(facts, found, foreign=True) == ""


def test_drive_that_could_not_be_examined_takes_foreign() -> None:
    facts = server(drive("X"))
    found = probed(DriveState.UNKNOWN, "blkid", "failed with status 1")
    assert "could not be examined (failed with status 1): check the drive and its slot" in refused(facts, found)
    assert refused(facts, found, foreign=True) == ""


def test_blank_drive_is_erased_as_only_its_ends_were_read() -> None:
    assert refused(server(drive("X")), examined("X", DriveState.BLANK)) == ""
    tiny = examined("X", DriveState.BLANK, size=4096)
    assert "has 4096 bytes only" in refused(server(drive("X", size=4096)), tiny)


def test_erase_that_did_not_end_is_run_again_without_foreign() -> None:
    facts = server(drive("X"))
    assert refused(facts, examined("X", DriveState.FOREIGN, ERASE_INTERRUPTED)) == ""
    broken = dataclasses.replace(facts, unfinished={"X": INTERRUPTED})
    assert refused(broken, examined("X", DriveState.FOREIGN, ERASE_INTERRUPTED)) == ""
    assert refused(broken, examined("X", DriveState.BLANK)) == ""
    running = dataclasses.replace(facts, unfinished={"X": f"{RUNNING}, 3 %"})
    assert "wait until that has ended" in refused(running, examined("X", DriveState.BLANK), foreign=True)


@pytest.mark.parametrize("unfinished", [{}, {"X": INTERRUPTED}, {"X": CANCELLED}])
@pytest.mark.parametrize("mark", [ERASE_INTERRUPTED, TEST_INTERRUPTED])
@pytest.mark.parametrize("marked", [True, False])
def test_data_that_came_after_an_erase_or_a_test_takes_foreign(
    unfinished: dict[str, str], mark: str, marked: bool
) -> None:
    facts = dataclasses.replace(server(drive("X")), unfinished=unfinished)
    there = [*([mark] if marked else []), "md superblock, metadata 1.2"]
    now = drive("X", DriveState.FOREIGN, evidence=[Evidence(probe="first", finding=one) for one in there])
    assert "data of another system (md superblock, metadata 1.2)" in refused(facts, now)
    assert refused(facts, now, foreign=True) == ""


@pytest.mark.parametrize("what", [INTERRUPTED, CANCELLED])
def test_pool_that_came_after_an_erase_or_a_test_is_kept(what: str) -> None:
    stranger = dataclasses.replace(server(drive("X"), contents={"X": OTHER}), unfinished={"X": what})
    found = examined("X", DriveState.OURS, "Millrace partition")
    assert "carries another Millrace pool" in refused(stranger, found)
    ours = dataclasses.replace(
        server(drive("X"), contents={"X": OURS}, states={"D1": "missing"}), unfinished={"X": what}
    )
    assert "carries data of this pool" in refused(ours, found, foreign=True)


def test_two_drives_with_one_serial_number_are_refused() -> None:
    facts = server(drive("X"), drive("X", name="nvme-twin"))
    with pytest.raises(Refused, match="2 drives have the serial number 'X'"):
        row(facts, "X")


def test_serial_number_is_repeated_exactly() -> None:
    confirm("S6XYZ123", "S6XYZ123")
    confirm("S6XYZ123", " S6XYZ123\n")
    for other in ("", "S6XYZ12", "s6xyz123", "\x1b[2J"):
        with pytest.raises(BadInput, match="nothing was written"):
            confirm("S6XYZ123", other)


def test_the_external_device_of_the_pool_is_never_erased() -> None:
    here = drive("VOL", DriveState.OURS, transport="virtio")
    contents = {"nvme-VOL": Contents(millrace=True)}
    facts = dataclasses.replace(
        server(), present=[here], contents=contents, pool=external_pool("VOL"), live=[], examined=[]
    )
    assert refused(facts, here, "VOL", foreign=True) == (
        "drive VOL is the external device of this pool (in-sync), which is never erased; nothing was written"
    )


@pytest.mark.parametrize(
    ("more", "first"),
    [
        ({}, "has changes that the pool lacks (ran without array data after it left it): copy what is needed from it"),
        (
            {"started": "2026-11-28T08:00:00+00:00"},
            "may have changes that the pool lacks (may be newer than array data, which was started without it on "
            "2026-11-28 08:00 UTC): keep it until the files are compared with a backup, or see --foreign",
        ),
    ],
)
def test_member_that_is_kept_apart_is_erased_only_as_a_foreign_drive(more: dict[str, str], first: str) -> None:
    one = Apart.model_validate({"array": "data", "serial": "D1", "partuuid": "p", "written": None, **more})
    known = server(drive("D1"), without=["D1"], contents={"D1": OURS})
    facts = dataclasses.replace(known, apart={"D1": one})
    now = examined("D1", DriveState.OURS, "Millrace partition")
    assert refused(facts, now, "D1").startswith(f"drive D1 {first}")
    assert refused(facts, now, "D1", foreign=True) == ""
