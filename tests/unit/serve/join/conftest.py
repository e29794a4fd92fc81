# SPDX-License-Identifier: Apache-2.0
import os
import socket
from pathlib import Path

import pytest

from millrace.system import paths
from tests.unit.serve.join.member import Member


@pytest.fixture
def member(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Member:
    """A server with a pool and the shares of a first boot, run by root, in no domain yet."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "chown", lambda *arguments: None)
    monkeypatch.setattr(socket, "gethostname", lambda: "millrace")
    made = Member(tmp_path)
    made.opens_nfs(monkeypatch)
    monkeypatch.setattr(socket, "create_connection", made.connected)
    from millrace.serve.config import store

    made.server().apply(store.load())
    return made
