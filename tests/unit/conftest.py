# SPDX-License-Identifier: Apache-2.0
import os
from pathlib import Path

import pytest

from millrace.system import paths
from tests.fakes.appliance import Appliance

# the width of the terminal from which tests are run would wrap what they read
os.environ.pop("COLUMNS", None)


@pytest.fixture
def root_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run as root on a server whose files are all below the returned directory."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for change in ("chown", "fchown"):
        monkeypatch.setattr(os, change, lambda *arguments: None)
    # the pool of a fake is on the disk of this host, which is no measure
    monkeypatch.setattr("millrace.serve.share.quota.pool_size", lambda mountpoint: None)
    return tmp_path


@pytest.fixture
def appliance(root_user: Path, monkeypatch: pytest.MonkeyPatch) -> Appliance:
    """A server with a pool, run by root."""
    made = Appliance(root_user)
    made.opens_nfs(monkeypatch)
    made.passdb(monkeypatch)
    return made
