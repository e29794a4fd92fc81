# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from tests.fakes.appliance import Appliance
from tests.fakes.certificates import certify


@pytest.fixture
def appliance(root_user: Path) -> Appliance:
    """A server with a pool and a certificate, run by root."""
    certify()
    return Appliance(root_user)
