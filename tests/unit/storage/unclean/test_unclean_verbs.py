# SPDX-License-Identifier: Apache-2.0
"""The verbs and the finding show damaged files and guesses, until an administrator acknowledges them."""

import json

from millrace.cli.program import command
from millrace.observe.health.checks import unclean as check
from millrace.observe.health.host import Host
from millrace.observe.health.model import Level
from millrace.storage.assemble import unclean
from millrace.storage.assemble.unclean import Suspects, UncleanStarts
from millrace.storage.unclean import suspects, unclean_find
from tests.unit.storage.scrub.xfs import Xfs
from tests.unit.storage.unclean.searched import (
    CHUNK,
    MISSING,
    block,
    found,
    says,
    start,
    torn,
)


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
