# SPDX-License-Identifier: Apache-2.0
"""A server whose check of arrays begins in its window, unless a file of tests has another one."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from millrace.storage.scrub import scrub
from millrace.system import sysfs
from tests.fakes.files.running import server
from tests.unit.storage.scrub.md_check import Md

SUNDAY = datetime.fromisoformat("2026-11-22T01:05:00+00:00")


@pytest.fixture
def md(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Md]:
    with server(tmp_path) as box:
        box.provision()
        made = Md(box, SUNDAY)
        monkeypatch.setattr(sysfs, "write", made.write)
        monkeypatch.setattr(scrub, "now_here", lambda: made.now)
        yield made
