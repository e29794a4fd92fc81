# SPDX-License-Identifier: Apache-2.0
import os
from pathlib import Path

import pytest

from millrace import paths
from tests.unit.share.appliance import Appliance


@pytest.fixture
def appliance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Appliance:
    """A server with a pool, run by root."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "chown", lambda *arguments: None)
    return Appliance(tmp_path)
