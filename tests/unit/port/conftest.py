# SPDX-License-Identifier: Apache-2.0
import os
from pathlib import Path

import pytest

from millrace import paths
from tests.unit.port.network import Network


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Network:
    """A server with two ports and a pool, run by root."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "chown", lambda *arguments: None)
    return Network(tmp_path)
