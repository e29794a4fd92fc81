# SPDX-License-Identifier: Apache-2.0
"""Samba's own torture tests: the locks of a home share, which clients notice first; the other groups are of soak."""

import pytest

from tests.vm.shares.torture import failed_without_reason, shared
from vm.machine import Machine

__all__ = ["shared"]

# by hand until a row of soak has seen its table of known results
pytestmark = [pytest.mark.soak, pytest.mark.usefixtures("models")]

TYPE = "home"


def test_no_failure_beyond_the_baseline(client: Machine, shared: str) -> None:
    assert failed_without_reason(client, shared, TYPE, "lock") == []
