# SPDX-License-Identifier: Apache-2.0
"""No file of a root file system is used while the TPM could open the encrypted one, and no other root is used then."""

import os
import subprocess
from pathlib import Path

import pytest

from host import root_policy
from host.layout import REPO
from tests.unit.boot.units import names, settings

INITRD = REPO / "mkosi.initrd.conf/mkosi.extra/usr/lib"
SCRIPT = INITRD / "millrace/seal-root"
UNITS = INITRD / "systemd/system"
# the mark of the first boot, as the image has it
FIRST = REPO / "mkosi.extra/usr/lib/millrace/recovery-key-wanted"
KEY = "kncdvjht-lbrgeeki-hjjdvuvk"


class Initrd:
    """The initrd of a boot whose root file system is mounted, with the programs that are asked about it."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "root"
        self.programs = directory / "programs"
        for place in ("run", "usr/lib/systemd", "dev/mapper", "sysroot/var/lib/millrace"):
            (self.root / place).mkdir(parents=True)
        self.programs.mkdir()
        self.register = directory / "register"
        self.header = directory / "header"
        self.program(self.root / "usr/lib/systemd/systemd-pcrextend", f'echo "$@" >> {self.register}')

    def program(self, path: Path, line: str) -> None:
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)

    def opened(self, mounted: str, status: int = 0) -> "Initrd":
        """The TPM opened 253:0, and what is mounted is the device `mounted`."""
        (self.root / "dev/mapper/root").touch()
        (self.root / "sys/dev/block/253:0/slaves/nvme0n1p6").mkdir(parents=True)
        self.program(self.programs / "mountpoint", f'case "$1" in -x) echo 253:0 ;; -d) echo {mounted} ;; esac')
        said = f'echo "$@" > {self.header}; echo {KEY}; echo drawn {KEY} >&2; exit {status}'
        self.program(self.programs / "systemd-cryptenroll", said)
        return self

    def wanted(self, mark: str = FIRST.read_text()) -> "Initrd":
        (self.root / "sysroot/var/lib/millrace/recovery-key-wanted").write_text(mark)
        (self.root / "usr/lib/os-release").write_text('ID=debian\nIMAGE_VERSION="0.2.0"\n')
        return self

    def run(self) -> subprocess.CompletedProcess[str]:
        path = f"{self.programs}:{os.environ['PATH']}"
        return subprocess.run([SCRIPT, self.root], env={"PATH": path}, check=False, capture_output=True, text=True)

    @property
    def sealed(self) -> bool:
        return self.register.exists() and self.register.read_text() == "--graceful millrace-root-mounted\n"

    @property
    def key(self) -> Path:
        return self.root / "run/millrace-recovery-key"


@pytest.fixture
def initrd(tmp_path: Path) -> Initrd:
    return Initrd(tmp_path)


def test_root_in_the_clear_is_sealed_out(initrd: Initrd) -> None:
    done = initrd.wanted().run()
    assert (done.returncode, done.stderr, initrd.sealed) == (0, "", True)
    assert not initrd.key.exists()


def test_encrypted_root_gets_no_key_unless_one_is_wanted(initrd: Initrd) -> None:
    assert initrd.opened("253:0").run().returncode == 0
    assert initrd.sealed and not initrd.header.exists()


def test_wanted_recovery_key_is_made_before_the_tpm_opens_nothing_more(initrd: Initrd) -> None:
    done = initrd.opened("253:0").wanted().run()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    options = "--unlock-tpm2-device=auto --recovery-key --wipe-slot=recovery /dev/nvme0n1p6"
    assert initrd.header.read_text() == f"{options}\n"
    assert (initrd.key.read_text(), initrd.key.stat().st_mode & 0o777) == (f"{KEY}\n", 0o600)
    assert initrd.sealed


@pytest.mark.parametrize(("mark", "made"), [("0.2.0\n", True), ("0.1.0\n", False)])
def test_recovery_key_is_made_for_the_version_that_wants_it(initrd: Initrd, mark: str, made: bool) -> None:
    done = initrd.opened("253:0").wanted(mark).run()
    assert (done.returncode, done.stderr) == (0, "")
    assert initrd.key.exists() is made and initrd.sealed


def test_recovery_key_that_is_not_made_is_said_without_it_and_the_boot_goes_on(initrd: Initrd) -> None:
    done = initrd.opened("253:0", status=1).wanted().run()
    assert done.returncode == 0 and "could not be made" in done.stderr
    assert KEY not in done.stderr + done.stdout
    assert initrd.sealed and not initrd.key.exists()


def test_another_root_beside_the_one_that_was_opened_is_not_started(initrd: Initrd) -> None:
    done = initrd.opened("259:3").wanted().run()
    assert done.returncode == 1 and "is not the one that was opened" in done.stderr
    assert not initrd.header.exists()


def test_nothing_of_the_root_file_system_runs_before_it_is_sealed() -> None:
    service = settings((UNITS / "millrace-seal-root.service").read_text())
    assert service["ExecStart"] == [f"/{SCRIPT.relative_to(REPO / 'mkosi.initrd.conf/mkosi.extra')}"]
    assert {"sysroot.mount", "systemd-pcrphase-initrd.service"} <= names(service, "After")
    assert {"millrace-etc.service", "initrd-root-fs.target"} <= names(service, "Before")
    etc = settings((UNITS / "millrace-etc.service").read_text())
    assert "millrace-seal-root.service" in names(etc, "Requires") & names(etc, "After")
    # which ends in emergency mode where what it requires fails
    assert (UNITS / "initrd-root-fs.target.requires/millrace-seal-root.service").resolve() == (
        UNITS / "millrace-seal-root.service"
    )
    assert root_policy.PHASE == "enter-initrd"
