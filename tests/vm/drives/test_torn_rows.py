# SPDX-License-Identifier: Apache-2.0
"""The power goes while a degraded array is written: the old file whose missing chunk was in a torn row is named."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.vm.box import Box
from tests.vm.drives.conftest import EXPORT, FIVE, MD, serving
from vm.accel import Accel

# minutes of a server of its own
pytestmark = pytest.mark.soak

ARRAY = "/dev/md/millrace-data"
MEMBERS = len(FIVE.drives)
BLOCK, CHUNK = 4096, 128
"""Bytes; sectors, as planned."""
ROWS = 8
"""Rows in which each chunk is a file of its own."""
WRITER = f"while :; do echo x >> {EXPORT}/log-of-work; sync {EXPORT}/log-of-work; done"


@pytest.fixture(scope="module")
def six(image: Path, accelerator: Accel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    directory = tmp_path_factory.mktemp("torn")
    with serving(FIVE, image, accelerator, directory, policy='[layout]\nlevel = "raid6"\n') as box:
        yield box


def wait_whole(box: Box) -> None:
    box.machine.wait_command(f"grep -qx 0 {MD}/degraded && grep -qx idle {MD}/sync_action", "members in sync", 1800)


def member(box: Box, slot: int) -> str:
    return box.say(f"for d in {MD}/dev-*; do grep -qx {slot} $d/slot && basename $d; done; true").removeprefix("dev-")


def place(number: int) -> tuple[int, int, int]:
    """Stripe and slot of a chunk of a left-symmetric RAID6, and the slot of its P (raid5.c)."""
    stripe, column = divmod(number, MEMBERS - 2)
    parity = MEMBERS - 1 - stripe % MEMBERS
    return stripe, (parity + 2 + column) % MEMBERS, parity


def small_files(box: Box) -> dict[str, int]:
    """Files of one chunk each, with the number of this chunk; XFS places a file of a row on a row."""
    data = MEMBERS - 2
    names = [f"small{number}" for number in range(ROWS * data)]
    for row in range(ROWS):
        parts = [f"reflink row {column << 16} 0 65536' small{row * data + column}" for column in range(data)]
        split = "; ".join(f"xfs_io -f -c '{part}" for part in parts)
        box.say(f"cd {EXPORT} && head -c {data << 16} /dev/urandom > row && sync row && {split}; rm row")
    # log replay after the cut is not to write them again
    box.say("sync; xfs_freeze -f /srv/pool; xfs_freeze -u /srv/pool")
    shown = box.say(f"cd {EXPORT} && for n in {' '.join(names)}; do echo $n; xfs_io -r -c bmap $n; done")
    matches = re.findall(r"(small\d+)\nsmall\d+:\n\s+0: \[0\.\.127\]: (\d+)\.\.", shown)
    return {name: int(begin) // CHUNK for name, begin in matches if int(begin) % CHUNK == 0}


def pair(files: dict[str, int], away: set[int]) -> tuple[str, str]:
    """A file whose chunk is on a slot that is away, and one in the same stripe whose chunk is there."""
    for old, number in files.items():
        for new, other in files.items():
            (stripe, slot, _), (same, there, _) = place(number), place(other)
            if stripe == same and slot in away and there not in away:
                return old, new
    raise AssertionError(f"no two files share a stripe so: {files}")


def tear(box: Box, files: dict[str, int], name: str) -> None:
    """Let half of a write arrive: data of the file's chunk, and no parity."""
    stripe, slot, _ = place(files[name])
    there = member(box, slot)
    at = (int(box.array_sysfs("data", f"md/dev-{there}/offset")) + stripe * CHUNK) * 512 // BLOCK
    box.say(f"dd if=/dev/urandom of=/dev/{there} bs={BLOCK} count=1 seek={at} oflag=direct conv=notrunc")


def lose(box: Box, *slots: int) -> None:
    for slot in slots:
        gone = member(box, slot)
        box.say(f"mdadm {ARRAY} --fail /dev/{gone}")
        box.machine.wait_command(f"mdadm {ARRAY} --remove /dev/{gone}", "md to let go of it", 60)


def cut_while_written(box: Box) -> None:
    # for md the array is clean otherwise when a busy host lets the writer wait for 200 ms
    box.say(f"echo 60 > {MD}/safe_mode_delay; systemd-run --unit=work sh -c '{WRITER}'")
    box.machine.wait_command(f"test $(wc -l < {EXPORT}/log-of-work) -ge 20", "writes", 300)
    assert box.array_sysfs("data", "md/array_state") in {"active", "write-pending"}
    box.machine.power_cut()
    box.machine.start()
    box.machine.wait_agent()
    box.wait_serving()


def searched(box: Box) -> dict[str, Any]:
    """What `pool unclean` shows at the end of the search, printed for whoever reads the run."""
    ended = "systemctl show -P ActiveState millrace-unclean.service | grep -qxE 'inactive|failed'"
    box.machine.wait_command(f"grep -q '\"count\"' /var/lib/millrace/unclean.json && {ended}", "the search", 900)
    print(box.say("journalctl -b -o cat -u millrace-assemble -u millrace-unclean -u millrace-readd; cat /proc/mdstat"))
    print(box.say("cat /var/lib/millrace/unclean.json; journalctl -b -k -o cat | grep 'md[0-9]*:' | tail -30"))
    shown = box.millrace("pool unclean")
    print(shown.out, shown.err)
    job = box.shown("job show unclean --json")
    assert (job["state"], job["by"], job["cancellable"]) == ("done", "the server", False)
    return dict(box.shown("pool unclean --json"))


def test_old_file_in_a_torn_row_is_told_by_parity(six: Box) -> None:
    wait_whole(six)
    files = small_files(six)
    away = place(next(iter(files.values())))[1]
    old, new = pair(files, {away})
    before = six.say(f"sha256sum < {EXPORT}/{old}")
    six.say(f"touch -d '2020-01-01' {EXPORT}/{old}")
    lose(six, away)
    six.say("echo 3 > /proc/sys/vm/drop_caches")
    tear(six, files, new)
    cut_while_written(six)
    unclean = searched(six)
    (start,) = unclean["starts"]
    assert (start["check"], start["rough"], start["slots"]) == ("done", False, [away])
    torn = [(row["begin"], row["end"]) for row in start["torn"]]
    begin = place(files[new])[0] * CHUNK
    assert any(first <= begin and begin + BLOCK // 512 <= end for first, end in torn)
    assert unclean["suspects"]["by_parity"] == unclean["suspects"]["count"] >= 1
    assert unclean["suspects"]["complete"] is True
    lines = six.millrace("pool unclean").out.splitlines()
    assert f"data/{old}" in lines
    # what shares the row and was there is whole, as far as a file can be that was half written
    assert f"data/{new}" not in lines
    # it is damaged indeed
    assert six.say(f"sha256sum < {EXPORT}/{old}") != before
    said = six.say("journalctl -b -o cat -u millrace-assemble")
    assert "unclean while degraded" in said and "is not added yet: parity is checked" in said
    (finding,) = [finding for finding in six.shown("health --json")["findings"] if finding["check"] == "unclean"]
    assert "its parity does not match in" in finding["sentence"]


def test_member_is_back_after_the_search_and_parity_is_right(six: Box) -> None:
    wait_whole(six)
    six.say(f"echo check > {MD}/sync_action")
    wait_whole(six)
    assert six.say(f"cat {MD}/mismatch_cnt") == "0"
    assert "1 unclean start acknowledged" in six.millrace("pool acknowledge").out
    assert "no array was started unclean" in six.millrace("pool unclean").out


def test_guess_without_parity_has_the_old_file_and_says_that_the_clock_was_wrong(six: Box) -> None:
    files = small_files(six)
    first = place(next(iter(files.values())))
    away = {first[1], first[2]}
    old, new = pair(files, away)
    lose(six, *away)
    # the superblock and the files are of next week for the server that starts again
    six.say("timedatectl set-ntp false; date -s '+7 days'")
    six.say(f"dd if=/dev/urandom of={EXPORT}/{new} bs=64K count=1 conv=notrunc,fsync")
    cut_while_written(six)
    unclean = searched(six)
    (start,) = unclean["starts"]
    assert (start["check"], start["dated"], sorted(start["slots"])) == ("none", False, sorted(away))
    assert unclean["suspects"]["complete"] is False
    assert any("the clock was wrong" in note for note in unclean["suspects"]["notes"])
    assert f"data/{old}" in six.millrace("pool unclean").out.splitlines()
    (finding,) = [finding for finding in six.shown("health --json")["findings"] if finding["check"] == "unclean"]
    assert "others are possible" in finding["sentence"]
    six.millrace("pool acknowledge")
