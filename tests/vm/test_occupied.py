# SPDX-License-Identifier: Apache-2.0
"""A plain server with drives of others and of another pool in it: nothing is written."""

import pytest

from tests.vm.occupied_stories import *  # noqa: F403
from tests.vm.servers import server_named
from vm.server import Server

# A server of its own.
pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def server() -> Server:
    return server_named("5equal")
