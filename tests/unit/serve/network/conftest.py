# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from tests.unit.serve.network.network import Network


@pytest.fixture
def network(root_user: Path, monkeypatch: pytest.MonkeyPatch) -> Network:
    """A server with two ports and a pool, run by root."""
    made = Network(root_user)
    made.opens_nfs(monkeypatch)
    return made
