# SPDX-License-Identifier: Apache-2.0
"""A server with a pool on drives, which is destroyed: systemd runs the unit at once."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ClassVar

import pytest

from millrace.lifecycle.destroy import destroy, status
from millrace.lifecycle.destroy.destroy import MOUNT, PLAN
from millrace.lifecycle.destroy.destroy_job import JOB
from millrace.serve.config import store
from millrace.serve.config.model import DesiredShare, User
from millrace.serve.config.protocols import Smb
from millrace.serve.share.session import ClientSession, SessionList
from millrace.storage.assemble.standstill import ASSEMBLE
from millrace.storage.record.destruction import Destruction
from millrace.storage.record.model import Pool
from millrace.system import paths
from millrace.system.run import Result
from tests.fakes.commands import GOOD, Commands
from tests.fakes.drives.world import World
from tests.fakes.jobs import JOBS, shown
from tests.fakes.mounts import mount, unmount_all
from tests.fakes.sessions import nfs_session
from tests.unit.storage.plans import raid6_plan
from tests.unit.storage.server import built, server_for

CLIENT = nfs_session("gpu7", open_files=3)


class Systemd(Commands):
    """Mounts and unmounts the pool; `busy` keeps it mounted. `working` are states of units."""

    TAKEN: ClassVar[Iterable[str]] = (
        *JOBS,
        f"systemctl stop {MOUNT} {ASSEMBLE}",
        "systemctl stop millrace-*.service",
        f"systemctl --no-block start {ASSEMBLE}",
    )

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root, self.busy = root, False
        self.working: dict[str, str] = {}
        self.unit: Callable[[], object] = lambda: None
        self.serves = True

    def _systemctl(self, words: list[str], _: str) -> Result:
        match words:
            case ["show", _, *units]:
                return shown(units, self.working)
            case ["stop", "srv-pool.mount", *_]:
                self.serves = False
                if self.busy:
                    return Result(1, "", "Job for srv-pool.mount failed")
                unmount_all(self.root)
            case ["stop", unit]:
                self.working.pop(unit, None)
            case ["start", "--no-block", JOB.unit]:
                self.unit()
            case ["--no-block", "start", _]:
                self.serves = True
        return GOOD


class DestroyedServer:
    """A server with a RAID6, two shares, a user and a client."""

    def __init__(self, root: Path, world: World, pool: Pool) -> None:
        self.root, self.world, self.pool = root, world, pool
        self.run = Systemd(root)
        self.lines: list[str] = []
        (root / "proc/sys/kernel").mkdir(parents=True, exist_ok=True)
        (root / "proc/sys/kernel/hostname").write_text("filer\n")
        (root / "srv/pool").mkdir(parents=True)
        mount(root, "/dev/md127", "/srv/pool", "xfs", "rw,noatime")
        self.share("models")
        self.clients: list[ClientSession] = []

    def share(self, name: str, sealed: bool = False) -> None:
        made = DesiredShare(
            name=name,
            type="dataset-ro" if sealed else "mixed",
            sealed=sealed,
            project=1003 if sealed else 1002,
            smb=Smb(users=["anna"]),
            writing="own" if sealed else "together",
        )
        anna = User(name="anna", uid=3000)
        store.change(
            "anna", "test", lambda old: old.model_copy(update={"shares": [*old.shares, made], "users": [anna]})
        )

    def unit(self) -> Destruction | None:
        """What systemd runs, now or at a boot."""
        return destroy.execute(self.world, self.run, self.lines.append)

    def start(self, ends: bool = False) -> None:
        destroy.start(self.world, self.run, "admin", ends)

    def boot(self) -> None:
        """The power is back."""
        self.world.boot()
        unmount_all(self.root)
        self.unit()


@pytest.fixture
def server(root_user: Path, monkeypatch: pytest.MonkeyPatch) -> DestroyedServer:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    plan = raid6_plan()
    world = server_for(plan)
    world.TAKEN = (*world.TAKEN, f"systemctl --no-block restart {' '.join(PLAN)}")  # type: ignore[misc]
    made = DestroyedServer(root_user, world, built(world, plan))
    paths.plan_file().unlink()
    monkeypatch.setattr(status, "present", lambda: world.scan().drives)
    monkeypatch.setattr(status, "sessions", lambda run: SessionList(sessions=made.clients, warnings=[]))
    monkeypatch.setattr(status, "usage", lambda pool, run: ({1002: 5 * 10**9}, []))
    monkeypatch.setattr("millrace.serve.config.audit_log.note", lambda text: None)
    made.run.unit = made.unit
    return made
