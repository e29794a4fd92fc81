# SPDX-License-Identifier: Apache-2.0
"""The boot drive is full and the power fails: what was served is served, and what failed ends when there is room."""

from collections.abc import Iterator

import pytest

from tests.vm.box import Box
from tests.vm.shares.words import PASSWORD, listed_over_smb, nfs
from vm.machine import Machine

pytestmark = [pytest.mark.usefixtures("models"), pytest.mark.soak]

FILLER, AGAIN = "/var/tmp/filler", "/var/tmp/filler-again"
USERS = "millrace-users.service"


def fill(where: str) -> str:
    """A shell line that fills the boot drive with files in a directory, ever smaller, to the last block."""
    return f"""
mkdir -p {where}; n=0
for size in 1G 128M 16M 2M 256K 32K 4K; do
    while fallocate -l $size {where}/$n 2>/dev/null; do n=$((n + 1)); done
    rm -f {where}/$n
done
sync -f /var; df --output=avail -k /var | tail -n 1
"""


WRONG = "systemctl list-units --state=failed,auto-restart --plain --no-legend"


@pytest.fixture(scope="module")
def full(box: Box, client: Machine) -> Iterator[None]:
    """A client uses a share; the boot drive is full, and the server loses its power."""
    box.machine.run(["millrace", "user", "create", "ben", "--password-stdin"], stdin=PASSWORD + "\n", seconds=300)
    with nfs(client, "models") as where:
        client.run(f"setpriv --reuid={box.say('id -u anna')} --clear-groups sh -c 'echo before > {where}/before'")
        assert int(box.say(fill(FILLER), seconds=600)) < 64
        box.machine.power_cut()
        box.machine.start()
        box.machine.wait_agent()
        try:
            yield
        finally:
            box.say(f"rm -rf {FILLER} {AGAIN}")
            box.millrace("user remove ben", seconds=300, check=False)


@pytest.mark.usefixtures("full")
def test_boot_drive_without_room_serves_all_shares(box: Box, client: Machine) -> None:
    box.wait_serving()
    # a boot removes some temporary files
    assert int(box.say("df --output=avail -k /var | tail -n 1")) < 1024
    assert "/srv/pool/models" in box.say("exportfs -s")
    assert "/srv/pool/models" in box.say("cat /run/millrace/nfs/etab")
    # the mount goes on
    assert client.run("cat /mnt/share/before", seconds=900).out == "before\n"
    assert "models" in listed_over_smb(client)


@pytest.mark.usefixtures("full")
def test_only_what_has_something_to_write_fails_and_health_says_what_to_do(box: Box) -> None:
    box.wait_booted()
    assert box.say(WRONG) == ""
    # a user who is lost is made again; to lose one takes some room, too
    box.say(f"ls -S {FILLER} | head -n 1 | xargs -I@ rm {FILLER}/@; userdel ben")
    assert int(box.say(fill(AGAIN), seconds=600)) < 64
    box.machine.run(f"systemctl restart {USERS}", check=False, seconds=300)
    assert [line.split()[0] for line in box.say(WRONG).splitlines()] == [USERS]
    (finding,) = [finding for finding in box.shown("health --json")["findings"] if finding["check"] == "units"]
    assert finding["subject"] == USERS and "It is tried again by itself." in finding["sentence"]
    assert finding["todo"].startswith("Make room on the boot drive first: ")


@pytest.mark.usefixtures("full")
def test_failure_ends_by_itself_when_there_is_room(box: Box, client: Machine) -> None:
    box.say(f"rm -rf {FILLER} {AGAIN}")
    # two minutes, as the clock of the server goes
    box.machine.wait_command(f'getent passwd ben && test -z "$({WRONG})"', "the end of all failures", 120)
    assert client.run("cat /mnt/share/before", seconds=900).out == "before\n"
