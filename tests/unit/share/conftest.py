# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from tests.unit.certificate.made import certify
from tests.unit.share.appliance import Appliance


@pytest.fixture
def appliance(root_user: Path) -> Appliance:
    """A server with a pool and a certificate, run by root."""
    certify()
    return Appliance(root_user)
