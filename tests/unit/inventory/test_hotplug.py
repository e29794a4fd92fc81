# SPDX-License-Identifier: Apache-2.0
"""Empty hot-plug slots for which the firmware left no addresses are found, by the number on the chassis."""

from pathlib import Path

from millrace.inventory.hotplug import without_addresses
from tests.fakes.drives.slots import WINDOW, add_slot


def test_empty_slot_without_memory_window_is_found(tmp_path: Path) -> None:
    add_slot(tmp_path, "0000:20:03.0", 4)
    (found,) = without_addresses(tmp_path)
    assert (found.service, found.name, found.is_watched) == ("0000:20:03.0:pcie004", "slot 4", True)


def test_slot_with_window_or_with_a_drive_is_left_alone(tmp_path: Path) -> None:
    add_slot(tmp_path, "0000:20:01.0", 2, window=WINDOW)
    add_slot(tmp_path, "0000:20:02.0", 3, device="0000:23:00.0")
    assert without_addresses(tmp_path) == []


def test_slot_that_nothing_watches_is_found_as_such(tmp_path: Path) -> None:
    (add_slot(tmp_path, "0000:20:03.0", 4) / "driver").unlink()
    (found,) = without_addresses(tmp_path)
    assert not found.is_watched


def test_slot_whose_configuration_cannot_be_read_is_named_by_its_port(tmp_path: Path) -> None:
    service = add_slot(tmp_path, "0000:20:03.0", 4)
    (service.parent / "config").write_bytes(b"\0" * 64)
    (found,) = without_addresses(tmp_path)
    assert found.name == "the slot at 0000:20:03.0"


def test_services_that_are_not_hot_plug_are_no_slots(tmp_path: Path) -> None:
    service = add_slot(tmp_path, "0000:20:03.0", 4)
    devices = tmp_path / "sys/bus/pci_express/devices"
    (devices / service.name).rename(devices / "0000:20:03.0:pcie002")
    assert without_addresses(tmp_path) == []


def test_server_without_pcie_ports_has_no_slots(tmp_path: Path) -> None:
    assert without_addresses(tmp_path) == []
