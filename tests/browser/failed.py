# SPDX-License-Identifier: Apache-2.0
"""What users saw when a story failed."""

from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Error

pytest.register_assert_rewrite("tests.browser.stories", "tests.browser.fixtures")

OUT = Path(__file__).parent / "out"


def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    """Take a picture of the browser of each user."""
    OUT.mkdir(exist_ok=True)
    for number, user in enumerate(getattr(node, "funcargs", {}).get("users", [])):
        with suppress(Error):
            user.page.screenshot(path=OUT / f"failed-{node.name}-{number}-{user.name}.png")
