# SPDX-License-Identifier: Apache-2.0
"""What people saw when a story failed."""

from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Error

pytest.register_assert_rewrite("tests.browser.stories", "tests.browser.fixtures")

OUT = Path(__file__).parent / "out"


def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    """Take a picture of everybody's browser."""
    OUT.mkdir(exist_ok=True)
    for number, person in enumerate(getattr(node, "funcargs", {}).get("met", [])):
        with suppress(Error):
            person.page.screenshot(path=OUT / f"failed-{node.name}-{number}-{person.user}.png")
