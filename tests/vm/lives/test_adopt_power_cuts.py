# SPDX-License-Identifier: Apache-2.0
"""The power fails while a pool is adopted: the next boot goes on, and the server is the one that was kept.

The unit tests cut at each write; here it is a booted server, at three steps.
"""

from pathlib import Path

import pytest

from tests.vm.lives.test_adopt import SERVER, before, directory, identity, lose_boot_drive, started
from vm.accel import Accel
from vm.link import Cables

# three times two boots, after the one that builds the pool
pytestmark = pytest.mark.soak

__all__ = ["before", "directory"]

STEPS = ("files", "accounts", "ports", "services", "pool")
PROGRESS = "/run/millrace/adoption-progress.json"


@pytest.mark.parametrize("step", ["files", "accounts", "services"])
def test_power_cut_within_an_adoption_is_gone_on_with(
    image: Path, accelerator: Accel, cables: Cables, directory: Path, before: dict[str, str], step: str
) -> None:
    # a step may be over before the guest has looked twice
    reached = "|".join(STEPS[STEPS.index(step) :])
    # its boot drive is lost already
    with started(image, accelerator, cables, directory, SERVER) as box:
        box.wait_booted()
        box.millrace("pool adopt --yes --detach", seconds=900)
        box.say(f"until grep -qsE '\"({reached})\"' {PROGRESS}; do :; done", seconds=900)
        assert box.say("ls /var/lib/millrace/adoption.json 2>/dev/null; true") != "", "the adoption was over already"
        box.machine.power_cut()
    with started(image, accelerator, cables, directory, SERVER) as box:
        box.wait_serving()
        box.machine.wait_command("! test -e /var/lib/millrace/adoption.json", "the end of the adoption", 900)
        assert identity(box) == before
        assert box.failed_units() == []
        box.machine.power_cut()
    lose_boot_drive(directory)
