# SPDX-License-Identifier: Apache-2.0
"""Unit tests of a build host ask no archive."""

import pytest

from host import apt


@pytest.fixture(autouse=True)
def no_security_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    """A security suite would be looked for over the network; test_apt.py has that."""
    monkeypatch.setattr(apt, "security_uri", lambda uri: None)
