# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from tests.unit.serve.network.network import Network


@pytest.fixture
def network(root_user: Path) -> Network:
    """A server with two ports and a pool, run by root."""
    return Network(root_user)
