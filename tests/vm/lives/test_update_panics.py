# SPDX-License-Identifier: Apache-2.0
"""A version that does not start is installed again and again under a client that writes, and goes back by itself."""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path

import pytest

from tests.vm import given_up
from tests.vm.box import Box
from tests.vm.lives.cycles import CYCLES, free, print_table
from tests.vm.lives.test_update import BOOT, in_use, rebooted, written
from vm.accel import Accel
from vm.agent import StartedAgain
from vm.link import Cables
from vm.machine import Machine

# a boot and three short ones for each cycle
pytestmark = pytest.mark.soak

COLUMNS = (
    "cycle",
    "installed, s",
    "went back, s",
    "lines of the client",
    "root free, MiB",
    "boot partition free, MiB",
)


@dataclass(frozen=True)
class Row:
    """Seconds on the host: of the installation, and until the version before served again; free space in MiB."""

    cycle: int
    installed: int
    went_back: int
    lines: int
    root_free: int
    boot_free: int


@pytest.fixture(scope="module")
def box(
    image: Path, accelerator: Accel, cables: Cables, client: Machine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Box]:
    with in_use(image, accelerator, cables, client, tmp_path_factory.mktemp("panics")) as box:
        yield box


@pytest.fixture(scope="module")
def rows() -> Iterator[list[Row]]:
    """The table."""
    found: list[Row] = []
    yield found
    print_table(COLUMNS, [astuple(row) for row in found])


@pytest.mark.parametrize("cycle", range(1, CYCLES + 1))
def test_good_panics_good(
    box: Box, client: Machine, unstartable: given_up.Unstartable, rows: list[Row], cycle: int
) -> None:
    lines, boot, began = written(client), box.say(f"cat {BOOT}"), time.monotonic()
    # a version that failed in the cycle before is not offered without the option
    given_up.install(box, unstartable, *([] if cycle == 1 else ["--again"]))
    installed = time.monotonic()
    with suppress(StartedAgain):
        box.say("systemctl --no-block reboot")
    rebooted(box, boot)
    went_back = time.monotonic()
    given_up.see_failed(box)
    assert box.failed_units() == []
    # nothing piles up on the boot drive, and the client has lost nothing
    assert box.say(f"ls {given_up.UPDATES}/staged 2>/dev/null; true") == ""
    now = written(client)
    assert now > lines
    seconds = [round(installed - began), round(went_back - installed)]
    rows.append(Row(cycle, *seconds, now, free(box, "/"), free(box, "$(bootctl --print-boot-path)")))
    # a run that is ended before its last cycle has them too
    print(rows[-1])
