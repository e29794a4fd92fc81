# SPDX-License-Identifier: Apache-2.0
"""`tools/test`: every test, or the parts that are named, and a count at the end."""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

from host import build, docs, lint, pages
from host.entry import finish
from host.junit import Count, counted, dearest, without_timer
from host.layout import OUTPUT, REPO, caches
from host.minutes import Minutes, Spent
from vm.machine import NO_TIMER

PARTS = ("unit", "docs", "pages", "image", "browser", "kernel", "perf", "vm")
# By hand: they take longer than anyone waits for each change; docs/evidence/soak.md keeps the results. Some are
# told by servers that other stories boot, and have the mark `soak` there.
BY_HAND = ("soak",)
MARKED, UNMARKED = ("-m", "soak"), ("-m", "not soak")
DUE = "tools/test soak --due 40m [--list] runs the stories of soak whose last success is oldest, for so long."
MUTANTS = "By hand: tools/test mutants ROOM... [--sample N] [--seed N] puts faults into rooms and runs their tests."
FUZZ = "By hand: tools/test fuzz [TARGET...] [--runs N] gives parsers of hostile input inputs that atheris makes."
IMAGE_NEEDED = ("image", "browser", "kernel", "perf", "vm", "soak")
# Unit tests rename some 100,000 files, which a file system on a disk writes each time: a sixth of their time.
MEMORY_FILES = Path("/dev/shm")
MEMORY_FILES_FREE = 4 << 30
# Two virtual servers, two clients, and what else there is; two machines of tests/perf besides.
MEMORY_OF_TWO = 16 << 30
MEMORY_OF_THREE = 20 << 30
# They have servers of their own, the shares a client, too. One pair leaves a third of two processors idle.
OWN_SERVERS = ("tests/vm/shares", "tests/vm/drives")
# A build takes what is left, so that what runs meanwhile is hardly slower than alone.
NICE = 10
# The lane beside has less than the other's work; both end together so. The lowest priority would starve a guest for
# seconds while another boots.
BESIDE = ("nice", "-n", "4")
# For those who do not care, as the clock of tests/perf counts instructions. With only what is left idle (sched(7)) they
# stood still for forty minutes, and began when the others had ended.
LAST = ("nice", "-n", "10")
# pytest(1): all tests were run and some failed; no tests were collected
SOME_FAILED, NOTHING_COLLECTED = 1, 5
# Files of tests whose minutes are printed after each step, and those that are recorded.
DEAREST, RECORDED = 12, 1000
# What the last run cost; a builder keeps it with the image.
MINUTES = OUTPUT / "minutes.json"
BEGAN = time.monotonic()


@dataclass(frozen=True)
class Step:
    """Tests of a part that one pytest runs: its arguments."""

    part: str
    selection: tuple[str, ...]


@dataclass(frozen=True)
class Lane:
    """Steps that are run one after another, beside those of other lanes; `before` their command lines: how nicely."""

    steps: list[Step]
    before: tuple[str, ...] = ()


# What a step of a part waits for.
Images = dict[str, "Future[None]"]


def _environment(part: str = "") -> dict[str, str]:
    found = os.environ | {"PYTHONPATH": str(REPO / "tools"), "PYTHONDONTWRITEBYTECODE": "1"}
    # a container has 64 MiB there
    if part == "unit" and MEMORY_FILES.is_dir() and shutil.disk_usage(MEMORY_FILES).free >= MEMORY_FILES_FREE:
        found["TMPDIR"] = str(MEMORY_FILES)
    return found


def announce(what: str) -> None:
    """Print what begins or ends, and in which minute of the run."""
    print(f"== {what} (minute {(time.monotonic() - BEGAN) / 60:.0f})", flush=True)


def checked(title: str, argv: Sequence[str]) -> Count:
    """Run a checker; it counts as one test."""
    announce(title)
    return Count(passed=1) if lint.passes(argv) else Count(failed=1)


def lanes(parts: Sequence[str], memory: int, processors: int) -> list[Lane]:
    """Return what is run beside what, the lane of most steps first; `memory` in bytes is free."""
    steps = [step for part in parts for step in _steps(part)]
    if memory < MEMORY_OF_TWO or processors < 2:
        return [Lane(steps)]
    main: list[Step] = []
    beside: list[Step] = []
    last: list[Step] = []
    for step in steps:
        if step.part == "vm":
            main.append(Step("vm", (*step.selection, *(f"--ignore={path}" for path in OWN_SERVERS))))
            beside.append(Step("vm", (*OWN_SERVERS, *UNMARKED)))
        elif step.part in {"kernel", "perf"}:
            last.append(step)
        else:
            main.append(step)
    if not main:
        return [Lane(last)]
    if memory < MEMORY_OF_THREE:
        beside, last = beside + last, []
    return [lane for lane in (Lane(main), Lane(beside, BESIDE), Lane(last, LAST)) if lane.steps]


def _steps(part: str) -> list[Step]:
    if part in {"vm", "kernel", "perf"}:
        return [Step(part, (f"tests/{part}", *UNMARKED))]
    if part == "soak":
        marked = [Step(part, (f"tests/{name}", *MARKED)) for name in ("vm", "kernel", "perf")]
        return [Step(part, (f"tests/{part}",)), *marked]
    return [Step(part, (f"tests/{part}",))]


def free_memory() -> int:
    """Return the bytes that processes may still use (proc(5))."""
    (line,) = [line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable:")]
    return int(line.split()[1]) << 10


def tested(
    step: Step,
    before: tuple[str, ...] = (),
    spent: Spent | None = None,
    seen: Callable[[Path], object] | None = None,
) -> Count:
    """Run a step, its command line after `before`; a pytest that ended without a report is one failure.

    `spent` receives the seconds of its files. Each report is given to `seen` before it is removed.

    Tests of a server whose emulated CPU got no more interrupts of its timer are run once more, and no others.
    """
    announce(" ".join(step.selection))
    with TemporaryDirectory(prefix="millrace-test-") as directory:
        report = Path(directory) / "report.xml"
        status = _run(step, before, report)
        count = _ended(status, report)
        # after an interrupt or an error of pytest's own, tests are missing that nobody would run
        if status == SOME_FAILED and report.is_file() and (again := without_timer(report)):
            announce(f"{len(again)} tests are run again: {NO_TIMER} their server")
            second = Path(directory) / "again.xml"
            repeated = Step(step.part, tuple(sorted(again)))
            count = counted(report, again) + _ended(_run(repeated, before, second), second)
        for file in (report, Path(directory) / "again.xml"):
            if seen is not None and file.is_file():
                seen(file)
        stories = dearest(report, RECORDED) if report.is_file() else []
    if spent is not None:
        spent.stories.update(stories)
    announce(f"{step.selection[0]}: {count}")
    said = "".join(f"   {seconds / 60:5.1f} minutes {name}\n" for name, seconds in stories[:DEAREST])
    print(said, end="", flush=True)
    return count


def _run(step: Step, before: tuple[str, ...], report: Path) -> int:
    options = ["-q", "--instafail", "-p", "no:cacheprovider", f"--junit-xml={report}"]
    argv = [*before, sys.executable, "-m", "pytest", *options, *step.selection]
    # One that is interrupted is waited for: it switches its virtual servers off.
    with subprocess.Popen(argv, cwd=REPO, env=_environment(step.part)) as process:
        return process.wait()


@contextmanager
def run_beside(beside: Sequence[Lane], images: Images, minutes: Minutes) -> Iterator[list[Count]]:
    """Run lanes while the context lasts and until they end; the counts of their steps are there afterwards."""
    counts: list[Count] = []
    interrupted = Event()

    def run(number: int, lane: Lane) -> None:
        for step in lane.steps:
            wait_for_image(step, images, minutes, number)
            if not interrupted.is_set():
                with minutes.timed(step.part, number) as spent:
                    counts.append(tested(step, lane.before, spent))

    with ThreadPoolExecutor(len(beside) or 1) as pool:
        running = [pool.submit(run, number, lane) for number, lane in enumerate(beside, 1)]
        try:
            yield counts
            for future in running:
                future.result()
        finally:
            interrupted.set()


def _ended(status: int, report: Path) -> Count:
    if not report.is_file():
        return Count(failed=1)
    count = counted(report)
    if status not in (0, NOTHING_COLLECTED) and count.failed == 0:
        return count + Count(failed=1)
    return count


def tested_pages() -> Count:
    """Check and test the web pages; a vitest that ended without a report is one failure."""
    pages.prepare()
    total = Count()
    for name, _ in pages.CHECKS:
        announce(name)
        total += Count(passed=1) if pages.check(name) else Count(failed=1)
    announce("cockpit-plugin/test")
    with TemporaryDirectory(prefix="millrace-test-") as directory:
        report = Path(directory) / "report.xml"
        status = pages.run_tests(report)
        count = counted(report) if report.is_file() else Count()
    return total + (count + Count(failed=1) if status and count.failed == 0 else count)


def tested_manual() -> Count:
    """Build the manual; a link or an anchor that leads nowhere is a failure."""
    announce("docs")
    if complaint := docs.check(caches()):
        print(complaint)
    return Count(failed=1) if complaint else Count(passed=1)


@contextmanager
def building(parts: Sequence[str], stock: bool = False) -> Iterator[Images]:
    """Bring the images of these parts up to date while the context lasts, nicer than what runs meanwhile.

    With `stock` the appliance's has Debian's kernel modules.
    """

    def build_client() -> None:
        appliance.result()
        build.build_client()

    pool = ThreadPoolExecutor(1, initializer=os.nice, initargs=(NICE,))
    images: Images = {}
    if set(parts) & set(IMAGE_NEEDED):
        appliance = pool.submit(build.build_appliance, stock=stock)
        images = dict.fromkeys(IMAGE_NEEDED, appliance)
    if clients := {"vm", "soak"} & set(parts):
        images |= dict.fromkeys(clients, pool.submit(build_client))
    try:
        yield images
    finally:
        pool.shutdown(cancel_futures=True)


def wait_for_image(step: Step, images: Images, minutes: Minutes, lane: int = 0) -> None:
    """Return when a step has what it needs; Failed where that cannot be built. A wait counts for its lane."""
    if step.part in images and not images[step.part].done():
        with minutes.timed("image", lane):
            images[step.part].result()
    elif step.part in images:
        images[step.part].result()


def run_step(step: Step, images: Images, minutes: Minutes) -> Count:
    """Run a step of the first lane and what belongs to its part besides."""
    wait_for_image(step, images, minutes)
    with minutes.timed(step.part, 0) as spent:
        return _run_step(step, spent)


def _run_step(step: Step, spent: Spent) -> Count:
    if step.part == "pages":
        return tested_pages()
    if step.part == "docs":
        return tested_manual()
    if step.part == "unit":
        return sum((checked(name, argv) for name, argv in lint.CHECKS.items()), Count()) + tested(step, spent=spent)
    return tested(step, spent=spent)


def main(arguments: list[str]) -> int:
    """Run tests; 0 where none failed."""
    if arguments[:1] == ["mutants"]:
        from host import mutants

        return mutants.main(arguments[1:])
    if arguments[:1] == ["fuzz"]:
        from host import fuzz

        return fuzz.main(arguments[1:])
    if any(argument.startswith("--due") for argument in arguments):
        from host import soak

        return soak.main(arguments)
    parser = argparse.ArgumentParser(prog="tools/test", description="Run the tests.", epilog=f"{MUTANTS} {FUZZ} {DUE}")
    parser.add_argument("part", nargs="*", help=f"{', '.join(PARTS)} (default: all), or by hand {', '.join(BY_HAND)}")
    parser.add_argument("--stock-modules", action="store_true", help="test the image with Debian's kernel modules")
    parsed = parser.parse_args(arguments)
    chosen = parsed.part or list(PARTS)
    if unknown := [part for part in chosen if part not in (*PARTS, *BY_HAND)]:
        parser.error(f"there is no part {unknown[0]!r}, only {', '.join((*PARTS, *BY_HAND))}")
    first, *beside = lanes(chosen, free_memory(), os.cpu_count() or 1)
    # A build takes one processor, so do the parts that need none.
    minutes = Minutes(MINUTES)
    with building(chosen, parsed.stock_modules) as images, run_beside(beside, images, minutes) as counts:
        total = sum((run_step(step, images, minutes) for step in first.steps), Count())
    total = sum(counts, total)
    print("\n".join([*minutes.lines(), str(total)]))
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    finish(main)
