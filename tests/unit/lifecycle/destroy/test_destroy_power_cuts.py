# SPDX-License-Identifier: Apache-2.0
"""After a power cut at any moment the next boot finishes the destruction, or the pool is as it was."""

from pathlib import Path

import pytest

from millrace.serve.config import store
from millrace.storage.assemble.assemble import assemble
from millrace.storage.record.pool_file import known_pool
from millrace.system import paths
from millrace.system.files import write_text
from tests.fakes.drives.hardware import PowerCut
from tests.fakes.mounts import mount
from tests.unit.lifecycle.destroy.conftest import DestroyedServer
from tests.unit.storage.plans import raid6_plan
from tests.unit.storage.server import built


def wire(server: DestroyedServer, patch: pytest.MonkeyPatch) -> None:
    """The power may go before and after every file, too."""

    def ticking(path: Path, text: str, mode: int = 0o644) -> bool:
        server.world.tick()
        changed = write_text(path, text, mode)
        server.world.tick()
        return changed

    patch.setattr("millrace.system.documents.write_text", ticking)


def again(server: DestroyedServer) -> None:
    """A pool once more, as it was in the beginning."""
    paths.destroyed_file().unlink(missing_ok=True)
    if known_pool() is None:
        server.pool = built(server.world, raid6_plan())
        paths.plan_file().unlink()
    else:
        assemble(server.world, lambda _: None)
    if not store.load().shares:
        server.share("models")
    mount(server.root, "/dev/md127", "/srv/pool", "xfs", "rw,noatime")


def test_one_cut_at_every_moment(server: DestroyedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    wire(server, monkeypatch)
    moment = finished = 0
    while True:
        moment += 1
        server.world.moment, server.world.cut_at = 0, moment
        try:
            server.start()
        except PowerCut:
            server.boot()
        else:
            break
        where = f"cut at moment {moment}"
        drives = [disk for disk in server.world.disks if disk.serial in {drive.serial for drive in server.pool.drives}]
        assert not paths.destruction_file().exists(), where
        if known_pool() is None:
            finished += 1
            assert all(drive.blank and not drive.inside for drive in drives), where
            assert store.load().shares == [] and not paths.approved_plan_file().exists(), where
        else:
            assert all(all(drive.inside.values()) for drive in drives), where
        again(server)
    assert moment > 150 and finished > 140
