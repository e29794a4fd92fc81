# SPDX-License-Identifier: Apache-2.0
"""Places of a run: NFS stays mounted, SMB is mounted for each reading from an smbd with the settings of the reading."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from millrace.measure.bench.plan.job import Target
from millrace.measure.bench.plan.steps import RungStep
from millrace.measure.tuner.run import ladder
from millrace.measure.tuner.run import plan as planning
from millrace.measure.tuner.run.outputs import TunerRequest
from millrace.measure.tuner.run.plan import PreparedSearch
from millrace.plan.defaults import SmbdSettings
from millrace.system.errors import Failed
from tests.unit.measure.bench.sites import site
from tests.unit.measure.tuner.machines import TunedServer

FEW, MANY = SmbdSettings(max_credits=512), SmbdSettings(max_credits=16384, aio_min_bytes=65536)
GOALS = "seq-read,smb-seq-read,smb-rand-read"


class Places:
    """What is opened and closed, and what is measured where; `broken` is a target that has no result."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch) -> None:
        self.said: list[str] = []
        self.broken = ""
        patch.setattr(ladder.space, "make", lambda *_: root)
        patch.setattr(ladder.space, "remove", lambda *_: None)
        patch.setattr(ladder, "working_directory", lambda: root)
        patch.setattr(ladder.targets, "opened", self._opened)
        patch.setattr(ladder, "StepRunner", lambda *_: SimpleNamespace(run=self._run))

    @contextmanager
    def _opened(
        self, step: RungStep, directory: Path, nodes: Path, run: Any, smbd: SmbdSettings | None = None
    ) -> Iterator[Target]:
        name = step.target if smbd is None else f"{step.target} with {smbd.max_credits} credits"
        self.said.append(f"open {name}")
        try:
            yield Target(directory=directory / name)
        finally:
            self.said.append(f"close {name}")

    def _run(self, rung: Any, step: RungStep, target: Target, *_: Any) -> Any:
        assert target.directory is not None
        self.said.append(f"{step.work.name} at {target.directory.name}")
        median = 0.0 if step.target == self.broken else 1e9
        return SimpleNamespace(find=lambda *_: SimpleNamespace(median=median))


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    return Places(tmp_path, monkeypatch)


@pytest.fixture
def ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PreparedSearch:
    machine = TunedServer(tmp_path, monkeypatch)
    monkeypatch.setattr(planning.sites, "site", lambda clients: site(pool=machine.pool))
    return planning.prepare(TunerRequest(goals=GOALS), machine)


def opened(ready: PreparedSearch) -> Any:
    unused: Any = None
    return ladder.opened(ready, unused, Event(), unused)


def test_every_reading_has_an_smbd_of_its_own_and_nfs_stays_mounted(ready: PreparedSearch, places: Places) -> None:
    with opened(ready) as open_ladder:
        assert open_ladder.figures(lambda _: None, FEW) == dict.fromkeys(GOALS.split(","), 1e9)
        open_ladder.figures(lambda _: None, MANY)
    first, second = "smb with 512 credits", "smb with 16384 credits"
    assert places.said == [
        "open nfs-tcp",
        "seq/read at nfs-tcp",
        *(f"open {first}", f"seq/read at {first}", f"rand/read at {first}", f"close {first}"),
        "seq/read at nfs-tcp",
        *(f"open {second}", f"seq/read at {second}", f"rand/read at {second}", f"close {second}"),
        "close nfs-tcp",
    ]


def test_smbd_of_a_reading_without_a_result_ends_with_it(ready: PreparedSearch, places: Places) -> None:
    places.broken = "smb"
    with opened(ready) as found, pytest.raises(Failed, match="L2/smb/seq/read has no result"):
        found.figures(lambda _: None, FEW)
    assert [one for one in places.said if "smb" in one] == [
        "open smb with 512 credits",
        "seq/read at smb with 512 credits",
        "close smb with 512 credits",
    ]
