# SPDX-License-Identifier: Apache-2.0
"""Last of this server: its boot drive is lost with the power, and a new one adopts the pool with all that it served.

A file's name decides when it runs: what comes after would find a server that was started again. tests/vm/lives has
adoption with locks, volumes, another chassis and a missing drive.
"""

import pytest

from tests.vm.box import Box
from tests.vm.lives.test_adopt import identity, lose_boot_drive
from tests.vm.shares.words import nfs, smb
from vm.machine import Machine

# Six minutes: it boots twice.
pytestmark = pytest.mark.soak

SERVED = ("share list --json", "user list --json")


def test_new_boot_drive_adopts_the_pool_and_a_mount_goes_on(box: Box, client: Machine, models: str) -> None:
    assert "models" in models
    with nfs(client, "models") as where:
        client.run(f"setpriv --reuid={box.say('id -u anna')} --clear-groups sh -c 'echo before > {where}/adopted'")
        client.run(f"sync {where}/adopted")
        before, served = identity(box), [box.shown(command) for command in SERVED]
        box.millrace("keep now", seconds=300)
        box.say("sync")
        box.machine.power_cut()
        lose_boot_drive(box.machine.files.directory)
        box.machine.start()

        # it was told to provision: a pool that is found comes first, and nothing is written
        box.machine.wait_agent()
        box.wait_booted()
        assert "millrace pool adopt" in box.millrace("status").out
        assert box.shown("pool find --json")["pool"]["missing"] == 0
        assert box.say("test -e /var/lib/millrace/pool.json || echo none") == "none"

        box.millrace("pool adopt --yes", seconds=900)
        box.wait_serving()
        assert (identity(box), [box.shown(command) for command in SERVED]) == (before, served)
        assert client.run(f"cat {where}/adopted", seconds=900).out == "before\n"
        assert client.run("dmesg | grep -i 'stale file handle'; true").out == ""
    with smb(client, "models") as where:
        assert client.run(f"cat {where}/adopted").out == "before\n"
    assert box.failed_units() == []
