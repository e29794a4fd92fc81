# SPDX-License-Identifier: Apache-2.0
"""What this system runs from: the partitions that are copied, found by the root hash of /usr."""

from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from millrace.inventory.boot_disk import loader_partition, same_boot_partition
from millrace.system import paths, sysfs
from millrace.system.errors import Failed
from millrace.system.mounts import mounted
from millrace.system.os_release import image_version

HASH = "usrhash="
SECTOR = 512
"""Bytes of a sector as sysfs counts sizes."""


@dataclass(frozen=True)
class MediumPartition:
    """A partition by its kernel name; `size` in bytes."""

    name: str
    size: int


@dataclass(frozen=True)
class Medium:
    """The drive `disk` that this system was started from, its partitions, and what they hold."""

    disk: str
    esp: MediumPartition
    usr: MediumPartition
    verity: MediumPartition
    roothash: str
    version: str

    @property
    def usr_uuid(self) -> UUID:
        """The partition UUID of /usr: the first half of its root hash (systemd-repart(8))."""
        return UUID(hex=self.roothash[:32])

    @property
    def verity_uuid(self) -> UUID:
        """The partition UUID of its verity tree: the second half."""
        return UUID(hex=self.roothash[-32:])


def medium() -> Medium:
    """Return what this system runs from. Failed: it does not run from a verified image, or its ESP is not found."""
    roothash = _roothash()
    usr = mounted("/usr")
    if roothash is None or usr is None:
        raise Failed("this system does not run from a Millrace image: start the image that is to be installed")
    below = paths.ROOT / "sys/dev/block" / usr.device / "slaves"
    partitions = {_uuid(below / name): (below / name).resolve() for name in sysfs.names(below)}
    esp = loader_partition(paths.ROOT)
    halves = UUID(hex=roothash[:32]), UUID(hex=roothash[-32:])
    if twins := same_boot_partition(paths.ROOT):
        names = " and ".join(twins)
        raise Failed(f"drives {names} have the same boot partition: leave one of them in and start again")
    if not all(str(half) in partitions for half in halves) or esp is None:
        raise Failed("the partitions that this system was started from are not found: start it again")
    data, tree = (partitions[str(half)] for half in halves)
    if not data.parent.name == tree.parent.name == esp.parent.name:
        raise Failed("the loader and the system came from two drives: remove one of them and start again")
    return Medium(
        disk=data.parent.name,
        esp=_part(esp),
        usr=_part(data),
        verity=_part(tree),
        roothash=roothash,
        version=image_version(),
    )


def _roothash() -> str | None:
    words = (sysfs.text(paths.ROOT / "proc/cmdline") or "").split()
    found = [word.removeprefix(HASH) for word in words if word.startswith(HASH)]
    return found[-1] if found and len(found[-1]) == 64 else None


def _uuid(partition: Path) -> str:
    return sysfs.uevent(partition).get("PARTUUID", "").lower()


def _part(partition: Path) -> MediumPartition:
    return MediumPartition(partition.name, (sysfs.number(partition / "size") or 0) * SECTOR)
