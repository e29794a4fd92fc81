# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of booted servers end where their package ends."""

from host.layout import REPO


def test_what_lives_as_long_as_a_package_lives_in_one() -> None:
    """Without `__init__.py` pytest takes such a fixture for one of the whole session."""
    found = [path.parent for path in REPO.glob("tests/**/conftest.py") if 'scope="package"' in path.read_text()]
    assert found
    assert [place for place in found if not (place / "__init__.py").is_file()] == []
