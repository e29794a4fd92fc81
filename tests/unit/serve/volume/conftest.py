# SPDX-License-Identifier: Apache-2.0
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

import pytest

from millrace.serve.volume import serve
from millrace.serve.volume.carrier import Xfs
from millrace.serve.volume.serve import Volumes
from millrace.system import paths
from millrace.system.run import Result
from tests.fakes.appliance import Appliance
from tests.fakes.commands import GOOD
from tests.fakes.nvmet import FakeNvmet

HOST = "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555"
OTHER = "nqn.2014-08.org.nvmexpress:uuid:66666666-7777-8888-9999-aaaaaaaaaaaa"


class Nas(Appliance):
    """An appliance whose unit of volumes serves them in a kernel of its own."""

    TAKEN: ClassVar[Iterable[str]] = (
        *Appliance.TAKEN,
        "systemctl reload-or-restart millrace-volumes.service",
        "nft -f *",
        "rdma -j resource show cm_id",
    )

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.tree = FakeNvmet()
        self.up = False
        self.rules = ""
        self.asks = True
        self.quotas: dict[int, int] = {}
        self.xfs = Xfs(
            align=lambda descriptor, size: None,
            set_project=lambda descriptor, number: None,
            share=self._share,
        )
        (root / "run/millrace/nftables").mkdir(parents=True)
        self.connect()

    def volumes(self) -> Volumes:
        return Volumes(self.server(), self.tree, self.xfs, lambda: self.asks)

    def connect(self, *ports: int) -> None:
        """Let the client at 10.0.0.9 have a connection to each of these ports, and no others."""
        head = "  sl  local_address rem_address   st\n"
        lines = [f"   0: 0200000A:{port:04X} 0900000A:C001 01\n" for port in ports]
        (self.root / "proc/net").mkdir(parents=True, exist_ok=True)
        (self.root / "proc/net/tcp").write_text(head + "".join(lines))

    @staticmethod
    def _share(source: int, target: int) -> None:
        with open(source, "rb", closefd=False) as read, open(target, "wb", closefd=False) as write:
            read.seek(0)
            shutil.copyfileobj(read, write)

    def _rm(self, words: list[str], stdin: str) -> Result:
        shutil.rmtree(words[-1])
        return GOOD

    def _nft(self, words: list[str], stdin: str) -> Result:
        self.rules = stdin if words[-1] == "-" else Path(words[-1]).read_text()
        return GOOD

    def _xfs_quota(self, words: list[str], stdin: str) -> Result:
        for command in words:
            if command.startswith("limit -p bsoft=0 bhard="):
                number = int(command.rpartition(" ")[2])
                self.quotas[number] = int(command.split("bhard=")[1].split()[0].rstrip("k")) * 1024
        return Result(0, "", "")

    def _systemctl(self, words: list[str], stdin: str) -> Result:
        if words[-1] != serve.UNIT:
            return GOOD
        if words[0] == "reload-or-restart":
            serve.render(self.volumes())
            self.up = True
        elif words[0] == "stop":
            assert serve.withdraw(self.tree, self) == []
            self.up = False
        elif words[0] == "is-active":
            return Result(0 if self.up else 3, "", "")
        return GOOD


@pytest.fixture
def nas(root_user: Path, monkeypatch: pytest.MonkeyPatch) -> Nas:
    assert root_user == paths.ROOT
    made = Nas(root_user)
    made.opens_nfs(monkeypatch)
    return made
