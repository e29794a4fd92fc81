# SPDX-License-Identifier: Apache-2.0
"""A power cut while an update waits for its reboot, with a client that goes on.

The version does not start, so that the power cut ends with the version before. A reboot on purpose is told in
tests/vm/shares/test_state.py.
"""

import pytest

from tests.vm import given_up, measured, promises
from tests.vm.box import Box
from tests.vm.life.words import EXPORT, MOUNTPOINT, mounted
from vm.machine import Machine

pytestmark = pytest.mark.usefixtures("in_use")


WRITER = f"""
import os
log = open("/run/synced", "w")
file = os.open("{MOUNTPOINT}/journal", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
for number in range(1 << 20):
    os.write(file, number.to_bytes(8, "big") * 512)
    os.fsync(file)
    print(number, file=log, flush=True)
"""
READER = f"""
import sys
with open("{EXPORT}/journal", "rb") as file:
    for number in range(int(sys.argv[1]) + 1):
        assert file.read(4096) == number.to_bytes(8, "big") * 512, number
print("whole")
"""


def test_synced_data_survives_a_power_cut_and_an_update_that_does_not_start(
    box: Box, client: Machine, pattern: str, unstartable: given_up.Unstartable
) -> None:
    uuids = box.uuids()
    with mounted(client, "nfs-tcp") as where:
        old = f"{where}/by-smb"
        # by itself this story finds no file of the protocols'
        client.run(f"test -e {old} || dd if={pattern} of={old} bs=1M conv=fsync status=none", seconds=900)
        client.run("rm -f /run/synced; cat > /run/writer.py", stdin=WRITER)
        client.run("systemd-run --unit=writer python3 /run/writer.py")
        given_up.install(box, unstartable)
        client.wait_command("test $(wc -l < /run/synced) -ge 40", "forty records synced", 300)
        measured.leave_a_run_behind(box)
        box.machine.power_cut()
        # what the client was told to be safe before the power went
        synced = client.run("tail -n 1 /run/synced").out.strip()
        box.machine.start()
        given_up.see_three_tries(box.machine)
        box.wait_serving()
        assert box.machine.run(["python3", "-c", READER, synced]).out.strip() == "whole"
        # the client's hard mount goes on where it was
        client.wait_command(f"test $(tail -n 1 /run/synced) -gt {synced}", "the client's writes going on", 300)
        client.run("systemctl stop writer.service", seconds=300)
        client.run(f"cmp {pattern} {old}", seconds=900)
    box.wait_booted()
    given_up.see_version_before(box)
    assert box.failed_units() == []
    assert box.uuids() == uuids
    promises.everything(box)


def test_benchmark_is_cleaned_up_at_boot_after_a_power_cut(box: Box) -> None:
    measured.cleaned_up_at_boot(box)
