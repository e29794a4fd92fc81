# SPDX-License-Identifier: Apache-2.0
"""A server with a degraded array, and the file system on it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.storage.unclean import suspects
from tests.fakes.files.box import Box
from tests.fakes.files.running import server
from tests.unit.storage.scrub.xfs import Xfs
from tests.unit.storage.unclean.searched import CHUNK, DISKS, MISSING, STRIPES


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with server(tmp_path) as made:
        made.provision()
        made.md("data", layout="2", degraded="1", raid_disks=str(DISKS), component_size=str(STRIPES * CHUNK // 2))
        made.md("data", **{f"rd{slot}/state": "in_sync" for slot in range(DISKS) if slot != MISSING})
        yield made


@pytest.fixture
def xfs(box: Box, monkeypatch: pytest.MonkeyPatch) -> Xfs:
    monkeypatch.setattr(suspects, "MARGIN", 0.0)
    return Xfs(box.root / "srv/pool", monkeypatch)
