# SPDX-License-Identifier: Apache-2.0
"""The kernel's NVMe-oF host in files: a line of options makes a controller and the block device of its subsystem."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.storage.fabrics import connect, nvme_host
from millrace.system import paths
from tests.fakes.commands import Commands

NQN = "nqn.2014-08.org.nvmexpress:uuid:0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
HOST = "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555"
SECRET = "DHHC-1:00:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACtVQoZ:"


class Kernel(Commands):
    """`away` answers with an error of the kernel, by address; `lines` is what was written, in order."""

    TAKEN = ("modprobe nvme-tcp", "modprobe nvme-rdma", "systemctl restart --no-block millrace-backend.service")

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root = root
        self.away: dict[str, int] = {}
        self.lines: list[str] = []
        self.used: set[str] = set()

    def send(self, line: str) -> None:
        given = dict(word.split("=", 1) for word in line.split(","))
        if number := self.away.get(given["traddr"]):
            raise OSError(number, os.strerror(number))
        place = self.root / f"sys/class/nvme/nvme{len(self.lines)}"
        self.lines.append(line)
        self._write(place / "transport", given["transport"])
        self._write(place / "subsysnqn", given["nqn"])
        self._write(place / "state", "live")
        for name in nvme_host.SECRETS:
            self._write(place / name, given.get(name, "none"))
            (place / name).chmod(0o644)
        self._write(place / "address", f"traddr={given['traddr']},trsvcid={given['trsvcid']},src_addr=10.0.0.2")
        self._write(self.root / "sys/class/nvme-subsystem/nvme-subsys0/subsysnqn", given["nqn"])
        for name in ("nvme0n1", "nvme0c0n1", "nvme0n1p1"):
            self._write(self.root / f"sys/class/block/{name}/size", "2048")
            self._write(self.root / f"sys/class/block/{name}/wwid", "uuid.0f1e")
        self._write(self.root / "sys/class/block/nvme0n1p1/partition", "1")

    def state(self, name: str, text: str) -> None:
        (self.root / f"sys/class/nvme/{name}/state").write_text(f"{text}\n")

    def deleted(self) -> list[str]:
        return sorted(path.parent.name for path in (self.root / "sys/class/nvme").glob("*/delete_controller"))

    @staticmethod
    def _write(path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kernel]:
    fake_kernel = Kernel(tmp_path)
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(nvme_host, "_send", fake_kernel.send)
    monkeypatch.setattr(nvme_host, "is_in_use", lambda name: name in fake_kernel.used)
    monkeypatch.setattr(connect, "PAUSES", ())
    (tmp_path / "etc/nvme").mkdir(parents=True)
    (tmp_path / "etc/nvme/hostnqn").write_text(f"{HOST}\n")
    (tmp_path / "sys/class/nvme/nvme9").mkdir(parents=True)
    (tmp_path / "sys/class/nvme/nvme9/transport").write_text("pcie\n")
    yield fake_kernel


REFUSED = errno.ECONNREFUSED
