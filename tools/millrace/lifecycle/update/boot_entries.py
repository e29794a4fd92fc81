# SPDX-License-Identifier: Apache-2.0
"""The kernel images in the ESP, by version. The name of a file says how often it may still be started.

systemd-boot starts the newest version that has tries left; `+0` has none, and is started where there is no other
(systemd-boot(7), "Boot Counting").
"""

import re
from dataclasses import dataclass
from pathlib import Path

from millrace.lifecycle.update.layout import IMAGE
from millrace.lifecycle.update.model import VERSION
from millrace.system import paths
from millrace.system.errors import Failed
from millrace.system.files import rename, sync
from millrace.system.run import Runner, must

_NAME = re.compile(rf"{IMAGE}_({VERSION})(?:\+([0-9]{{1,3}})(?:-([0-9]{{1,3}}))?)?\.efi")


@dataclass(frozen=True)
class BootEntry:
    """A kernel image: `left` is how often it may still be started before it is accepted, None where it is accepted."""

    version: str
    path: Path
    left: int | None
    done: int

    @property
    def is_empty(self) -> bool:
        """Whether there is no more of the kernel image than its name. OSError: the ESP cannot be read."""
        return self.path.stat().st_size == 0


def directory(run: Runner) -> Path:
    """Return where the kernel images are. Failed: the ESP is not found."""
    printed = must(run, ["bootctl", "--print-boot-path"]).strip()
    if not printed.startswith("/"):
        raise Failed("bootctl does not find the ESP of the boot drive: bootctl status")
    return paths.ROOT / printed.lstrip("/") / "EFI/Linux"


def entries(run: Runner) -> list[BootEntry]:
    """Return the kernel images of all versions. Failed: the ESP cannot be read."""
    where = directory(run)
    try:
        names = sorted(path.name for path in where.iterdir())
    except OSError as error:
        raise Failed(f"{where} cannot be read: {error.strerror}") from error
    matches = [(name, match) for name in names if (match := _NAME.fullmatch(name))]
    return [
        BootEntry(
            version=match[1],
            path=where / name,
            left=int(match[3]) if match[3] else None,
            done=int(match[4] or 0),
        )
        for name, match in matches
    ]


def of(version: str, found: list[BootEntry]) -> BootEntry | None:
    """Return the kernel image of a version; None where it has none."""
    return next((one for one in found if one.version == version), None)


def put_last(entry: BootEntry) -> None:
    """Let every other version be started before this one. OSError: the ESP cannot be written."""
    _rename(entry, f"{IMAGE}_{entry.version}+0.efi")


def accept(entry: BootEntry) -> None:
    """Let this version be started as its number says. OSError: the ESP cannot be written."""
    _rename(entry, f"{IMAGE}_{entry.version}.efi")


def remove(entry: BootEntry) -> None:
    """Let this version not be started any more. OSError: the ESP cannot be written."""
    entry.path.unlink()
    sync(entry.path.parent)


def _rename(entry: BootEntry, name: str) -> None:
    if entry.path.name != name:
        rename(entry.path, entry.path.with_name(name))
