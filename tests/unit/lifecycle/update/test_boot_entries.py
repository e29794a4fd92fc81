# SPDX-License-Identifier: Apache-2.0
"""A power cut leaves each kernel image whole under one of its names, on the VFAT of the ESP as well."""

from collections.abc import Callable

import pytest

from millrace.lifecycle.update import boot_entries, records, trial
from millrace.system.run import Result
from tests.fakes.commands import GOOD
from tests.fakes.vfat import Vfat
from tests.unit.lifecycle.update.conftest import ESP, WELL, Server
from tests.unit.lifecycle.update.test_install import install_


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
