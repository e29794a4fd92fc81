# SPDX-License-Identifier: Apache-2.0
"""What holds on every page, whatever the server is in: for those who see little, and in both themes."""

from pathlib import Path

import pytest

from tests.browser.person import Person, Theme

OUT = Path(__file__).parents[1] / "out"
PAGES = ("Overview", "Server", "Storage", "Shares", "Clients", "Benchmark")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_can_be_read_by_everybody(admin: Person, request: pytest.FixtureRequest, theme: Theme) -> None:
    admin.choose_theme(theme)
    barriers = {}
    for title in request.module.PAGES:
        admin.go(title)
        admin.picture(OUT / f"{request.module.NAME}-{title.lower()}-{theme}.png")
        barriers[title] = admin.barriers()
    admin.choose_theme("light")
    assert {title: found for title, found in barriers.items() if found} == {}
