# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from tests.unit.cli.apply.server import AppliedServer


@pytest.fixture
def server(root_user: Path, monkeypatch: pytest.MonkeyPatch) -> AppliedServer:
    """A server with two ports and a pool, run by root."""
    made = AppliedServer(root_user)
    made.opens_nfs(monkeypatch)
    made.passdb(monkeypatch)
    monkeypatch.setattr("millrace.serve.network.refusals.served_on", lambda port: [])
    return made
