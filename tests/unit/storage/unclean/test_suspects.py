# SPDX-License-Identifier: Apache-2.0
"""After an unclean start an administrator sees which files may be damaged, and acknowledges them."""

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click import Command
from click.testing import CliRunner

from millrace.cli.program import command
from millrace.observe.health import heartbeat_daemon
from millrace.observe.health.checks import unclean as check
from millrace.observe.health.host import Host
from millrace.observe.health.model import Level
from millrace.storage.array import dirty_regions
from millrace.storage.assemble import unclean
from millrace.storage.assemble.unclean import Suspects, TornRows, Unclean, UncleanStarts
from millrace.storage.record.model import Pool
from millrace.storage.scrub import file_names
from millrace.storage.unclean import suspects, unclean_find
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import Refused
from millrace.system.run import Result
from millrace.system.text import LONGEST
from tests.fakes.files.box import Box
from tests.fakes.files.running import server
from tests.unit.storage.scrub.xfs import Xfs

DISKS, DATA, CHUNK = 10, 8, 128
"""Members and data chunks of the array; sectors of a chunk."""
STRIPES = 32
MISSING = 3
NO_PARITY = "array data: other files are possible, the rows in doubt are a guess (it has no second parity)"


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with server(tmp_path) as made:
        made.provision()
        made.md("data", layout="2", degraded="1", raid_disks=str(DISKS), component_size=str(STRIPES * CHUNK // 2))
        made.md("data", **{f"rd{slot}/state": "in_sync" for slot in range(DISKS) if slot != MISSING})
        yield made


@pytest.fixture
def xfs(box: Box, monkeypatch: pytest.MonkeyPatch) -> Xfs:
    monkeypatch.setattr(suspects, "MARGIN", 0.0)
    return Xfs(box.root / "srv/pool", monkeypatch)


def block(stripe: int, slot: int, inside: int = 0) -> int:
    """The block of XFS that a slot has in a stripe; on the left of the parity data goes on (raid5.c)."""
    parity = DISKS - 1 - stripe % DISKS
    number = (slot - parity - 2) % DISKS
    assert number < DATA, "P or Q"
    return ((stripe * DATA + number) * CHUNK + inside) // 8


def start(**more: Any) -> None:
    """An array was last written now, and started by force five minutes later."""
    now = datetime.now(UTC)
    known = {
        "array": "data",
        "level": "raid6",
        "last_write": now.isoformat(),
        "started": (now + timedelta(minutes=5)).isoformat(),
        "missing": ["D3"],
        "slots": [MISSING],
    }
    write_model(paths.unclean_file(), UncleanStarts(starts=[Unclean.model_validate(known | more)]))
    time.sleep(0.02)


def torn(*rows: tuple[int, int], **more: Any) -> None:
    start(check="found", torn=[TornRows(begin=begin, end=end) for begin, end in rows], **more)


def search(xfs: Xfs) -> UncleanStarts | None:
    def run(argv: Sequence[str], stdin: str | None = None) -> Result:
        assert list(argv[:3]) == ["xfs_io", "-r", "-c"]
        return xfs.fsmap(argv[3], argv[4])

    return suspects.search(read_model(paths.pool_file(), Pool), run)


def found(xfs: Xfs) -> Suspects:
    answer = search(xfs)
    assert answer is not None and answer.suspects is not None
    return answer.suspects


def test_owner_of_the_missing_chunk_in_a_torn_row_is_named_however_old_it_is(xfs: Xfs) -> None:
    xfs.file("data/old", [block(4, MISSING, 16)])
    xfs.file("data/same-chunk", [block(4, MISSING, 24)])
    xfs.file("data/other-row", [block(5, MISSING, 16)])
    torn((4 * CHUNK + 16, 4 * CHUNK + 24))
    xfs.file("data/new", [block(4, 8, 16)])
    assert found(xfs) == Suspects(count=1, listed=1, complete=True, by_parity=1)
    assert suspects.names() == ["data/old"]
    assert paths.suspects_file().stat().st_mode & 0o777 == 0o600


def test_row_whose_parity_is_missing_damages_nothing(xfs: Xfs) -> None:
    for slot in set(range(DISKS)) - {DISKS - 1, 0}:
        xfs.file(f"data/{slot}", [block(0, slot)])
    torn((0, 8), slots=[DISKS - 1])
    assert found(xfs) == Suspects(count=0, listed=0, complete=True)


def test_no_torn_row_is_no_damage(xfs: Xfs) -> None:
    torn()
    xfs.file("data/new", [block(4, 8)])
    assert found(xfs) == Suspects(count=0, listed=0, complete=True)


def test_metadata_and_what_has_no_name_in_torn_rows_are_shown(xfs: Xfs) -> None:
    xfs.metadata(block(4, MISSING))
    xfs.owners[block(4, MISSING, 8)] = {(4711, 0)}
    torn((4 * CHUNK, 4 * CHUNK + 24))
    seen = found(xfs)
    assert seen.others == ["inode btree", "inode 4711: a directory, a file of the server, or removed meanwhile"]
    assert (seen.count, seen.complete) == (0, True)


def test_every_chunk_of_the_row_is_in_doubt_where_the_slot_is_not_known(box: Box, xfs: Xfs) -> None:
    for slot in range(1, 9):
        xfs.file(f"data/{slot}", [block(0, slot)])
    torn((0, 8), slots=None)
    assert found(xfs).count == 8
    box.md("data", layout="0")
    torn((0, 8))
    assert found(xfs).count == 8


def test_slots_that_an_older_release_did_not_record_are_those_of_the_missing_members(xfs: Xfs) -> None:
    for slot in range(1, 9):
        xfs.file(f"data/{slot}", [block(0, slot)])
    (data,) = [one for one in read_model(paths.pool_file(), Pool).arrays if one.array.name == "data"]
    lost = data.members[MISSING].serial
    torn((0, 8), slots=None, missing=[lost])
    assert found(xfs).count == 1 and suspects.names() == [f"data/{MISSING}"]
    # one of them is not a member any more
    torn((0, 8), slots=None, missing=[lost, "GONE"])
    assert found(xfs).count == 8
    torn((0, 8), slots=None, missing=[lost], outside=True)
    assert found(xfs).count == 8


def test_without_parity_the_neighbours_of_new_files_are_a_guess(xfs: Xfs) -> None:
    xfs.file("data/old", [block(4, MISSING, 16)])
    xfs.file("data/not-in-that-row", [block(4, MISSING, 32)])
    xfs.metadata(block(8, MISSING))
    start()
    xfs.file("data/new", [block(4, 8, 16), block(8, 5)])
    seen = found(xfs)
    assert (seen.count, seen.by_parity, seen.complete, seen.others) == (1, 0, False, ["inode btree"])
    assert seen.notes == [NO_PARITY]
    assert suspects.names() == ["data/old"]


def test_new_file_in_the_missing_chunk_itself_is_listed_whatever_time_a_client_gave_it(xfs: Xfs) -> None:
    start()
    xfs.file("data/deep/new", [block(4, MISSING)])
    os.utime(xfs.top / "data/deep/new", (0, 0))
    assert (found(xfs).count, suspects.names()) == (1, ["data/deep/new"])


def test_long_file_is_followed_through_all_its_rows(xfs: Xfs) -> None:
    xfs.file("data/old", [block(12, MISSING)])
    start()
    xfs.file("data/long", [number for number in range(8 * DATA * 16, 14 * DATA * 16) if number != block(12, MISSING)])
    found(xfs)
    assert suspects.names() == ["data/long", "data/old"]


def test_failed_check_is_a_guess_with_its_reason(xfs: Xfs) -> None:
    start(check="failed", problem="another member failed before the check had ended")
    assert found(xfs).notes == [
        "array data: other files are possible, the rows in doubt are a guess (another member failed before the check "
        "had ended)"
    ]


@pytest.mark.parametrize(
    "clock", [{"dated": False}, {"last_write": (datetime.now(UTC) + timedelta(days=2)).isoformat()}]
)
def test_wrong_clock_makes_no_list_complete(xfs: Xfs, clock: dict[str, Any]) -> None:
    xfs.file("data/old", [block(4, MISSING, 16)])
    start(**clock)
    xfs.file("data/new", [block(4, 8, 16)])
    seen = found(xfs)
    assert seen.complete is False
    assert seen.notes[1] == "array data: the clock was wrong, so files written last may be missing from the search"


def test_start_before_the_last_write_hides_no_file(xfs: Xfs) -> None:
    """The clock of the server that starts the array is years back: no end of the window."""
    start(started="2001-01-01T00:00:00+00:00", dated=False)
    xfs.file("data/new", [block(4, MISSING)])
    assert found(xfs).count == 1


def test_files_changed_long_before_are_no_suspects(xfs: Xfs) -> None:
    xfs.file("data/other", [block(4, MISSING)])
    start()
    assert (found(xfs).count, found(xfs).complete) == (0, False)


def test_minutes_before_the_last_superblock_count(xfs: Xfs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suspects, "MARGIN", 120.0)
    xfs.file("data/other", [block(4, MISSING)])
    start(last_write=(datetime.now(UTC) + timedelta(seconds=60)).isoformat())
    assert found(xfs).count == 1


def test_log_without_its_mirror_is_in_doubt_and_has_no_file(xfs: Xfs) -> None:
    start(array="log", level="raid1")
    xfs.file("data/new", [block(4, MISSING)])
    assert found(xfs) == Suspects(count=0, listed=0, complete=True)


def test_links_are_not_followed_and_only_files_count(xfs: Xfs, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    start()
    (outside / "secret").write_text("x")
    xfs.owners[block(4, MISSING)] = {((outside / "secret").stat().st_ino, 0)}
    (xfs.top / "directory").symlink_to(outside)
    (xfs.top / "file").symlink_to(outside / "secret")
    os.mkfifo(xfs.top / "pipe")
    assert found(xfs).count == 0


def test_a_name_with_any_bytes_is_one_line(xfs: Xfs) -> None:
    start()
    xfs.file("a\nb\x1b[2J", [block(4, MISSING)])
    xfs.file(os.fsdecode(b"\xff"), [block(5, MISSING)])
    found(xfs)
    assert suspects.names() == ["\\xff", "a\\nb\\x1b[2J"]


@pytest.mark.parametrize(
    ("regions", "names"),
    [([], []), ([{"begin": 4 * CHUNK, "end": 5 * CHUNK}], ["old"]), ([{"begin": 0, "end": 8}], []), (None, ["old"])],
)
def test_rows_are_searched_in_the_regions_that_were_recorded_at_the_start(
    xfs: Xfs, monkeypatch: pytest.MonkeyPatch, regions: list[dict[str, int]] | None, names: list[str]
) -> None:
    # md has cleared the bitmap: the missing member is rebuilt
    monkeypatch.setattr(dirty_regions, "regions", lambda _: [])
    start(regions=regions)
    xfs.file("old", [block(4, MISSING)])
    os.utime(xfs.top / "old", (0, 0))
    xfs.file("new", [block(4, 8)])
    found(xfs)
    assert suspects.names() == names


def test_what_an_older_member_lacks_is_searched_everywhere(xfs: Xfs, monkeypatch: pytest.MonkeyPatch) -> None:
    """A member that left before others was started with: md has cleared what was written since, and one file has only
    its chunks."""
    monkeypatch.setattr(dirty_regions, "regions", lambda _: [])
    start(older=True, regions=[])
    xfs.file("same-row", [block(4, MISSING, 16)])
    os.utime(xfs.top / "same-row", (0, 0))
    xfs.file("of-the-older-one", [block(4, 8, 16)])
    seen = found(xfs)
    assert suspects.names() == ["of-the-older-one", "same-row"]
    assert seen.notes == [OUTSIDE]


def outside(**more: Any) -> None:
    """An array broke now, and was started by hand with a member that had left before."""
    start(outside=True, missing=[], slots=None, **more)


OUTSIDE = "array data: other files are possible, its members may differ in any row"


def test_all_files_written_since_a_member_left_are_in_doubt_after_a_start_by_hand(
    xfs: Xfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    # md has cleared the bitmap of an array that is complete
    monkeypatch.setattr(dirty_regions, "regions", lambda _: [])
    xfs.file("data/long-ago", [block(9, 8)])
    xfs.file("data/same-row", [block(4, MISSING, 16)])
    time.sleep(0.02)
    monday = datetime.now(UTC)
    time.sleep(0.02)
    xfs.file("data/of-tuesday", [block(4, 8, 16)])
    xfs.file("data/without-data", [])
    outside(since=monday.isoformat())
    seen = found(xfs)
    assert suspects.names() == ["data/of-tuesday", "data/same-row", "data/without-data"]
    assert (seen.count, seen.by_parity, seen.complete, seen.notes) == (3, 0, False, [OUTSIDE])
    shown = says(command("pool"), "unclean")
    assert "files that are a guess, written since the first member left, or in rows that were written last:" in shown
    (finding,) = check.check(Host())
    assert "(3 files found), and others are possible" in finding.sentence


def test_start_by_hand_whose_first_failure_is_not_known_says_so(xfs: Xfs) -> None:
    outside(dated=False)
    seen = found(xfs)
    assert (seen.count, seen.complete) == (0, False)
    assert seen.notes == [OUTSIDE, "array data: files are missing from the list if its first member left earlier"]
    assert says(command("pool"), "unclean").endswith("no file was found; others are possible\n")


def test_more_names_than_are_kept_are_counted(xfs: Xfs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suspects, "LISTED", 3)
    for number in range(5):
        xfs.file(f"{number}", [block(4, MISSING, 8 * number)])
    torn((4 * CHUNK, 5 * CHUNK))
    seen = found(xfs)
    assert (seen.count, seen.listed, len(suspects.names())) == (5, 3, 3)


def test_others_that_clients_made_do_not_fill_the_boot_drive(xfs: Xfs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suspects, "LISTED", 3)
    name = f"{'x' * 4000}/{'y' * 255}"

    def by_parents(top: Path, inodes: Sequence[int], most: int) -> file_names.FileNames:
        found = file_names.FileNames(most=most)
        for number in inodes:
            found.add_other(f"symbolic link {number}{name}")
        return found

    monkeypatch.setattr(file_names, "names", by_parents)
    xfs.metadata(block(4, MISSING))
    for number in range(5):
        xfs.owners[block(4, MISSING, 8 + 8 * number)] = {(4711 + number, 0)}
    torn((4 * CHUNK, 5 * CHUNK))
    seen = found(xfs)
    assert [one[:18] for one in seen.others] == ["inode btree", "symbolic link 4711", "symbolic link 4712"]
    assert max(map(len, seen.others)) <= LONGEST and seen.more_others == 3
    notes = unclean_find.notes(UncleanStarts(starts=[], suspects=seen.model_copy(update={"others": seen.others * 4})))
    assert "5 more owners that are no file with a name: use --json" in notes


def test_guess_does_not_replace_names_that_parity_tells(xfs: Xfs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suspects, "LISTED", 3)
    for number in range(3):
        xfs.file(f"a{number}", [block(8, MISSING, 8 * number)])
    for number in range(2):
        xfs.file(f"z{number}", [block(4, MISSING, 8 * number)])
    torn((4 * CHUNK, 5 * CHUNK))
    known = unclean.pending()
    assert known is not None
    other = known.starts[0].model_copy(update={"check": "none", "torn": []})
    write_model(paths.unclean_file(), UncleanStarts(starts=[*known.starts, other]))
    xfs.file("new", [block(8, 5, 8 * number) for number in range(3)])
    seen = found(xfs)
    assert (seen.count, seen.listed, seen.by_parity) == (5, 3, 2)
    assert suspects.names() == ["z0", "z1", "a0"]


def test_more_files_than_memory_is_for_are_not_searched(xfs: Xfs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suspects, "INODES", 3)
    start()
    for number in range(9):
        xfs.file(f"{number}", [block(4, MISSING, 8 * number)])
    seen = found(xfs)
    assert (seen.count, seen.complete) == (4, False)
    assert "not all files were searched for those written last" in seen.notes


def test_a_search_that_takes_too_long_ends_and_says_so(xfs: Xfs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suspects, "LIMIT", -1.0)
    start()
    xfs.file("one", [block(4, MISSING)])
    seen = found(xfs)
    assert (seen.count, seen.complete) == (0, False)
    assert seen.notes[0] == "not all files were searched for those written last"


def test_names_that_were_not_all_searched_are_said(xfs: Xfs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_names, "LIMIT", -1.0)
    xfs.file("one", [block(4, MISSING)])
    torn((4 * CHUNK, 5 * CHUNK))
    seen = found(xfs)
    assert (seen.count, seen.complete) == (0, False)
    assert seen.notes == [file_names.WALKED]


def test_a_directory_that_cannot_be_read_makes_it_incomplete(xfs: Xfs, monkeypatch: pytest.MonkeyPatch) -> None:
    xfs.file("one", [block(4, MISSING)])
    torn((4 * CHUNK, 5 * CHUNK))
    walk = os.fwalk

    def failing(top: Path, onerror: object) -> object:
        assert callable(onerror)
        onerror(OSError(5, "Input/output error"))
        return walk(top)

    monkeypatch.setattr(os, "fwalk", failing)
    seen = found(xfs)
    assert (seen.count, seen.complete) == (1, False)


def test_an_empty_mount_point_is_not_searched(xfs: Xfs, monkeypatch: pytest.MonkeyPatch) -> None:
    start()
    monkeypatch.setattr(os.path, "ismount", lambda _: False)
    with pytest.raises(Refused, match="not mounted"):
        search(xfs)


def test_it_is_searched_once(xfs: Xfs) -> None:
    torn((4 * CHUNK, 5 * CHUNK))
    found(xfs)
    xfs.file("later", [block(4, MISSING)])
    assert found(xfs) == Suspects(count=0, listed=0, complete=True)


def during(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Something happens while the pool is searched."""
    walk = os.fwalk

    def walking(*given: Any, **more: Any) -> Any:
        happens()
        return walk(*given, **more)

    monkeypatch.setattr(os, "fwalk", walking)


def test_an_acknowledgement_during_the_search_stays(xfs: Xfs, monkeypatch: pytest.MonkeyPatch) -> None:
    start()
    xfs.file("one", [block(4, MISSING)])
    during(monkeypatch, unclean.acknowledge)
    assert search(xfs) is None
    assert unclean.pending() is None and suspects.names() == []


def test_a_start_during_the_search_is_searched_for_next(xfs: Xfs, monkeypatch: pytest.MonkeyPatch) -> None:
    start()
    during(monkeypatch, lambda: start(level="raid5"))
    answer = search(xfs)
    assert answer is not None and answer.suspects is None


def test_nothing_is_searched_where_no_start_was_unclean(xfs: Xfs) -> None:
    assert search(xfs) is None


def test_the_heartbeat_of_the_pool_is_no_file_in_doubt(xfs: Xfs) -> None:
    start()
    xfs.file("data/.millrace/of-a-client", [block(4, MISSING)])
    xfs.file(f"{paths.POOL_OWN}/{heartbeat_daemon.FILE}", [block(5, MISSING)])
    found(xfs)
    assert suspects.names() == ["data/.millrace/of-a-client"]


def sentence() -> str:
    (finding,) = check.check(Host())
    assert finding.level is Level.WARN and finding.todo is not None
    assert "millrace pool acknowledge" in finding.todo
    assert finding.sentence.startswith("Array data (raid6) was started unclean while degraded at ")
    return finding.sentence.partition(" without D3: ")[2]


def test_health_warns_with_what_is_known_until_it_is_acknowledged(xfs: Xfs) -> None:
    start(check="waiting")
    assert sentence() == "its parity is being checked for damaged files, and missing members are added after that."
    xfs.file("data/old", [block(4, MISSING, 16)])
    torn((4 * CHUNK + 16, 4 * CHUNK + 24))
    assert sentence() == f"{unclean.IN_DOUBT}; they are being searched for."
    found(xfs)
    assert sentence() == "its parity does not match in 1 file, which may be damaged."
    torn()
    found(xfs)
    assert sentence() == "its parity check found no damage."
    unclean.acknowledge()
    assert check.check(Host()) == []
    assert suspects.names() == []


def test_health_never_calls_a_guess_all(xfs: Xfs) -> None:
    start()
    found(xfs)
    assert sentence() == (
        f"{unclean.IN_DOUBT}; which rows is not known, 0 files are listed as a guess, and others are possible."
    )


def says(verb: Command, *words: str) -> str:
    result = CliRunner().invoke(verb, list(words), catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_the_verbs_show_what_is_told_and_what_is_a_guess(xfs: Xfs) -> None:
    xfs.file("data/old", [block(4, MISSING, 16)])
    torn((4 * CHUNK + 16, 4 * CHUNK + 24))
    assert "were not searched for yet: millrace pool unclean --find" in says(command("pool"), "unclean")
    found(xfs)
    shown = says(command("pool"), "unclean")
    assert "the parity check found 8 sectors of each member in torn rows" in shown
    assert shown.endswith("files in rows whose parity does not match:\ndata/old\n")
    start()
    xfs.file("data/new", [block(4, 8, 16)])
    found(xfs)
    assert says(command("pool"), "unclean").endswith(
        "files that are a guess, in rows that were written last:\ndata/old\n"
    )
    assert json.loads(says(command("pool"), "unclean", "--json"))["suspects"]["complete"] is False
    start()
    found(xfs)
    assert says(command("pool"), "unclean").endswith("no file was found; others are possible\n")
    torn()
    found(xfs)
    assert says(command("pool"), "unclean").endswith("no file is known to be damaged\n")
    assert says(command("pool"), "acknowledge") == "1 unclean start acknowledged\n"
    assert says(command("pool"), "unclean") == "no array was started unclean while degraded\n"
    assert json.loads(says(command("pool"), "acknowledge", "--json"))["starts"] == []


def test_notes_name_metadata_and_what_is_not_listed() -> None:
    many = [f"inode {number}" for number in range(12)]
    seen = Suspects(count=5, listed=3, complete=False, others=many, notes=["why"])
    assert unclean_find.notes(UncleanStarts(starts=[], suspects=seen))[-4:] == [
        "2 more owners that are no file with a name: use --json",
        "check the metadata of the file system: millrace pool scrub filesystem",
        "why",
        "5 files may be damaged; 3 are listed",
    ]
