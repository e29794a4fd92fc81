# SPDX-License-Identifier: Apache-2.0
"""Users of shares, and users who may sign in to the web console."""

import json

import pytest
from playwright.sync_api import expect

from tests.browser.console import Console
from tests.browser.fixtures import OpenBrowser
from tests.browser.user import User

ANNA_PASSWORD = "she-has-a-long-one-7"
VERA_PASSWORD = "looks-7-but-touches-nothing"


def make_user(admin: User, name: str, password: str, *, looks: bool = False) -> None:
    """Make a user in the dialog of the page Shares."""
    admin.go("Shares")
    admin.ours.get_by_role("button", name="New user").click()
    dialog = admin.ours.get_by_role("dialog")
    dialog.locator("#user-name").fill(name)
    dialog.locator("#password").fill(password)
    dialog.locator("#password-again").fill(password)
    if looks:
        dialog.get_by_label("May sign in to the web console").check()
    dialog.get_by_role("button", name="Create user").click()
    expect(dialog).to_have_count(0)
    expect(admin.ours.get_by_test_id("users").get_by_role("rowheader", name=name)).to_be_visible()


def test_user_is_created_with_a_password(console: Console, admin: User) -> None:
    make_user(admin, "anna", ANNA_PASSWORD)
    users = json.loads(console.run(["millrace", "user", "list", "--json"], ""))["users"]
    assert [(user["name"], user["console"]) for user in users] == [("anna", False)]


def test_invalid_input_is_reported_in_the_dialog(admin: User) -> None:
    admin.ours.get_by_role("button", name="New user").click()
    dialog = admin.ours.get_by_role("dialog")
    dialog.locator("#user-name").fill("anna")
    expect(dialog).to_contain_text("user or group anna already exists")
    dialog.locator("#password").fill(ANNA_PASSWORD)
    dialog.locator("#password-again").fill("another")
    expect(dialog).to_contain_text("passwords do not match")
    expect(dialog.get_by_role("button", name="Create user")).to_be_disabled()
    admin.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


@pytest.fixture(scope="module")
def vera(admin: User, open_browser: OpenBrowser) -> User:
    """A user with web console access and no administrative access."""
    make_user(admin, "vera", VERA_PASSWORD, looks=True)
    vera = open_browser("vera", VERA_PASSWORD)
    vera.sign_in()
    return vera


def test_user_without_administrative_access_reads_every_page(vera: User, request: pytest.FixtureRequest) -> None:
    for title in request.module.PAGES:
        vera.go(title)
        expect(vera.ours.get_by_role("heading", level=1)).to_have_text(title)
        expect(vera.ours.get_by_test_id("limited-access")).to_contain_text("the pages are read-only")
        expect(vera.ours.get_by_test_id("error")).to_have_count(0)


def test_disabled_button_names_the_missing_administrative_access(vera: User) -> None:
    vera.go("Shares")
    button = vera.ours.get_by_role("button", name="New user")
    expect(button).to_have_attribute("aria-disabled", "true")
    button.focus()
    expect(vera.ours.get_by_role("tooltip")).to_contain_text("requires administrative access")
    button.press("Enter")
    expect(vera.ours.get_by_role("dialog")).to_have_count(0)
    # an emulated server has better things to do than to keep her pages up to date
    vera.page.goto("about:blank")
