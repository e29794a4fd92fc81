# SPDX-License-Identifier: Apache-2.0
"""A power cut leaves each kernel image whole under one of its names, on the VFAT of the ESP as well."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from millrace.system.run import Result
from millrace.update import boot_entries, records, trial
from tests.fakes.commands import GOOD
from tests.unit.update.conftest import ESP, WELL, Server
from tests.unit.update.test_install import install_


class Vfat:
    """What is on the drive of a directory: after a rename the size beside the name is 0 until the file is synced."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directory = directory
        self.unwritten: set[int] = set()
        self.on_drive: dict[str, int] = {}
        self.fsync, self.rename = os.fsync, os.rename
        self.write_names()
        monkeypatch.setattr(os, "fsync", self._fsync)
        monkeypatch.setattr(os, "rename", self._rename)

    def write_names(self) -> None:
        found = [(path.name, path.stat()) for path in self.directory.iterdir()]
        self.on_drive = {name: 0 if one.st_ino in self.unwritten else one.st_size for name, one in found}

    def _rename(self, source: os.PathLike[str], target: os.PathLike[str], **more: int) -> None:
        self.rename(source, target, **more)
        self.unwritten.add(os.stat(target).st_ino)

    def _fsync(self, descriptor: int) -> None:
        self.fsync(descriptor)
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            if found.st_ino == self.directory.stat().st_ino:
                self.write_names()
        elif found.st_ino in self.unwritten:
            # the block with the name and the size is written
            self.unwritten.discard(found.st_ino)
            self.write_names()


@pytest.fixture
def vfat(server: Server, monkeypatch: pytest.MonkeyPatch) -> Vfat:
    server.entry("millrace_0.2.0+2-1.efi")
    return Vfat(server.root / ESP, monkeypatch)


@pytest.mark.parametrize(
    ("change", "name"),
    [(boot_entries.accept, "millrace_0.2.0.efi"), (boot_entries.put_last, "millrace_0.2.0+0.efi")],
)
def test_renamed_kernel_image_is_whole_after_a_power_cut(
    server: Server, vfat: Vfat, change: Callable[[boot_entries.BootEntry], None], name: str
) -> None:
    entry = boot_entries.of("0.2.0", boot_entries.entries(server))
    assert entry is not None
    change(entry)
    assert vfat.on_drive == {"millrace_0.1.0.efi": len("millrace_0.1.0.efi"), name: len("millrace_0.2.0+2-1.efi")}


def test_installed_kernel_image_is_whole_after_a_power_cut(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    esp = server.root / ESP
    vfat = Vfat(esp, monkeypatch)

    def sysupdate(words: list[str], stdin: str) -> Result:
        """It renames what it has written, and syncs the directory."""
        if words[0] == "update":
            server.entry(f".#{words[1]}")
            (esp / f".#{words[1]}").rename(esp / f"millrace_{words[1]}+3-0.efi")
            vfat.write_names()
        return GOOD

    monkeypatch.setattr(server, "_systemd_sysupdate", sysupdate)
    install_(server)
    assert vfat.on_drive["millrace_0.2.0+3-0.efi"] > 0


def test_kernel_image_of_which_a_power_cut_left_the_name_is_no_installed_version(server: Server) -> None:
    trial.begin("0.2.0", "admin", WELL)
    server.file(f"{ESP}/millrace_0.2.0+3-0.efi", "")
    (said,) = trial.judge(server, server.measure, lambda _: None)
    assert "not installed completely" in said
    last = records.last()
    assert last is not None and last.state == "interrupted" and records.trial() is None
    assert server.entries == ["millrace_0.1.0.efi"]
