# SPDX-License-Identifier: Apache-2.0
"""Every page, in every state of the server, is accessible in both themes."""

import pytest

from tests.browser.failed import OUT
from tests.browser.user import Theme, User

PAGES = (
    "Overview",
    "Server",
    "Storage",
    "Shares",
    "Protection",
    "Volumes",
    "Network",
    "Clients",
    "Benchmark",
    "Settings",
)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_is_accessible(admin: User, request: pytest.FixtureRequest, theme: Theme) -> None:
    admin.choose_theme(theme)
    found = {}
    for title in request.module.PAGES:
        admin.go(title)
        admin.picture(OUT / f"{request.module.NAME}-{title.lower()}-{theme}.png")
        found[title] = admin.accessibility_problems() + admin.overflowing()
    admin.choose_theme("light")
    assert {title: wrong for title, wrong in found.items() if wrong} == {}
