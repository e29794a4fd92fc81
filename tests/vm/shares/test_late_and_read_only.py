# SPDX-License-Identifier: Apache-2.0
"""A boot without what it expects: drives and network come two minutes late, or the boot drive is read-only."""

from collections.abc import Iterator

import pytest

from tests.vm.box import Box
from tests.vm.shares.words import PASSWORD, listed_over_smb, nfs, smb
from vm.machine import Machine

pytestmark = [pytest.mark.usefixtures("models"), pytest.mark.soak]

LATE = 120
"""Seconds of the server's own clock."""
WRONG = "systemctl list-units --state=failed,auto-restart --plain --no-legend"
# The two data ports; management is in none of these stories.
LINKS = ("data0", "data1")


def served(client: Machine) -> None:
    with nfs(client, "models") as where:
        client.run(f"ls {where}", seconds=900)
    assert "models" in listed_over_smb(client)
    with smb(client, "models") as where:
        client.run(f"ls {where}", seconds=900)


@pytest.fixture
def late(box: Box) -> Iterator[list[str]]:
    """The server starts without two of its drives, more than its array can lose, and without its network."""
    drives = sorted(box.members_by_serial("data"))[-2:]
    box.machine.shutdown()
    box.machine.empty = set(drives)
    box.machine.start()
    for name in LINKS:
        box.machine.qmp("set_link", name=name, up=False)
    box.machine.wait_agent()
    try:
        yield drives
    finally:
        for name in LINKS:
            box.machine.qmp("set_link", name=name, up=True)
        for serial in set(box.machine.empty):
            box.machine.put_in(serial)


def test_drives_and_network_that_are_two_minutes_late_are_served_by_themselves(
    box: Box, client: Machine, late: list[str]
) -> None:
    box.wait_booted()
    box.machine.wait_command(f"[ $(cut -d. -f1 /proc/uptime) -gt {LATE} ]", "two minutes", 1800)
    assert "millrace-assemble.service" in box.say(WRONG)
    assert box.say("systemctl is-active nfs-server.service smbd.service; true").split() == ["inactive", "inactive"]
    for name in LINKS:
        box.machine.qmp("set_link", name=name, up=True)
    for serial in late:
        box.machine.put_in(serial)
    box.wait_serving()
    served(client)
    box.machine.wait_command(f'test -z "$({WRONG})"', "the end of all failures", 300)


@pytest.fixture
def read_only(box: Box) -> Iterator[None]:
    """The boot drive cannot be written: as one is mounted that says of itself that it is read-only."""
    # what a boot has to write once is there
    box.say("systemctl start millrace-keep.service", seconds=600)
    box.machine.shutdown()
    box.machine.cmdline = ["ro"]
    box.machine.start()
    box.machine.wait_agent()
    try:
        yield
    finally:
        box.machine.power_cut()
        box.machine.cmdline = []
        box.machine.start()
        box.machine.wait_agent()
        box.wait_serving()


@pytest.mark.usefixtures("read_only")
def test_boot_drive_that_is_read_only_serves_all_shares_and_is_named(box: Box, client: Machine) -> None:
    assert "ro" in box.say("findmnt --noheadings --output OPTIONS /").split(",")
    box.wait_serving()
    served(client)
    assert "/srv/pool/models" in box.say("exportfs -s")
    assert box.say("findmnt --noheadings --output TARGET /var/lib/samba") == "/var/lib/samba"
    findings = box.shown("health --json")["findings"]
    [root] = [finding for finding in findings if finding["check"] == "root" and finding["level"] == "FAIL"]
    assert root["sentence"] == "The root file system is read-only: changes are lost."
    for finding in findings:
        if finding["check"] == "units" and finding["level"] != "OK":
            assert finding["todo"].startswith("Make the boot drive writable first: "), finding
    # nothing that serves is among what cannot write
    failed = {line.split()[0] for line in box.say(WRONG).splitlines()}
    print(sorted(failed))
    assert not failed & {f"millrace-{name}.service" for name in ("share", "users", "tune", "assemble", "lock-records")}
    # a change that would be lost is refused, and says why
    refused = box.machine.run(
        ["millrace", "user", "create", "carl", "--password-stdin"], stdin=PASSWORD + "\n", seconds=300, check=False
    )
    assert refused.status == 1 and "Read-only file system" in refused.err


def test_boot_drive_that_can_be_written_again_has_all_as_before(box: Box, client: Machine) -> None:
    assert "rw" in box.say("findmnt --noheadings --output OPTIONS /").split(",")
    assert box.say("findmnt --noheadings --output TARGET /var/lib/samba; true") == ""
    served(client)
    box.wait_booted()
    assert box.say(WRONG) == ""
