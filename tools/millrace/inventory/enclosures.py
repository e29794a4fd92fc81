# SPDX-License-Identifier: Apache-2.0
"""The bays of enclosures that speak SES."""

from pathlib import Path

from millrace.system import sysfs


def bays(sysroot: Path) -> dict[Path, str]:
    """Return the names of bays by the sysfs directory of the device in them."""
    directory = sysroot / "sys/class/enclosure"
    found = {}
    for enclosure in sysfs.names(directory):
        for component in sysfs.names(directory / enclosure):
            device = directory / enclosure / component / "device"
            if device.is_symlink() and sysfs.text(directory / enclosure / component / "slot"):
                found[device.resolve()] = component
    return found
