# SPDX-License-Identifier: Apache-2.0
"""`tools/test`: every test, or the parts that are named, and a count at the end."""

import argparse
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from host import build, pages
from host.entry import finish
from host.layout import REPO

PARTS = ("unit", "pages", "image", "browser", "perf", "vm")
TYPED = ("tools/millrace", "tools/host", "tools/vm")
LINTED = ("tools", "tests")
# Two virtual servers, two clients, and what else there is.
MEMORY_OF_TWO = 16 << 30
# With fewer a domain controller answers too late for those who ask it.
PROCESSORS_OF_TWO = 4
# pytest(1): no tests were collected
NOTHING_COLLECTED = 5


@dataclass(frozen=True)
class Count:
    """How many tests ended how."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"


def _environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(REPO / "tools"), "PYTHONDONTWRITEBYTECODE": "1"}


def checked(title: str, argv: list[str]) -> Count:
    """Run a checker; it counts as one test."""
    print(f"== {title}", flush=True)
    done = subprocess.run([sys.executable, "-m", *argv], cwd=REPO, env=_environment(), check=False)
    return Count(failed=1) if done.returncode else Count(passed=1)


def counted(report: Path) -> Count:
    """Return the count of a JUnit report; an error of set-up or collection is a failure."""
    total = Count()
    for suite in ElementTree.parse(report).getroot().iter("testsuite"):
        tests, failures, errors, skipped = (int(suite.get(k, "0")) for k in ("tests", "failures", "errors", "skipped"))
        total += Count(tests - failures - errors - skipped, failures + errors, skipped)
    return total


def selections(part: str, memory: int, processors: int) -> list[list[str]]:
    """What of a part is run at the same time, as pytest's arguments; `memory` in bytes is free."""
    whole = f"tests/{part}"
    if part != "vm" or memory < MEMORY_OF_TWO or processors < PROCESSORS_OF_TWO:
        return [[whole]]
    # Each of these starts a virtual server and its client.
    apart = f"{whole}/shares"
    return [[apart], [whole, f"--ignore={apart}"]]


def free_memory() -> int:
    """Bytes that processes may still take (proc(5))."""
    (line,) = [line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable:")]
    return int(line.split()[1]) << 10


def tested(part: str) -> Count:
    """Run the tests of one part; a pytest that ended without a report is one failure."""
    print(f"== tests/{part}", flush=True)
    # Children that are interrupted are waited for: they switch their virtual servers off.
    with TemporaryDirectory(prefix="millrace-test-") as directory, ExitStack() as children:
        running = []
        for number, selection in enumerate(selections(part, free_memory(), os.cpu_count() or 1)):
            report = Path(directory) / f"{number}.xml"
            options = ["-q", "-p", "no:cacheprovider", "--durations=15", f"--junit-xml={report}"]
            argv = [sys.executable, "-m", "pytest", *options, *selection]
            process = children.enter_context(subprocess.Popen(argv, cwd=REPO, env=_environment()))
            running.append((process, report))
        return sum((_ended(process, report) for process, report in running), Count())


def _ended(process: subprocess.Popen[bytes], report: Path) -> Count:
    status = process.wait()
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
        print(f"== {name}", flush=True)
        total += Count(passed=1) if pages.check(name) else Count(failed=1)
    print("== cockpit-plugin/test", flush=True)
    with TemporaryDirectory(prefix="millrace-test-") as directory:
        report = Path(directory) / "report.xml"
        status = pages.run_tests(report)
        count = counted(report) if report.is_file() else Count()
    return total + (count + Count(failed=1) if status and count.failed == 0 else count)


def run_part(part: str) -> Count:
    """Prepare and run one part."""
    if part == "unit":
        lint = checked("ruff", ["ruff", "check", "--no-cache", *LINTED])
        types = checked("mypy", ["mypy", "--strict", f"--cache-dir={os.devnull}", *TYPED])
        return lint + types + tested(part)
    if part == "pages":
        return tested_pages()
    build.build_appliance()
    if part == "vm":
        build.build_client()
    return tested(part)


def main(arguments: list[str]) -> int:
    """Run tests; 0 where none failed."""
    parser = argparse.ArgumentParser(prog="tools/test", description="Run the tests.")
    parser.add_argument("part", nargs="*", help=f"{', '.join(PARTS)} (default: all)")
    chosen = parser.parse_args(arguments).part or list(PARTS)
    if unknown := [part for part in chosen if part not in PARTS]:
        parser.error(f"there is no part {unknown[0]!r}, only {', '.join(PARTS)}")
    total = Count()
    for part in chosen:
        total += run_part(part)
    print(total)
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    finish(main)
