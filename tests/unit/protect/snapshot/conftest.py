# SPDX-License-Identifier: Apache-2.0
"""A server with the share data, whose files are copied where XFS would share their blocks."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from millrace.protect.snapshot import snapshot_job, snapshot_run
from millrace.protect.snapshot.snapshot_job import ORDER
from millrace.protect.snapshot.snapshot_model import SnapshotManifest, SnapshotOrder
from millrace.protect.snapshot.snapshot_store import SnapshotStore
from millrace.serve.clone.clone_again import ChangeClock
from millrace.serve.clone.clone_job import Reflinks
from millrace.serve.share.edit import set_share
from millrace.serve.share.server import ShareServer
from tests.fakes.appliance import Appliance, remove_trees
from tests.fakes.jobs import JOBS, shown


@dataclass
class Space:
    """The space and the inodes of the pool, in percent and in number."""

    free: int = 50
    inodes: int = 1_000_000

    def statvfs(self, path: object) -> SimpleNamespace:
        return SimpleNamespace(
            f_bavail=self.free << 20, f_blocks=100 << 20, f_frsize=4096, f_files=1_000_000, f_favail=self.inodes
        )


@dataclass
class Nas:
    """A server, its share, and what is called before a file is cloned."""

    appliance: Appliance
    share: Path
    space: Space
    projects: list[int] = field(default_factory=list)
    before: Callable[[], object] = lambda: None

    @property
    def server(self) -> ShareServer:
        return replace(self.appliance.server(), pause=time.sleep)

    @property
    def snapshots(self) -> SnapshotStore:
        return SnapshotStore("/srv/pool")

    def links(self) -> Reflinks:
        def share(source: int, target: int) -> None:
            self.before()
            os.sendfile(target, source, 0, 1 << 20)

        return Reflinks(share, lambda _: 1001, lambda _, number: self.projects.append(number))

    def ordered(self, second: int = 0, large: bool = False) -> SnapshotOrder:
        order = snapshot_job.prepare("data", large, self.server)
        order = order.model_copy(update={"name": f"20261129T1200{second:02}Z-manual"})
        ORDER.write(order)
        return order

    def made(self, second: int = 0, large: bool = False) -> SnapshotManifest:
        self.ordered(second, large)
        return snapshot_run.execute(self.server, self.links(), ChangeClock())

    def stage(self) -> list[str]:
        return os.listdir(self.snapshots.stage) if self.snapshots.stage.is_dir() else []


@pytest.fixture
def nas(appliance: Appliance, monkeypatch: pytest.MonkeyPatch) -> Nas:
    for name in ("chown", "fchown"):
        monkeypatch.setattr(os, name, lambda *_, **__: None)
    space = Space()
    monkeypatch.setattr(os, "statvfs", space.statvfs)
    appliance.TAKEN = (
        *appliance.TAKEN,
        *JOBS,
        "xfs_quota -x -c report?-p?-n?-N?-i /srv/pool",
        "systemctl start --no-block millrace-cleanup@snapshot.service",
        "timedatectl show --property=NTP --property=NTPSynchronized",
    )
    set_share("data", {"comment": "all of it"}, appliance.server)
    top = appliance.root / "srv/pool/data"
    (top / "set/deep").mkdir(parents=True)
    (top / "set/one").write_text("first")
    (top / "set/deep/two").write_text("second")
    remove_trees(appliance)
    return Nas(appliance, top, space)


@pytest.fixture
def changed(nas: Nas) -> Nas:
    """A share with a snapshot, which its clients have changed since."""
    nas.appliance.TAKEN = (*nas.appliance.TAKEN, "exportfs -f")
    for states in ("systemctl show --property=ActiveState,Job millrace-", "systemctl show --property=Id,"):
        nas.appliance.broken[states] = lambda words, _: shown(words[3:])
    nas.made()
    (nas.share / "set/one").write_text("changed")
    (nas.share / "set/deep/two").unlink()
    (nas.share / "new").write_text("new")
    nas.share.chmod(0o750)
    return nas
