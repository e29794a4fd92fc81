# SPDX-License-Identifier: Apache-2.0
"""Hot-plug slots of a fake sysfs as the kernel 7.2 shows them."""

from pathlib import Path

NO_WINDOW = "0x0000000000000000 0x0000000000000000 0x0000000000000000"
WINDOW = "0x00000000c0900000 0x00000000c09fffff 0x0000000000000200"
# BARs, ROM and SR-IOV come before the windows
BEFORE = 13


def add_slot(root: Path, port: str, number: int, *, window: str = NO_WINDOW, device: str | None = None) -> Path:
    """A port with a watched slot; `device` is the address of what is in it. Return the directory of its service."""
    directory = root / "sys/devices/pci0000:20" / port
    service = directory / f"{port}:pcie004"
    service.mkdir(parents=True)
    if device:
        (directory / device).mkdir()
    (directory / "resource").write_text("\n".join([NO_WINDOW] * (BEFORE + 1) + [window, NO_WINDOW, NO_WINDOW]) + "\n")
    # power management, then PCI Express with the capabilities of the slot
    config = bytearray(256)
    config[0x34], config[0x40:0x42], config[0x48] = 0x40, bytes([0x01, 0x48]), 0x10
    config[0x48 + 0x14 : 0x48 + 0x18] = (number << 19 | 0x7B).to_bytes(4, "little")
    (directory / "config").write_bytes(bytes(config))
    devices, driver = root / "sys/bus/pci_express/devices", root / "sys/bus/pci_express/drivers/pciehp"
    for path in (devices, driver):
        path.mkdir(parents=True, exist_ok=True)
    for name in ("bind", "unbind"):
        (driver / name).touch()
    (devices / service.name).symlink_to(service)
    (service / "driver").symlink_to(driver)
    return service


def obey(root: Path) -> None:
    """Do what was written to the driver's `bind` and `unbind`, as the kernel does at once."""
    devices, driver = root / "sys/bus/pci_express/devices", root / "sys/bus/pci_express/drivers/pciehp"
    for name in (driver / "unbind").read_text().split():
        (devices / name / "driver").unlink()
    for name in (driver / "bind").read_text().split():
        (devices / name / "driver").symlink_to(driver)
