# SPDX-License-Identifier: Apache-2.0
"""A drive starts this version when what was written reads back, and never half of it."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from millrace.inventory.model import Drive, DriveState
from millrace.inventory.partitions import Partition
from millrace.lifecycle.install import copy
from millrace.lifecycle.install.choice import candidate
from millrace.lifecycle.install.medium import Medium, MediumPartition
from millrace.lifecycle.install.model import Installed, InstallLine, InstallStep
from millrace.storage.erase.overwrite import SMALLEST
from millrace.system.errors import Failed, Refused
from millrace.system.run import Result
from tests.fakes.commands import GOOD, Commands
from tests.unit.storage.drive.servers import drive

HASH = "0123456789abcdef" * 4
SIZE = SMALLEST
BAD = Result(1, "", "it broke")
# where systemd-stub looks for credentials of one kernel image
EXTRA = "millrace_0.1.0.efi.extra.d"
MEDIUM = Medium(
    "sda", MediumPartition("sda1", 8192), MediumPartition("sda3", 4096), MediumPartition("sda2", 512), HASH, "0.1.0"
)


class Server(Commands):
    """Files for drives; systemd-repart, veritysetup and mount as far as they are asked for."""

    TAKEN: ClassVar[Sequence[str]] = (
        "systemd-repart --definitions=* --empty=force --dry-run=no --seed=random --no-pager *",
        "udevadm settle --timeout=60",
        "/usr/lib/systemd/systemd-veritysetup attach millrace-install * * *",
        "/usr/lib/systemd/systemd-veritysetup detach millrace-install",
        "mount -t vfat -o nosuid,nodev,noexec,umask=0077 * *",
        "umount *",
    )

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root = root
        self.busy: str | None = None
        self.head_at_copy = b""
        (root / "dev/mapper").mkdir(parents=True)
        (root / "proc/1").mkdir(parents=True)
        (root / "proc/1/mountinfo").write_text("")
        self.open_at_copy: list[str] = []
        for name, content in (("sda1", b"loader"), ("sdb", b"\xa5" * SIZE)):
            (root / "dev" / name).write_bytes(content)

    def attempt(self, argv: Sequence[str], stdin: str | None = None) -> Result:
        return self(argv, stdin)

    def in_use(self, name: str) -> str | None:
        return self.busy

    def _systemd_repart(self, words: list[str], stdin: str) -> Result:
        device = Path(words[-1])
        self.head_at_copy = device.read_bytes()[:4096]
        here = [os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")]
        self.open_at_copy = [path for path in here if path == str(self.root / "boot")]
        for name, content in (("sdb1", b"loader"), ("sdb2", b"tree"), ("sdb3", b"system")):
            (self.root / "dev" / name).write_bytes(content)
        return GOOD

    def _systemd_veritysetup(self, words: list[str], stdin: str) -> Result:
        if words[0] == "attach":
            (self.root / "dev/mapper/millrace-install").write_bytes(b"system")
        return GOOD

    def _mount(self, words: list[str], stdin: str) -> Result:
        point = Path(words[-1])
        (point / "EFI/Linux").mkdir(parents=True)
        (point / "loader").mkdir()
        for name in ("millrace_0.1.0+2-1.efi", "millrace_0.0.9.efi", "millrace_0.1.00.efi"):
            (point / "EFI/Linux" / name).write_bytes(b"MZ")
        (point / "EFI/Linux" / EXTRA).mkdir()
        (point / "loader/random-seed").write_bytes(b"seed")
        return GOOD


@pytest.fixture
def server(root_user: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server(root_user)
    names = ["sdb1", "sdb2", "sdb3"]
    monkeypatch.setattr(copy, "examine", lambda name: target())
    monkeypatch.setattr(copy, "partitions", lambda directory: [Partition(name, "", directory) for name in names])
    monkeypatch.setattr(copy, "refusal", lambda one: None)
    return made


def target(serial: str = "TARGET") -> Drive:
    return drive(serial, DriveState.BLANK, name="sdb", size=SIZE)


def installed(server: Server) -> list[InstallLine]:
    return list(copy.install(server, MEDIUM, candidate(target())))


def esp(server: Server) -> Path:
    return server.root / "run/millrace/install/esp"


def test_drive_is_copied_read_back_and_left_for_its_first_boot(server: Server) -> None:
    lines = installed(server)
    assert [line.doing for line in lines if isinstance(line, InstallStep)] == [
        "clearing the old partition table",
        "copying the loader and the system",
        "reading back the loader",
        "comparing the system with its root hash",
        "finishing",
    ]
    assert lines[-1] == Installed(serial="TARGET", version="0.1.0")
    assert not any(server.head_at_copy), "the old partition table would start a drive that is half written"
    assert {path.name for path in (esp(server) / "EFI/Linux").iterdir()} == {"millrace_0.1.0+3.efi", EXTRA}
    assert not (esp(server) / "loader/random-seed").exists()
    (attached,) = server.called("/usr/lib/systemd/systemd-veritysetup attach")
    assert attached.split()[3:] == [str(server.root / "dev/sdb3"), str(server.root / "dev/sdb2"), HASH]
    assert server.called("/usr/lib/systemd/systemd-veritysetup detach") and server.called("umount")


def test_loader_partition_that_is_mounted_stays_so_until_it_is_read_back(server: Server) -> None:
    """Seen by a directory that is open: the kernel does not let a file system go then."""
    (server.root / "boot").mkdir()
    (server.root / "sys/class/block/sda1").mkdir(parents=True)
    (server.root / "sys/class/block/sda1/dev").write_text("8:1\n")
    (server.root / "proc/1/mountinfo").write_text("29 1 8:1 / /boot rw shared:1 - vfat /dev/sda1 rw\n")
    installed(server)
    assert server.open_at_copy == [str(server.root / "boot")]


def test_definitions_copy_three_partitions_under_the_names_of_an_image() -> None:
    texts = copy.definitions(MEDIUM)
    assert list(texts) == ["00-esp.conf", "10-usr-verity.conf", "11-usr.conf"]
    usr = texts["11-usr.conf"].splitlines()
    assert {"Type=usr", "Label=millrace_0.1.0", "ReadOnly=yes", "SizeMinBytes=4096", "SizeMaxBytes=4096"} <= set(usr)
    assert "UUID=01234567-89ab-cdef-0123-456789abcdef" in usr
    assert any(line.startswith("CopyBlocks=") and line.endswith("dev/sda3") for line in usr)


def spoilt_loader(server: Server) -> None:
    (server.root / "dev/sda1").write_bytes(b"what was read")


def no_repart(server: Server) -> None:
    server.broken["systemd-repart"] = BAD


def no_verity(server: Server) -> None:
    server.broken["/usr/lib/systemd/systemd-veritysetup attach"] = BAD


@pytest.mark.parametrize("break_it", [spoilt_loader, no_repart, no_verity])
def test_drive_that_does_not_read_back_is_not_installed(break_it: Callable[[Server], None], server: Server) -> None:
    break_it(server)
    with pytest.raises(Failed, match=r"drive TARGET does not start this version: .*write it again"):
        installed(server)
    assert not server.called("mount")


def test_system_that_cannot_be_read_back_is_not_installed(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    real = copy._digest

    def digest(device: Path) -> bytes:
        if device.name == "millrace-install":
            raise OSError(5, "Input/output error")
        return real(device)

    monkeypatch.setattr(copy, "_digest", digest)
    with pytest.raises(Failed, match="cannot be read back"):
        installed(server)
    assert server.called("/usr/lib/systemd/systemd-veritysetup detach")


def test_esp_that_stays_mounted_is_said(server: Server) -> None:
    server.broken["umount"] = BAD
    with pytest.raises(Failed, match="cannot be unmounted"):
        installed(server)


def test_another_drive_in_the_same_place_is_not_written(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copy, "examine", lambda name: target(serial="OTHER"))
    with pytest.raises(Refused, match="was removed or replaced just now; nothing was written"):
        installed(server)
    assert (server.root / "dev/sdb").read_bytes() == b"\xa5" * SIZE


def test_drive_that_is_in_use_meanwhile_is_not_written(server: Server) -> None:
    server.busy = "Device or resource busy"
    with pytest.raises(Refused, match="Device or resource busy"):
        installed(server)
    assert (server.root / "dev/sdb").read_bytes() == b"\xa5" * SIZE
