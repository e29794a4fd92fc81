# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from tests.fakes.appliance import Appliance
from tests.fakes.certificates import certify


@pytest.fixture
def appliance(root_user: Path, monkeypatch: pytest.MonkeyPatch) -> Appliance:
    """A server with a pool and a certificate, run by root."""
    certify()
    made = Appliance(root_user)
    made.opens_nfs(monkeypatch)
    made.passdb(monkeypatch)
    return made
