# SPDX-License-Identifier: Apache-2.0
"""A server whose pool is trimmed, in its window, unless a file of tests has another one."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from millrace.storage.record.model import Pool
from millrace.storage.trim import trim
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from tests.fakes.files.running import server
from tests.unit.storage.trim.trimmed import Kernel, trimmed

SUNDAY = datetime.fromisoformat("2026-11-22T01:05:00+00:00")


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kernel]:
    with server(tmp_path) as box:
        box.provision()
        write_model(paths.pool_file(), trimmed(read_model(paths.pool_file(), Pool)))
        made = Kernel(box, SUNDAY)
        monkeypatch.setattr(trim, "now_here", lambda: made.now)
        yield made
