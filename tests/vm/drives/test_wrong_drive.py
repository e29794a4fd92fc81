# SPDX-License-Identifier: Apache-2.0
"""A drive of a RAID6 returns wrong data: the check names drive and file, and a repair restores the file's content."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.vm.box import Box
from tests.vm.drives.conftest import EXPORT, FIVE, MD, serving
from tests.vm.drives.test_scrub import BLOCK, check_all, findings, scrubs, wait_checked
from vm.accel import Accel

# a server of its own, whose drives are two of five in redundancy
pytestmark = pytest.mark.soak

POLICY = '[layout]\nresilience = "double"\n'
MEMBERS = len(FIVE.drives)
DATA = MEMBERS - 2
VICTIM = f"{EXPORT}/victim"


@pytest.fixture(scope="module")
def box(image: Path, accelerator: Accel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    with serving(FIVE, image, accelerator, tmp_path_factory.mktemp("wrong"), policy=POLICY) as box:
        box.machine.wait_command("! grep -E 'resync|recovery' /proc/mdstat", "arrays in sync", 900)
        yield box


class Place(NamedTuple):
    """The first block of the file: the slots of its row, and the sector of each member."""

    data: int
    other: int
    p: int
    q: int
    sector: int


@pytest.fixture
def place(box: Box) -> Place:
    """A file that was written once (raid5.c, left-symmetric)."""
    box.say(f"rm -f {VICTIM}; head -c 8M /dev/urandom > {VICTIM}; sync {VICTIM}; sha256sum {VICTIM} > /run/sum")
    match = re.search(r"0: \[\d+\.\.\d+\]:\s+(\d+)\.\.", box.say(f"xfs_io -r -c bmap {VICTIM}"))
    assert match
    chunk = int(box.array_sysfs("data", "md/chunk_size")) // 512
    number, inside = divmod(int(match[1]), chunk)
    row, disk = divmod(number, DATA)
    p = MEMBERS - 1 - row % MEMBERS
    slots = [(p + 2 + column) % MEMBERS for column in range(DATA)]
    place = Place(slots[disk], slots[(disk + 1) % DATA], p, (p + 1) % MEMBERS, row * chunk + inside)
    # the drive has what the file has: the layout is right
    same = f"dd if=/dev/{member(box, place.data)} {at(box, place.data, place.sector)} iflag=direct status=none"
    same = same.replace("seek=", "skip=")
    assert box.say(f"{same} | cmp -n {BLOCK} - {VICTIM} && echo same") == "same"
    return place


def member(box: Box, slot: int) -> str:
    """The kernel's name of a member."""
    return box.say(f"for d in {MD}/dev-*; do grep -qx {slot} $d/slot && basename $d; done; true").removeprefix("dev-")


def serial(box: Box, slot: int) -> str:
    return box.say(f"cat /sys/class/block/{member(box, slot)}/../device/serial").strip()


def at(box: Box, slot: int, sector: int) -> str:
    offset = int(box.array_sysfs("data", f"md/dev-{member(box, slot)}/offset"))
    return f"bs={BLOCK} count=1 seek={(offset + sector) * 512 // BLOCK}"


def rot(box: Box, slot: int, sector: int) -> None:
    """A drive returns something else than it was given."""
    box.say(f"dd if=/dev/urandom of=/dev/{member(box, slot)} {at(box, slot, sector)} oflag=direct conv=notrunc")


def is_right(box: Box) -> bool:
    box.say("echo 3 > /proc/sys/vm/drop_caches")
    return box.machine.run("sha256sum --check --quiet /run/sum", check=False).status == 0


def last(box: Box) -> dict[str, Any]:
    return dict(scrubs(box)["data"]["last"])


def test_right_block_is_written_back_to_the_wrong_drive(box: Box, place: Place) -> None:
    assert check_all(box)["mismatches"] == 0
    wrong = serial(box, place.data)
    rot(box, place.data, place.sector)
    assert not is_right(box)
    scrubbed = check_all(box)
    print(scrubbed, box.millrace("pool scrub status").out)
    (located,) = scrubbed["located"]
    assert (located["serial"], located["begin"], scrubbed["unlocated"]) == (wrong, place.sector, "")
    # exactly the file, and not what else is in the row
    assert box.shown("pool scrub files --json")["files"] == ["data/victim"]
    doubt = "millrace pool scrub status | grep -F 'in doubt: data/victim'"
    box.machine.wait_command(doubt, "the search for files", 300)
    finding = findings(box)["scrub/mismatch/data"]
    assert wrong in finding["sentence"] and "data/victim" in finding["sentence"]
    assert "from the other drives" in finding["todo"]
    # nothing was changed since the check before: no choice is asked for
    said = box.millrace("pool scrub repair data --yes")
    print(said.out, said.err)
    wait_checked(box)
    print(box.say("journalctl -b -o cat -u millrace-scrub.service; cat /var/lib/millrace/scrub.json"))
    repaired = scrubs(box)["data"]["repaired"]
    assert (repaired["restored"], repaired["left"]) == (BLOCK // 512, 0)
    assert is_right(box)
    assert box.say(f"cat {MD}/suspend_lo {MD}/suspend_hi").split() == ["0", "0"]
    assert check_all(box)["mismatches"] == 0
    assert findings(box)["scrub"]["level"] == "OK" and is_right(box)
    kept = box.say("stat -c '%a %s' /var/lib/millrace/scrub-replaced/*").split()
    assert kept == ["600", str(BLOCK)]


def test_file_that_changed_meanwhile_wants_a_decision(box: Box, place: Place) -> None:
    rot(box, place.data, place.sector)
    assert len(check_all(box)["located"]) == 1
    refused = box.millrace("pool scrub repair data --yes", check=False)
    assert refused.status == 1 and "--keep-data" in refused.err and "data/victim" in refused.err
    box.millrace("pool scrub repair data --yes --write-back")
    wait_checked(box)
    assert scrubs(box)["data"]["repaired"]["left"] == 0 and is_right(box)


def test_wrong_parity_is_restored_and_names_no_file(box: Box, place: Place) -> None:
    for slot in (place.p, place.q):
        rot(box, slot, place.sector)
        (located,) = check_all(box)["located"]
        assert (located["serial"], located["data"]) == (serial(box, slot), None)
        assert box.shown("pool scrub files --json")["files"] == []
        box.millrace("pool scrub repair data --yes")
        wait_checked(box)
        assert scrubs(box)["data"]["repaired"]["restored"] == BLOCK // 512 and is_right(box)
        assert check_all(box)["mismatches"] == 0


def test_two_wrong_drives_are_not_located(box: Box, place: Place) -> None:
    rot(box, place.data, place.sector)
    rot(box, place.other, place.sector)
    assert [blocks["serial"] for blocks in check_all(box)["located"]] == [None]
    assert "more than one drive is wrong there" in box.millrace("pool scrub status").out
    assert "data/victim" in box.shown("pool scrub files --json")["files"]
    said = box.millrace("pool scrub repair data --yes")
    assert "parities are computed from the data as they are" in said.err
    wait_checked(box)
    repaired = scrubs(box)["data"]["repaired"]
    assert (repaired["restored"], repaired["left"]) == (0, 0) and not is_right(box)


def test_writes_go_on_after_the_service_was_killed(box: Box) -> None:
    box.say(f"echo 384 > {MD}/suspend_lo; echo 768 > {MD}/suspend_hi")
    # Python takes longer to start
    box.say("systemctl start millrace-scrub.service; systemctl kill --signal=KILL millrace-scrub.service")
    box.machine.wait_command(f"test $(cat {MD}/suspend_lo {MD}/suspend_hi | tr -d '\\n') = 00", "writes", 120)
    assert box.say("systemctl show --property=Result --value millrace-scrub.service") == "signal"
    box.say("systemctl reset-failed millrace-scrub.service")
