# SPDX-License-Identifier: Apache-2.0
"""What the suites print, as the result of each of their tests: passed, failed or skipped."""

import re
from collections.abc import Iterable
from typing import Final

from host.soak_rows import FAILED, PASSED, SKIPPED

# subunit, as smbtorture writes it with --format=subunit; what follows in brackets, to a line of its own, is the reason
_SUBUNIT: Final = re.compile(r"(test|success|failure|error|skip): (.+?)( \[)?")
_OF_SUBUNIT: Final = {"success": PASSED, "failure": FAILED, "error": FAILED, "skip": SKIPPED}
# `CODE  module.function  : RESULT`; a warning is a success that could be nicer (nfs4.1/testmod.py)
_PYNFS: Final = re.compile(r"(\w+) +\S+ +: (PASS|WARNING|FAILURE|UNSUPPORTED|OMIT)")
_OF_PYNFS: Final = {"PASS": PASSED, "WARNING": PASSED, "FAILURE": FAILED, "UNSUPPORTED": SKIPPED, "OMIT": SKIPPED}
_PJDFSTEST: Final = re.compile(r"(\w+(?:::\w+)+) +(ok|FAILED|skipped)")
_OF_PJDFSTEST: Final = {"ok": PASSED, "FAILED": FAILED, "skipped": SKIPPED}


def of_smbtorture(output: str) -> dict[str, str]:
    """Return the results of smbtorture by the full name of each test; a test that did not end failed."""
    results: dict[str, str] = {}
    quoted = False
    for line in output.splitlines():
        if quoted:
            quoted = line != "]"
        elif match := _SUBUNIT.fullmatch(line):
            word, test, bracket = match.groups()
            results[test] = _OF_SUBUNIT.get(word, FAILED)
            quoted = bracket is not None
    return results


def of_pynfs(output: str) -> dict[str, str]:
    """Return the results of pynfs by the code of each test, from the list at the end of its output."""
    matches = (_PYNFS.fullmatch(line.rstrip()) for line in output.splitlines())
    return {match[1]: _OF_PYNFS[match[2]] for match in matches if match}


def of_pjdfstest(output: str) -> dict[str, str]:
    """Return the results of pjdfstest by the name of each test."""
    matches = (_PJDFSTEST.fullmatch(line) for line in output.splitlines())
    return {match[1]: _OF_PJDFSTEST[match[2]] for match in matches if match}


def tests_of_smbtorture(listed: str) -> list[str]:
    """Return the full names of all tests that `smbtorture --list` prints, as its results name them.

    A group of a single test of the same name is listed with that name twice.
    """
    return [re.sub(r"^(.+)\.([^.]+)\.\2$", r"\1.\2", line) for line in listed.splitlines() if line.startswith("smb2.")]


def groups_of(tests: Iterable[str]) -> list[str]:
    """Return the groups of tests of smbtorture, such as `smb2.lock`, in the order of their first tests."""
    return list(dict.fromkeys(".".join(test.split(".")[:2]) for test in tests))


def not_ended(results: dict[str, str], tests: Iterable[str]) -> list[str]:
    """Return the tests that have no result."""
    return [test for test in tests if test not in results]
