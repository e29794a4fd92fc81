# SPDX-License-Identifier: Apache-2.0
"""A VLAN is made, tried and kept; another change is rolled back. These stories need a booted server."""

import pytest
from playwright.sync_api import expect

from tests.browser.user import User
from tests.vm.box import SERVER_ADDRESSES, Box

# Seconds on the reference host under emulation.
CHANGE_SECONDS = 600
MOST_CLICKS = 8
VLAN_ADDRESS = "10.78.0.1/24"


# by hand until a row of soak has seen it
@pytest.mark.soak
def test_vlan_with_a_large_mtu_takes_eight_clicks(box: Box, admin: User) -> None:
    admin.go("Network")
    port = box.link(SERVER_ADDRESSES[1])["name"]
    expect(admin.ours.locator(f"[data-row='{port}']")).to_be_visible()
    admin.ours.get_by_role("button", name="Add VLAN…").click()
    dialog = admin.ours.get_by_role("dialog")
    dialog.get_by_label("On").select_option(port)
    fields = {"#vlan-id": "78", "#link-addresses": VLAN_ADDRESS, "#link-mtu": "9000"}
    for field, text in fields.items():
        dialog.locator(field).click()
        admin.page.keyboard.type(text)
    dialog.get_by_role("button", name="Add").click()
    keep = admin.ours.get_by_role("button", name="Keep the change")
    expect(keep).to_be_visible(timeout=1000 * CHANGE_SECONDS)
    keep.click()
    # the page, the button, the port, the fields, Add, Keep
    assert 3 + len(fields) + 2 <= MOST_CLICKS
    expect(admin.ours.get_by_text("The change is in force.")).to_be_visible(timeout=1000 * CHANGE_SECONDS)
    assert box.link("vlan78")["mtu"] == 9000


# by hand until a row of soak has seen it
@pytest.mark.soak
def test_removal_that_is_rolled_back_leaves_the_vlan(box: Box, admin: User) -> None:
    admin.go("Network")
    admin.ours.get_by_role("button", name="Remove vlan78").click()
    admin.ours.get_by_role("dialog").get_by_role("button", name="Remove").click()
    back = admin.ours.get_by_role("button", name="Roll back")
    expect(back).to_be_visible(timeout=1000 * CHANGE_SECONDS)
    back.click()
    expect(back).to_be_hidden(timeout=1000 * CHANGE_SECONDS)
    expect(admin.ours.locator("[data-row='vlan78']")).to_contain_text(VLAN_ADDRESS, timeout=1000 * CHANGE_SECONDS)
    assert admin.accessibility_problems() + admin.overflowing() == []
    box.change_network("remove vlan78")
