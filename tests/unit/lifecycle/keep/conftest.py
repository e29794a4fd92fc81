# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

import pytest

from millrace.lifecycle.keep import generation_store, keeping
from millrace.lifecycle.keep.model import KeepStatus
from millrace.serve.config import store
from millrace.serve.config.model import Config, User
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.run import Result
from tests.fakes.commands import Commands
from tests.fakes.mounts import mount, unmount_all
from tests.fakes.samples import plan, pool

SHADOW = "root:*:20000:::::\nadmin:$y$admin:20000:::::\nanna:$y$anna:20000:::::\ndaemon:*:20000:::::\n"


class Tdb(Commands):
    """tdbdump, which prints what the file has."""

    TAKEN: ClassVar[Iterable[str]] = ("tdbdump *",)

    def _tdbdump(self, words: list[str], stdin: str) -> Result:
        return Result(0, Path(words[0]).read_text(), "")


class Server:
    """A server with a pool, shares, users and secrets, whose state is kept."""

    def __init__(self, root: Path) -> None:
        self.root, self.run = root, Tdb()
        unmount_all(root)
        mount(root, "/dev/md127", "/srv/pool", "xfs", "rw,noatime")
        (root / "srv/pool").mkdir(parents=True)
        write_model(paths.pool_file(), pool())
        write_model(paths.approved_plan_file(), plan())
        self.file("etc/shadow", SHADOW)
        self.file("etc/hostname", "millrace-??????\n")
        self.file("proc/sys/kernel/hostname", "millrace-1a2b3c\n")
        self.file("var/lib/samba/private/secrets.tdb", "the SID of the machine")
        self.file("var/lib/samba/private/passdb.tdb", "NT hash of anna")
        self.file("var/lib/millrace/certificate/authority.key", "key of the authority", 0o600)
        self.file("var/lib/millrace/certificate/sets/set-1/server.pem", "certificate")
        (root / "var/lib/millrace/certificate/current").symlink_to("sets/set-1")
        self.decide(lambda old: old.model_copy(update={"users": [User(name="anna", uid=3000)]}))

    def file(self, name: str, text: str, mode: int = 0o644) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def decide(self, mutate: store.Mutate) -> Config:
        return store.change("anna", "user create anna", mutate)

    def rename(self, comment: str) -> None:
        self.file("etc/millrace/policy.toml", f"# {comment}\n")

    def keep(self) -> KeepStatus:
        return keeping.keep(self.run, lambda seconds: None)

    @property
    def where(self) -> Path:
        return generation_store.directory(self.root / "srv/pool")

    def kept(self) -> list[str]:
        """The names in the directory, without the spare files for a full pool."""
        return sorted(path.name for path in self.where.iterdir() if not path.name.startswith(".spare-"))


@pytest.fixture
def server(root_user: Path) -> Server:
    return Server(root_user)
