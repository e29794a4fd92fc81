# SPDX-License-Identifier: Apache-2.0
"""A server with the share data and a backup of it; restic is a fake one, or the real one where there is a binary."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import pytest

from millrace.protect.backup import backup_add, backup_job, backup_run, backup_store
from millrace.protect.backup.backup_add import BackupWish, Typed
from millrace.protect.backup.backup_model import BackupAdded, BackupState, BackupTask
from millrace.protect.backup.backup_place import BackupTools
from millrace.protect.snapshot import snapshot_job, snapshot_run
from millrace.serve.clone.clone_again import ChangeClock
from millrace.serve.share.server import ShareServer
from millrace.system.run import Result
from tests.fakes.jobs import JOBS, JobManager
from tests.fakes.restic import FakeRestic, RealRestic
from tests.unit.protect.snapshot.conftest import Nas, nas

__all__ = ["nas"]
TARGET = "rest:https://backup.example.com:8000/data"


class Systemd(JobManager):
    """systemd, whose units make snapshots; what else a share needs is answered by the appliance."""

    TAKEN = (*JOBS, "systemctl stop --no-block millrace-restic-job.service")

    def __init__(self, nas: Nas) -> None:
        super().__init__("millrace-reflink@snapshot.service")
        self._nas = nas

    def __call__(self, argv: Sequence[str], stdin: str | None = None) -> Result:
        if argv[0] in ("systemctl", "journalctl"):
            return super().__call__(argv, stdin)
        return self._nas.appliance(argv, stdin)


@dataclass
class Site:
    """The server, the far side, and a clock that each task moves by a minute."""

    nas: Nas
    restic: FakeRestic | RealRestic
    systemd: Systemd
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    unreachable: OSError | None = None

    @property
    def server(self) -> ShareServer:
        return replace(self.nas.appliance.server(), run=self.systemd, pause=lambda _: None)

    @property
    def fake(self) -> FakeRestic:
        assert isinstance(self.restic, FakeRestic)
        return self.restic

    def tools(self) -> BackupTools:
        return BackupTools(self.restic, self._reach, lambda: (os.getuid(), os.getgid()), self.nas.links())

    def _reach(self, host: str, port: int) -> None:
        assert (host, port) == ("backup.example.com", 8000)
        if self.unreachable is not None:
            raise self.unreachable

    def add(self, name: str = "offsite", password: str | None = None, **settings: object) -> BackupAdded:
        wish = BackupWish(name, "data", TARGET, "millrace", {"every": 24, **settings}, {}, None)
        asked = None if password is None else lambda: str(password)
        typed = Typed(lambda _: "s3cret/of:user", asked, lambda _: None)
        return backup_add.add(wish, typed, self.systemd)

    def carry_out(self, task: BackupTask, name: str = "offsite", version: str | None = None) -> list[str]:
        self.at += timedelta(minutes=1)
        backup_job.start(name, task, self.systemd, "ann", version)
        try:
            return backup_run.execute(self.server, self.tools(), lambda: self.at)
        finally:
            backup_job.clean_up()

    def state(self, name: str = "offsite") -> BackupState:
        return backup_store.state(backup_store.known(name))

    def snapshot(self) -> Path:
        """The tree of the snapshot that was backed up last."""
        return self.nas.snapshots.place("data", str(self.state().snapshot)) / "tree"


@pytest.fixture
def systemd(nas: Nas, monkeypatch: pytest.MonkeyPatch) -> Systemd:
    made = Systemd(nas)

    def execute() -> None:
        if made.started:
            snapshot_run.execute(replace(nas.appliance.server(), run=made), nas.links(), ChangeClock())

    made.run = execute
    return made


def _own_clock(site: Site, patch: pytest.MonkeyPatch) -> Site:
    class OwnTime:
        @staticmethod
        def now(zone: tzinfo) -> datetime:
            return site.at.astimezone(zone)

    # the name of a snapshot has the second in which it was made
    patch.setattr(snapshot_job, "datetime", OwnTime)
    return site


@pytest.fixture
def site(nas: Nas, systemd: Systemd, monkeypatch: pytest.MonkeyPatch) -> Site:
    return _own_clock(Site(nas, FakeRestic(), systemd), monkeypatch)


@pytest.fixture(params=["fake", "real"])
def both(
    request: pytest.FixtureRequest, nas: Nas, systemd: Systemd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Site:
    """The fake and the real restic do the same."""
    program = shutil.which("restic")
    if request.param == "fake":
        return _own_clock(Site(nas, FakeRestic(), systemd), monkeypatch)
    if program is None or os.geteuid() != 0:
        pytest.skip("needs restic, and root for the mounts of its unit")
    return _own_clock(Site(nas, RealRestic(program, tmp_path / "repository"), systemd), monkeypatch)
