# SPDX-License-Identifier: Apache-2.0
"""A server with nine drives that are not blank, each in another way: it refuses, and nothing is written.

The module that imports these stories has a fixture `server`, the server without those drives.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm import occupied
from tests.vm.box import Box, credentials
from vm.accel import Accel
from vm.appliance import Appliance, appliance
from vm.server import Server


@pytest.fixture(scope="module")
def machine(
    server: Server, image: Path, accelerator: Accel, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Appliance]:
    """The server, switched off; it has more bays than it would."""
    last = len(server.nodes) - 1
    extra = (dataclasses.replace(drive, node=min(drive.node, last)) for _, drive in occupied.DRIVES.values())
    full = dataclasses.replace(server, drives=(*server.drives, *extra))
    # what would be approved is built: nothing may be
    given = credentials(millrace__provision=b"auto")
    with appliance(full, image, tmp_path_factory.mktemp("occupied"), accelerator, credentials=given) as machine:
        occupied.occupy(machine)
        yield machine


@pytest.fixture(scope="module")
def before(machine: Appliance) -> dict[str, str]:
    """Checksums from before the first power-on."""
    return occupied.checksums(machine)


@pytest.fixture(scope="module")
def box(before: dict[str, str], machine: Appliance) -> Box:
    machine.start()
    box = Box(machine)
    box.wait_booted()
    return box


def test_every_occupied_drive_is_listed_with_its_content(box: Box) -> None:
    proposal = box.read_json("cat /run/millrace/plan.json")["proposal"]
    assert proposal["verdict"] == "refused"
    said: dict[str, str] = {}
    for obstacle in proposal["obstacles"]:
        for drive in obstacle["drives"]:
            said[drive["serial"]] = f"{said.get(drive['serial'], '')} {obstacle['what']}"
    for serial, (kind, _) in occupied.DRIVES.items():
        assert occupied.KINDS[kind][1] in said[serial], f"{kind}: {said[serial]}"
    # a drive that carries a pool is kept, whatever else is wrong with it
    (pool,) = (obstacle for obstacle in proposal["obstacles"] if "another Millrace pool" in obstacle["what"])
    assert "erase" not in pool["todo"]
    assert set(said) == set(occupied.DRIVES)


def test_occupied_drives_are_named_on_the_console_and_in_the_journal(box: Box) -> None:
    journal = box.say("journalctl -b -u millrace-plan --no-pager")
    for serial in occupied.DRIVES:
        assert serial in journal
        assert serial in box.machine.console


def test_provisioning_is_refused(box: Box) -> None:
    refused = box.millrace("provision", check=False)
    assert refused.status == 1
    assert len(refused.err.strip().splitlines()) == 1
    assert box.machine.run("test -e /var/lib/millrace/pool.json", check=False).status == 1


def test_server_without_a_pool_has_no_failed_unit(box: Box) -> None:
    assert box.failed_units() == []
    assert box.say("systemctl is-active cockpit.socket") == "active"
    for service in ("nfs-server", "smbd"):
        assert box.machine.run(f"systemctl is-active {service}", check=False).out.strip() == "inactive"


def test_occupied_drives_are_not_written(box: Box, machine: Appliance, before: dict[str, str]) -> None:
    blank = [drive for drive in machine.server.drives if drive.serial not in occupied.DRIVES]
    box.say("sync")
    assert occupied.checksums(machine) == before
    assert occupied.written(machine, blank) == []
