# SPDX-License-Identifier: Apache-2.0
"""From the identity of a drive to its kernel name of this moment."""

from collections.abc import Iterable
from typing import Protocol

from millrace.inventory.model import Drive
from millrace.storage.array.machine import System
from millrace.system.errors import Refused


class AttachedIdentity(Protocol):
    """What identifies a drive in any slot of any server."""

    @property
    def serial(self) -> str:
        """The serial number that the drive itself reports."""
        ...

    @property
    def wwid(self) -> str:
        """The worldwide identifier: `eui.…`, `nvme.…` or `naa.…`."""
        ...


class Drives:
    """The drives of one scan. A name is returned only while the same disk is still behind it."""

    def __init__(self, system: System) -> None:
        self._system = system
        self.inventory = system.scan()
        self._attached = {drive.name: system.diskseq(drive.name) for drive in self.inventory.drives}

    def find(self, member: AttachedIdentity) -> Drive | None:
        """Return the one drive with this serial and this wwid; None if there is none or several."""
        hits = [d for d in self.inventory.drives if d.serial == member.serial and d.wwid == member.wwid]
        return hits[0] if len(hits) == 1 else None

    def current(self, member: AttachedIdentity) -> Drive:
        """Return the drive, verified to be still attached under the name that it was scanned under.

        Refused: it is missing, or was replaced since the scan.
        """
        drive = self.find(member)
        if drive is None:
            raise Refused(_absent([member.serial]))
        attached = self._attached[drive.name]
        if attached is None or self._system.diskseq(drive.name) != attached:
            raise Refused(
                f"drive {drive.serial} was removed or replaced in the meantime; nothing was written to {drive.name}"
            )
        return drive

    def require(self, members: Iterable[AttachedIdentity]) -> None:
        """Verify that all drives are present. Refused: names every one that is missing."""
        absent = [member.serial for member in members if self.find(member) is None]
        if absent:
            raise Refused(_absent(absent))


def _absent(serials: list[str]) -> str:
    return (
        f"not found, by serial and wwid: {', '.join(sorted(serials))}; nothing was written: "
        "put the drives back and run `systemctl start millrace-provision`"
    )
