# SPDX-License-Identifier: Apache-2.0
"""Findings of the planner stay while the server runs, with the present links."""

from pathlib import Path

import pytest

from millrace.inventory.model import Inventory
from millrace.observe.health.checks import hardware
from millrace.observe.health.model import Level
from millrace.plan.policy.model import Policy
from millrace.plan.propose import plan_file, propose
from millrace.storage.record.model import MemberRecord
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.errors import BadInput
from millrace.system.run import Result
from tests.fakes import samples
from tests.fakes.error_counters import add_throttling
from tests.unit.observe.health.servers import host, sentences
from tests.unit.plan import servers_hw


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    return tmp_path


def seen(inventory: Inventory) -> None:
    """A server that was looked at and planned in this boot."""
    write_model(paths.inventory_file(), inventory)
    write_model(paths.plan_file(), plan_file(propose(inventory, Policy())))


def test_a_server_that_is_well_says_so(root: Path) -> None:
    seen(servers_hw.one_u_12())
    [finding] = hardware.check(host())
    assert finding.level is Level.OK


def test_what_is_good_to_know_has_no_remedy(root: Path) -> None:
    seen(servers_hw.hot_and_worn())
    findings = hardware.check(host())
    assert "OK: drives of model" in sentences(findings) and "Firmware versions differ" in sentences(findings)
    # what is merely good to know asks for nothing
    assert [(finding.level, finding.todo) for finding in findings] == [(Level.OK, None)] * len(findings)
    # what SMART says is for the check of the drives, with the values of now
    assert "power-loss protection" not in sentences(findings)


def test_a_link_that_has_become_slow_since_the_boot(root: Path) -> None:
    seen(servers_hw.one_u_12())
    function = root / "sys/bus/pci/devices/0000:04:00.0"
    function.mkdir(parents=True)
    for name, text in {
        "current_link_speed": "2.5 GT/s PCIe",
        "max_link_speed": "32.0 GT/s PCIe",
        "current_link_width": "4",
        "max_link_width": "4",
    }.items():
        (function / name).write_text(f"{text}\n")
    report = sentences(hardware.check(host()))
    assert "WARN: SN004: The link runs at 2.5 GT/s ×4; the drive supports 32 GT/s ×4." in report
    assert "WARN: data drives: PCIe links differ" in report


def test_link_of_a_network_card_that_has_become_narrow_since_the_boot(root: Path) -> None:
    inventory = servers_hw.one_u_12()
    seen(inventory)
    address = next(nic.pci_address for nic in inventory.nics if nic.pci_address)
    function = root / "sys/bus/pci/devices" / address
    function.mkdir(parents=True)
    for name, text in {
        "current_link_speed": "32.0 GT/s PCIe",
        "max_link_speed": "32.0 GT/s PCIe",
        "current_link_width": "4",
        "max_link_width": "16",
    }.items():
        (function / name).write_text(f"{text}\n")
    report = sentences(hardware.check(host()))
    assert f"WARN: {address}: The link runs at 32 GT/s ×4; the network card supports 32 GT/s ×16." in report


def test_heat_of_processors_is_for_the_check_that_knows_when_it_ended(root: Path) -> None:
    inventory = servers_hw.one_u_12()
    seen(inventory)
    for node in inventory.nodes:
        counter = root / f"sys/devices/system/cpu/cpu{node.cpus[0]}/thermal_throttle/core_throttle_count"
        counter.parent.mkdir(parents=True)
        counter.write_text("7\n")
    assert "Heat has throttled" in sentences(hardware.check(host()))
    add_throttling(root, 0, 0, 7)
    assert "Heat has throttled" not in sentences(hardware.check(host()))


def test_drives_of_the_pool_count_and_not_those_that_this_boot_would_take(root: Path) -> None:
    seen(servers_hw.hot_and_worn())
    write_model(paths.pool_file(), samples.pool())
    assert "SN002" not in sentences(hardware.check(host()))
    assert not paths.approved_plan_file().exists()


def test_drive_that_replaced_one_of_the_plan_is_audited_and_the_old_one_is_not(root: Path) -> None:
    inventory = servers_hw.one_u_12()
    seen(inventory)
    link = servers_hw.GEN4_X4
    drives = [
        drive.model_copy(update={"link": link}) if drive.serial == "SN004" else drive for drive in inventory.drives
    ]
    new = next(drive for drive in drives if drive.serial == "SN004").model_copy(
        update={"serial": "NEW", "name": "nvme99n1"}
    )
    write_model(paths.inventory_file(), inventory.model_copy(update={"drives": [*drives, new]}))
    assert "1 at 16 GT/s" in sentences(hardware.check(host()))

    def pool_of(*serials: str) -> None:
        made = samples.pool()
        members = [MemberRecord(serial=one, wwid="", partuuid="", label="") for one in serials]
        write_model(
            paths.pool_file(),
            made.model_copy(update={"arrays": [made.arrays[0].model_copy(update={"members": members})]}),
        )

    rest = [f"SN{number:03}" for number in range(10) if number != 4]
    pool_of(*rest)
    assert "GT/s" not in sentences(hardware.check(host()))
    pool_of(*rest, "NEW")
    assert "move these drives to slots with the faster link: new" in sentences(hardware.check(host())).lower()


def test_nothing_is_said_before_there_is_a_plan(root: Path) -> None:
    assert hardware.check(host()) == []
    seen(servers_hw.duplicate_serials())
    assert hardware.check(host()) == []


def test_an_inventory_that_is_torn_is_named(root: Path) -> None:
    seen(servers_hw.one_u_12())
    paths.inventory_file().write_text(paths.inventory_file().read_text()[:1000])
    with pytest.raises(BadInput, match=r"inventory\.json: "):
        hardware.check(host())


@pytest.mark.parametrize(
    ("answer", "level", "sentence"),
    [
        ("starting", Level.WARN, "The hardware has not been inspected yet."),
        ("running", Level.UNKNOWN, "The hardware has not been inspected in this boot."),
    ],
)
def test_server_that_serves_before_its_inventory_is_there(root: Path, answer: str, level: Level, sentence: str) -> None:
    seen(servers_hw.one_u_12())
    paths.inventory_file().unlink()
    [finding] = hardware.check(host(running=Result(0, f"{answer}\n", "")))
    assert (finding.level, finding.sentence) == (level, sentence)
    assert finding.todo == "systemctl status millrace-inventory"
