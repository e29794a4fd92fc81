# SPDX-License-Identifier: Apache-2.0
"""Samba's own torture tests: no failure beyond the recorded baseline, and no fewer tests that pass."""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.box import Box
from tests.vm.shares.words import HOST
from vm.machine import Machine

pytestmark = pytest.mark.usefixtures("models")

BASELINE = Path(__file__).parent / "smbtorture.baseline"

Suite = tuple[str, str]


def baseline() -> tuple[dict[Suite, int], dict[Suite, set[str]]]:
    """How many tests of each suite on each share pass, and which fail."""
    passes: dict[Suite, int] = {}
    fails: dict[Suite, set[str]] = defaultdict(set)
    for line in BASELINE.read_text().splitlines():
        word, _, rest = line.partition(" ")
        if word == "passes":
            share, suite, number = rest.split()
            passes[share, suite] = int(number)
        elif word == "fails":
            share, suite, test, _ = rest.split(maxsplit=3)
            fails[share, suite].add(test)
    return passes, fails


PASSES, FAILS = baseline()
# Locks, which clients notice first.
ALWAYS = {("private", "lock")}


@pytest.fixture(scope="module")
def torture(box: Box) -> Iterator[None]:
    box.millrace("share create torture --type training --no-nfs --smb-user anna", seconds=600)
    box.millrace("share create private --type home --no-nfs --smb-user anna", seconds=600)
    yield
    for name in ("torture", "private"):
        box.millrace(f"share remove {name} --delete-data {name}", seconds=600)


@pytest.mark.usefixtures("torture")
@pytest.mark.parametrize(
    ("share", "suite"),
    [pytest.param(*one, marks=[] if one in ALWAYS else [pytest.mark.soak]) for one in PASSES],
)
def test_no_failure_beyond_the_baseline(client: Machine, share: str, suite: str) -> None:
    command = f"smbtorture --format=subunit -A /run/anna //{HOST}/{share} smb2.{suite}"
    done = client.run(f"timeout 300 {command}", check=False, seconds=400)
    succeeded = re.findall(r"^success: (\S+)", done.out, re.MULTILINE)
    failed = set(re.findall(r"^(?:failure|error): (\S+)", done.out, re.MULTILINE))
    assert failed <= FAILS[share, suite], done.out
    assert len(succeeded) >= PASSES[share, suite], done.out + done.err
