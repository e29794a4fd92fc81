# SPDX-License-Identifier: Apache-2.0
"""A drive has sectors it cannot read, which shows when another one is replaced: the damaged file is named.

The last stories of their server: they leave nothing that later ones could build on.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.vm.box import Box
from tests.vm.drives.conftest import EXPORT, FIVE, MD, new_drive

pytestmark = pytest.mark.soak

NEW = "MRU00000000001"
MEMBERS = len(FIVE.drives)
VICTIM, INTACT = f"{EXPORT}/unreadable", f"{EXPORT}/readable"
SECTOR, BLOCK = 512, 4096
# The block of the file: what md lists as lost of the rows beside it is of the same file.
MIDDLE = 4 << 20


class Place(NamedTuple):
    """The middle block of a file: the member that has it with its serial, and the sector of the whole drive."""

    member: str
    serial: str
    sector: int


def text(box: Box, path: str) -> str:
    return box.say(f"cat {path}")


def place_of(box: Box, path: str) -> Place:
    """Where the middle block of a file is (raid5.c, left-symmetric)."""
    match = re.search(r"0: \[0\.\.(\d+)\]:\s+(\d+)\.\.", box.say(f"xfs_io -r -c bmap {path}"))
    chunk = int(box.array_sysfs("data", "md/chunk_size")) // SECTOR
    # the rest of its row is of the file, too
    assert match and int(match[1]) >= MIDDLE // SECTOR + (MEMBERS - 1) * chunk
    number, inside = divmod(int(match[2]) + MIDDLE // SECTOR, chunk)
    row, disk = divmod(number, MEMBERS - 1)
    slot = (MEMBERS - 1 - row % MEMBERS + 1 + disk) % MEMBERS
    slots = dict(
        line.split() for line in box.say(f"cd {MD}; for d in dev-*; do echo $(cat $d/slot) $d; done").splitlines()
    )
    member = slots[str(slot)].removeprefix("dev-")
    serial = text(box, f"/sys/class/block/{member}/../device/serial")
    offset = int(text(box, f"{MD}/dev-{member}/offset")) + int(text(box, f"/sys/class/block/{member}/start"))
    return Place(member, serial, offset + row * chunk + inside)


def findings(box: Box) -> dict[str, Any]:
    return {one["key"]: one for one in box.shown("health --json")["findings"] if one["check"] == "arrays"}


def lost(box: Box) -> int:
    """Sectors of each member that are lost and in use, by what the page Storage shows."""
    (data,) = [one for one in box.shown("pool scrub status --json")["arrays"] if one["kept"]["array"] == "data"]
    return int(data["lost"])


@pytest.fixture(scope="module")
def bad(box: Box) -> Iterator[Place]:
    """A drive that cannot read a block of a file any more; another drive of its array was pulled before."""
    box.machine.wait_command("! grep -E 'resync|recovery|check' /proc/mdstat", "arrays in sync", 900)
    box.say(f"head -c 8M /dev/urandom > {VICTIM}; head -c 8M /dev/urandom > {INTACT}; sync -f {EXPORT}")
    box.say(f"sha256sum {VICTIM} {INTACT} > /run/files.sha256; cp {VICTIM} /run/copy")
    place = place_of(box, VICTIM)
    device = f"/dev/{place.member.partition('p')[0]}"
    same = f"dd if={device} bs={BLOCK} skip={place.sector * SECTOR // BLOCK} count=1 iflag=direct status=none"
    assert box.say(f"{same} | cmp -n {BLOCK} --ignore-initial=0:{MIDDLE} - {VICTIM} && echo same") == "same"
    dead = min(box.members_by_serial("data") - {place.serial})
    box.machine.pull(dead)
    box.machine.wait_command(f"grep -qx 1 {MD}/degraded", "the lost member", 120)
    box.machine.fail_reads(place.serial, [place.sector])
    assert box.machine.run(f"{same} > /dev/null", check=False).status
    box.machine.replace(dead, new_drive(NEW))
    box.wait_examined()
    done = box.machine.run(["millrace", "drive", "replace", dead, "--yes"], seconds=1200, check=False)
    print(done.out[-3000:], done.err, box.say("cat /proc/mdstat; journalctl -k -b -o cat | tail -n 30"))
    assert done.status == 0
    yield place


def test_rebuild_ends_and_the_damaged_file_is_named(box: Box, bad: Place) -> None:
    assert text(box, f"{MD}/degraded") == "0"
    # the rebuilt raid456 lists the sector itself
    rebuilt = box.say("test -e /sys/module/raid456/parameters/direct_degraded_reads && echo rebuilt; true")
    recorder = box.say("systemctl is-active millrace-unreadable.service; true")
    assert recorder == ("inactive" if rebuilt else "active")
    print(box.say(f"grep . {MD}/dev-*/bad_blocks"))
    lost = findings(box)["arrays/lost/data"]
    print(lost)
    assert lost["level"] == "FAIL" and bad.serial in lost["sentence"] and NEW in lost["sentence"]
    assert "millrace pool scrub files" in lost["todo"]
    named = box.shown("pool scrub files --json")
    assert (named["files"], named["complete"]) == (["data/unreadable"], True)


def test_other_files_are_equal_and_the_damaged_one_returns_an_error(box: Box, bad: Place) -> None:
    box.say("echo 3 > /proc/sys/vm/drop_caches")
    assert box.say(f"grep {INTACT} /run/files.sha256 | sha256sum --check --quiet && echo equal") == "equal"
    failed = box.machine.run(f"cat {VICTIM} > /dev/null", check=False)
    assert failed.status and "Input/output error" in failed.err
    assert box.say("touch /srv/pool/data/after && echo serves") == "serves"


def test_damaged_area_is_not_written_and_the_file_is_restored_beside_it(box: Box, bad: Place) -> None:
    # the drive has spare sectors for what is written; md does not write them
    box.machine.heal_reads(bad.serial)
    failed = box.machine.run(f"dd if=/run/copy of={VICTIM} bs=1M conv=notrunc,fsync status=none", check=False)
    assert failed.status and "Input/output error" in failed.err
    box.say(f"cp /run/copy {VICTIM}.restored; sync -f {EXPORT}; echo 3 > /proc/sys/vm/drop_caches")
    assert box.say(f"cmp /run/copy {VICTIM}.restored && echo equal") == "equal"
    todo = findings(box)["arrays/lost/data"]["todo"]
    assert "millrace pool scrub retire" in todo
    assert box.shown("pool scrub files --json")["files"] == ["data/unreadable"]


def test_area_is_retired_and_the_file_can_be_written_again(box: Box, bad: Place) -> None:
    print(box.say(f"xfs_io -r -c 'bmap -v' {VICTIM}; xfs_io -r -c 'fsmap' /srv/pool | tail -n 40"))
    assert lost(box) > 0
    survey = box.shown("pool scrub retire --dry-run --json")
    assert (survey["unreadable"], survey["retired"]) == (["data/unreadable"], 0)
    kept = box.millrace("pool scrub retire --yes")
    print(kept.out, kept.err)
    assert "data/unreadable: data are lost" in kept.err
    assert "arrays/lost/data" in findings(box)
    assert box.say(f"grep {INTACT} /run/files.sha256 | sha256sum --check --quiet && echo equal") == "equal"
    done = box.machine.run(["millrace", "pool", "scrub", "retire", "--zero-files", "--yes", "--json"])
    print(done.out, done.err, box.say("cat /var/lib/millrace/scrub.json; ls -l /srv/pool/.millrace/retired"))
    assert "read as zeros" in done.err
    assert "arrays/lost/data" not in findings(box)
    assert lost(box) == 0
    box.say("echo 3 > /proc/sys/vm/drop_caches")
    # of the new drive, too, the row could not be rebuilt: its chunk may be data of the file
    blocks = box.say(f"cmp -l {VICTIM} /run/copy | awk '{{ print int(($1 - 1) / {BLOCK}) }}' | sort -un").split()
    assert str(MIDDLE // BLOCK) in blocks and len(blocks) <= 2
    assert box.say(f"cmp -l {VICTIM} /run/copy | awk '$2 != 0' | wc -l") == "0"
    box.say(f"dd if=/run/copy of={VICTIM} bs=1M conv=notrunc,fsync status=none; echo 3 > /proc/sys/vm/drop_caches")
    assert box.say(f"cmp /run/copy {VICTIM} && echo restored") == "restored"
    assert box.shown("pool scrub files --json")["files"] == []
    again = box.machine.run(["millrace", "pool", "scrub", "retire", "--yes"])
    assert again.status == 0
    assert "arrays/lost/data" not in findings(box)
