# SPDX-License-Identifier: Apache-2.0
"""A search that would be too large or too long ends early, and its list says so."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from millrace.storage.assemble import unclean
from millrace.storage.assemble.unclean import UncleanStarts
from millrace.storage.scrub import file_names
from millrace.storage.unclean import suspects, unclean_find
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.text import LONGEST
from tests.unit.storage.scrub.xfs import Xfs
from tests.unit.storage.unclean.searched import CHUNK, MISSING, block, found, start, torn


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
    assert [owner[:18] for owner in seen.others] == ["inode btree", "symbolic link 4711", "symbolic link 4712"]
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
