# SPDX-License-Identifier: Apache-2.0
"""The bays of enclosures that speak SES."""

from collections.abc import Iterator
from pathlib import Path

from millrace.system import sysfs


def bays(sysroot: Path) -> dict[Path, str]:
    """Return the names of bays by the sysfs directory of the device in them."""
    return {device: component.name for device, component in _components(sysroot)}


def locate_led(sysroot: Path, device: Path) -> Path | None:
    """Return the attribute of the locate LED of a device's bay; None where its enclosure has none."""
    found = (component / "locate" for held, component in _components(sysroot) if held == device)
    return next((led for led in found if led.exists()), None)


def _components(sysroot: Path) -> Iterator[tuple[Path, Path]]:
    """The device in each bay, and the directory of the bay."""
    directory = sysroot / "sys/class/enclosure"
    for enclosure in sysfs.names(directory):
        for component in sysfs.names(directory / enclosure):
            device = directory / enclosure / component / "device"
            if device.is_symlink() and sysfs.text(directory / enclosure / component / "slot"):
                yield device.resolve(), directory / enclosure / component
