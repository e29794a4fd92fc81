# SPDX-License-Identifier: Apache-2.0
"""Cockpit's own pages beside ours: nothing that leads nowhere, and Help with the manual of this server."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.user import User

SYSTEM = 'iframe.container-frame[name="cockpit1:localhost/system"]'


# by hand until a row of soak has seen it
@pytest.mark.soak
def test_system_page_has_no_button_that_leads_nowhere(admin: User) -> None:
    admin.page.goto(f"{admin.console.url}/system")
    system = admin.page.frame_locator(SYSTEM)
    expect(system.locator("#system_information_systime_button")).to_be_visible()
    hidden = ("#system_information_hostname_button", "#system_information_domain_button", "#tuned-status-button")
    for part in (*hidden, ".system-usage .pf-v6-c-card__footer"):
        expect(system.locator(part).and_(system.locator(":visible"))).to_have_count(0)
    expect(system.locator(".ct-exclamation-circle").and_(system.locator(":visible"))).to_have_count(0)
    expect(system.locator("#motd-box")).to_have_count(0)
    # either it says something, or it is not there
    health = system.locator(".system-health").and_(system.locator(":visible"))
    assert health.count() == 0 or system.locator(".system-health-events > *").count() > 0


# by hand until a row of soak has seen it
@pytest.mark.soak
def test_search_of_the_menu_finds_our_nouns(admin: User) -> None:
    search = admin.page.get_by_placeholder("Search")
    for word, page in (
        ("alert", "Millrace"),
        ("factory", "Millrace"),
        ("hostname", "Millrace"),
        ("shut down", "System"),
    ):
        search.fill(word)
        expect(admin.page.locator("#host-apps").get_by_role("link", name=re.compile(page)).first).to_be_visible()
    search.fill("")


# by hand until a row of soak has seen it
@pytest.mark.soak
def test_help_opens_the_manual_on_the_server(admin: User) -> None:
    admin.page.goto(f"{admin.console.url}/millrace")
    admin.wait_for_page()
    admin.page.locator("#toggle-docs").click()
    with admin.context.expect_page() as opened:
        admin.page.get_by_role("menuitem", name="Millrace documentation").click()
    manual = opened.value
    expect(manual.get_by_role("navigation", name="Manual")).to_be_visible()
    manual.get_by_role("link", name="Shares and users").first.click()
    expect(manual.get_by_role("heading", level=1)).to_contain_text("Shares")
    manual.close()
