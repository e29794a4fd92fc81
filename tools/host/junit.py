# SPDX-License-Identifier: Apache-2.0
"""What pytest's JUnit report says: how many tests ended how, and which failed on a server whose emulator failed."""

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

from vm.machine import NO_TIMER


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


def counted(report: Path, without: frozenset[str] = frozenset()) -> Count:
    """Return the count of a report, less the tests `without` (node ids); an error of set-up is a failure."""
    total = Count()
    root = ElementTree.parse(report).getroot()
    for suite in root.iter("testsuite"):
        tests, failures, errors, skipped = (int(suite.get(k, "0")) for k in ("tests", "failures", "errors", "skipped"))
        total += Count(tests - failures - errors - skipped, failures + errors, skipped)
    again = sum(len(texts) for node, texts in _failures(root).items() if node in without)
    return total + Count(failed=-again)


def dearest(report: Path, most: int) -> list[tuple[str, float]]:
    """Return the files of tests that took longest, with their seconds, the longest first; `most` of them."""
    seconds: dict[str, float] = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = _node(case).partition("::")[0]
        seconds[name] = seconds.get(name, 0.0) + float(case.get("time", "0"))
    return sorted(seconds.items(), key=lambda one: -one[1])[:most]


def without_timer(report: Path) -> frozenset[str]:
    """Return the tests that failed because an emulated CPU of their server had no timer, by node id (pytest(1)).

    One that failed in another way, too, is not among them.
    """
    failures = _failures(ElementTree.parse(report).getroot())
    return frozenset(node for node, texts in failures.items() if all(NO_TIMER in text for text in texts))


def cases(report: Path) -> dict[str, tuple[str, float]]:
    """Return the result of each test, `passed`, `failed` or `skipped`, and its seconds, by node id (pytest(1))."""
    results: dict[str, tuple[str, float]] = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        ended = {element.tag for element in case}
        result = "failed" if ended & {"failure", "error"} else "skipped" if "skipped" in ended else "passed"
        # a test that fails and then cannot be torn down has two elements (junit-xml of pytest 8)
        before, seconds = results.get(_node(case), (result, 0.0))
        worst = "failed" if "failed" in (before, result) else result
        results[_node(case)] = worst, seconds + float(case.get("time", "0"))
    return results


def _failures(root: ElementTree.Element) -> dict[str, list[str]]:
    """Return what each test that failed said; one that failed at its end, too, has an element of its own for that."""
    found: dict[str, list[str]] = {}
    for case in root.iter("testcase"):
        for one in (*case.iter("failure"), *case.iter("error")):
            found.setdefault(_node(case), []).append(one.text or "")
    return found


def _node(case: ElementTree.Element) -> str:
    return f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name', '')}"
