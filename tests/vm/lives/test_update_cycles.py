# SPDX-License-Identifier: Apache-2.0
"""Good, broken, good: versions are accepted and go back by themselves again and again, under a client that writes.

Each cycle is an accepted update, a rollback, and an update that does not serve and goes back after three tries.
"""

import time
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from itertools import pairwise

import pytest

from tests.vm.box import Box
from tests.vm.lives.cycles import CYCLES, free, print_table
from tests.vm.lives.release import KEYS, LISTED, NEW, OLD, Made, served
from tests.vm.lives.test_update import BOOT, DROP_INS, FAULT, box, rebooted, restarting, version, written
from vm.machine import Machine

# an image, and six boots for each cycle
pytestmark = pytest.mark.soak

__all__ = ["box"]

COLUMNS = ("cycle", "accepted, s", "rolled back, s", "went back, s", "lines of the client", "root free, MiB")
BACK = "grep -q failed /var/lib/millrace/update/last.json && ! test -e /var/lib/millrace/update/before.json"


@dataclass(frozen=True)
class Row:
    """Seconds on the host until the server served again; the free space is that of the boot drive, in MiB."""

    cycle: int
    accepted: int
    rolled_back: int
    went_back: int
    lines: int
    root_free: int


@pytest.fixture(scope="module")
def rows(box: Box, release: Made) -> Iterator[list[Row]]:
    """The table, of a server that has the key of the release."""
    box.machine.run(f"base64 -d > {KEYS}", stdin=release.public)
    found: list[Row] = []
    yield found
    print_table(COLUMNS, [astuple(row) for row in found])


def applied(box: Box, release: Made, *more: str) -> None:
    with served(release.directory) as url:
        box.millrace(f"update source {url}")
        restarting(box, "apply", *more)


def entries(box: Box) -> list[str]:
    return box.say(LISTED).splitlines()


@pytest.mark.parametrize("cycle", range(1, CYCLES + 1))
def test_good_broken_good(box: Box, client: Machine, release: Made, rows: list[Row], cycle: int) -> None:
    box.machine.run(f"base64 -d > {KEYS}", stdin=release.public)
    # a version that failed in the cycle before is not offered without the option
    again = [] if cycle == 1 else ["--again"]
    lines, began = written(client), time.monotonic()
    box.say(f"rm -rf {DROP_INS}")
    boot = box.say(f"cat {BOOT}")
    applied(box, release, *again)
    rebooted(box, boot)
    assert version(box) == NEW
    box.machine.wait_command(f"{LISTED} | grep -x millrace_{NEW}.efi", "the acceptance", 900)
    accepted = time.monotonic()

    boot = box.say(f"cat {BOOT}")
    restarting(box, "rollback")
    rebooted(box, boot)
    assert version(box) == OLD
    rolled_back = time.monotonic()

    box.machine.run(f"mkdir -p {DROP_INS} && cat > {DROP_INS}/fault.conf", stdin=FAULT)
    applied(box, release, *again)
    box.machine.wait_command(BACK, "the version before", 5400)
    box.wait_serving()
    went_back = time.monotonic()
    assert (version(box), box.shown("update status --json")["last"]["state"]) == (OLD, "failed")
    assert box.failed_units() == []

    # nothing piles up on the boot drive, and the client has lost nothing
    assert len(entries(box)) <= 2
    assert box.say("ls /var/lib/millrace/update/staged 2>/dev/null; true") == ""
    now = written(client)
    assert now > lines
    times = (began, accepted, rolled_back, went_back)
    seconds = [round(until - since) for since, until in pairwise(times)]
    rows.append(Row(cycle, *seconds, now, free(box, "/")))
    # a run that is ended before its last cycle has them too
    print(rows[-1])
