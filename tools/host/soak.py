# SPDX-License-Identifier: Apache-2.0
"""`tools/test soak --due 40m`: the stories of soak whose last success is oldest, for so long, and a row for each.

Stories of one file share a server, so a file is run as a whole.
"""

import argparse
import os
import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from host import soak_rows
from host import test as whole
from host.junit import Count, cases
from host.layout import REPO
from host.soak_rows import FAILED, PASSED, SKIPPED, Row, newest
from host.stories import Module, modules
from millrace.system.errors import Refused

TIME = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?")
# Without a row that has minutes: an emulated server is booted and makes its pool, and a story is told.
BOOT_MINUTES, STORY_MINUTES = 10.0, 3.0
# Variables of stories that repeat something as often as they are asked to: as short as it still tells something.
SHORT = {"CYCLES": "1", "BUDGET": "45m"}
DIRTY = "with changes that are not committed"


@dataclass(frozen=True)
class Due:
    """A file of stories, the minutes that it is expected to take, and the day of its oldest success ("" for none)."""

    module: Module
    minutes: float
    oldest: str

    def __str__(self) -> str:
        return f"{self.minutes:6.0f} min  {self.oldest or 'never passed':12}  {self.module.path}"


def minutes_of(text: str) -> float:
    """Return the minutes of a time such as `40m` or `1h30m`. ArgumentTypeError: it is not such a time, or is none."""
    match = TIME.fullmatch(text)
    minutes = int(match[1] or 0) * 60 + int(match[2] or 0) if match else 0
    if not minutes:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 40m or 1h30m")
    return float(minutes)


def due(rows: Sequence[Row], known: Sequence[Module]) -> list[Due]:
    """Return all files of stories in the order in which they are due; `rows` have the oldest first.

    That is the order of their stories' last successes, the oldest first. A story that has never passed comes before all
    others, and one that has never been run before those that failed.
    """

    def age(module: Module) -> tuple[int, int]:
        return min((_place(newest(rows, node, PASSED)), _place(newest(rows, node))) for node in module.nodes)

    files = []
    for module in sorted(known, key=age):
        oldest = age(module)[0]
        files.append(Due(module, expected(rows, module), rows[oldest].date if oldest >= 0 else ""))
    return files


def _place(number: int | None) -> int:
    return -1 if number is None else number


def expected(rows: Sequence[Row], module: Module) -> float:
    """Return the minutes of a file of stories: of the newest row of each story that has them, else a guess."""
    timed = [row for row in rows if row.minutes is not None]
    places = [newest(timed, node) for node in module.nodes]
    # a row of the file is one of all its stories, and counts once
    known = sum(timed[place].minutes or 0 for place in {place for place in places if place is not None})
    return known + STORY_MINUTES * places.count(None) + (BOOT_MINUTES if set(places) == {None} else 0)


def fitting(waiting: Sequence[Due], minutes: float) -> Iterator[Due]:
    """Yield what fits into `minutes` one after another, if each takes as long as expected."""
    for one in waiting:
        if one.minutes <= minutes:
            minutes -= one.minutes
            yield one


def told(module: Module, results: Mapping[str, tuple[str, float]], day: str, commit: str, note: str) -> list[Row]:
    """Return a row for each story of a file that was run; `results` has result and seconds of each test by node id."""
    rows = []
    for node in module.nodes:
        own = [result for test, result in results.items() if test.partition("[")[0] == node]
        if not own:
            continue
        endings = [ending for ending, _ in own]
        worst = next(ending for ending in (FAILED, PASSED, SKIPPED) if ending in endings)
        counted = f"{endings.count(PASSED)} of {len(own)}" if len(own) > 1 else ""
        notes = "; ".join(part for part in (counted, note) if part)
        rows.append(Row(node, day, commit, worst, round(sum(seconds for _, seconds in own) / 60, 1), notes))
    return rows


def revision() -> tuple[str, str]:
    """Return the commit of the tree, and a note where files of it differ from that. CalledProcessError: git fails."""

    def git(*arguments: str) -> str:
        # root refuses a tree of another user otherwise
        argv = ["git", "-c", f"safe.directory={REPO}", *arguments]
        return subprocess.run(argv, cwd=REPO, capture_output=True, text=True, check=True).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs")
    return git("rev-parse", "--short=8", "HEAD"), DIRTY if changed else ""


def run(one: Due) -> Count:
    """Run the stories of a file, and write a row for each and the page. CalledProcessError: git fails."""
    results: dict[str, tuple[str, float]] = {}
    commit, note = revision()
    # a second report, of tests that were run again, counts in place of the first
    count = whole.tested(whole.Step("soak", one.module.selection), seen=lambda report: results.update(cases(report)))
    soak_rows.append(told(one.module, results, datetime.now(UTC).date().isoformat(), commit, note))
    soak_rows.main()
    return count


def run_for(minutes: float) -> int:
    """Run what is due for so many minutes; 0 where nothing failed. The images are built before that time begins.

    Refused: no file of stories fits. CalledProcessError: git fails.
    """
    waiting = due(soak_rows.read(), modules())
    _require_one(waiting, minutes)
    for name, value in SHORT.items():
        os.environ.setdefault(name, value)
    total = Count()
    with whole.building(["soak"]) as images:
        images["soak"].result()
        began = time.monotonic()
        for file in waiting:
            if file.minutes <= minutes - (time.monotonic() - began) / 60:
                total += run(file)
    print(total)
    return 1 if total.failed or not total.passed else 0


def _require_one(waiting: Sequence[Due], minutes: float) -> None:
    if not any(fitting(waiting, minutes)):
        shortest = min(waiting, key=lambda one: one.minutes)
        raise Refused(
            f"No file of stories fits into {minutes:.0f} minutes: the shortest, {shortest.module.path}, "
            f"takes about {shortest.minutes:.0f}."
        )


def main(arguments: list[str]) -> int:
    """Run what is due, or list it. Refused: no file of stories fits. CalledProcessError: git fails."""
    parser = argparse.ArgumentParser(
        prog="tools/test", description="Run the stories of soak whose last success is oldest."
    )
    parser.add_argument("part", choices=["soak"])
    parser.add_argument("--due", type=minutes_of, required=True, metavar="TIME", help="for so long, such as 40m or 2h")
    parser.add_argument("--list", action="store_true", help="print which these are, and run nothing")
    options = parser.parse_args(arguments)
    if not options.list:
        return run_for(options.due)
    waiting = due(soak_rows.read(), modules())
    _require_one(waiting, options.due)
    for file in fitting(waiting, options.due):
        print(file)
    if longer := [file for file in waiting if file.minutes > options.due]:
        print(f"Longer than {options.due:.0f} minutes, and not run by this:")
        print("\n".join(map(str, longer)))
    return 0
