# SPDX-License-Identifier: Apache-2.0
"""Users of shares, and people who manage the server."""

import json

import pytest
from playwright.sync_api import Locator, expect

from millrace.serve.account import second_factor
from tests.browser.console import Console
from tests.browser.fixtures import OpenBrowser
from tests.browser.user import User

ANNA_PASSWORD = "she-has-a-long-one-7"
VERA_PASSWORD = "looks-7-but-touches-nothing"
BOB_PASSWORD = "mends-7-servers-at-night"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDtp3oVJyKl5xGkNVHtgmiVCcUuhmO1Eq9JZSdlIxkOE bob@laptop"


def fill_password(dialog: Locator, password: str) -> None:
    for field in ("#password", "#password-again"):
        dialog.locator(field).fill(password)


def make_user(admin: User, name: str, password: str) -> None:
    """Make a user in the dialog of the page Shares."""
    admin.go("Shares")
    admin.ours.get_by_role("button", name="New user").click()
    dialog = admin.ours.get_by_role("dialog")
    dialog.locator("#user-name").fill(name)
    fill_password(dialog, password)
    dialog.get_by_role("button", name="Create user").click()
    expect(dialog).to_have_count(0)
    expect(admin.ours.get_by_test_id("users").get_by_role("rowheader", name=name)).to_be_visible()


def make_person(admin: User, name: str, password: str, role: str, key: str = "") -> None:
    """Make a person in the dialog of the page Access."""
    admin.go("Access")
    admin.ours.get_by_role("button", name="New person").click()
    dialog = admin.ours.get_by_role("dialog")
    dialog.locator("#person-name").fill(name)
    dialog.locator("#role").select_option(role)
    fill_password(dialog, password)
    if key:
        dialog.locator("#ssh-key").fill(key)
    dialog.get_by_role("button", name="Create person").click()
    expect(dialog).to_have_count(0)
    expect(admin.ours.get_by_test_id("people").get_by_role("rowheader", name=name)).to_be_visible()


def test_second_administrator_with_key_and_code(admin: User) -> None:
    """Seven clicks: the page, the person, create, the second factor, turn on, written down, close."""
    make_person(admin, "bob", BOB_PASSWORD, "administrator", KEY)
    expect(admin.ours.get_by_test_id("people")).to_contain_text("SHA256:")
    admin.ours.get_by_role("button", name="Second factor of bob").click()
    dialog = admin.ours.get_by_role("dialog")
    secret = dialog.get_by_role("group", name="Secret").locator("pre").inner_text()
    dialog.locator("#code").fill(second_factor.code_at(secret, int(admin.page.evaluate("Date.now()")) // 30000))
    dialog.get_by_role("button", name="Turn on").click()
    shown = admin.ours.get_by_test_id("codes-shown")
    assert len(shown.locator("pre").inner_text().split()) == second_factor.RECOVERY_CODES
    shown.get_by_label("I have written them down").check()
    shown.get_by_role("button", name="Close").click()
    expect(admin.ours.get_by_role("button", name="Second factor of bob")).to_contain_text("8 recovery codes left")
    assert admin.accessibility_problems() == [] and admin.overflowing() == []


def test_text_that_is_no_key_makes_no_person(admin: User) -> None:
    admin.ours.get_by_role("button", name="New person").click()
    dialog = admin.ours.get_by_role("dialog")
    dialog.locator("#person-name").fill("eve")
    dialog.locator("#password").fill(BOB_PASSWORD)
    dialog.locator("#password-again").fill(BOB_PASSWORD)
    dialog.locator("#ssh-key").fill("hello")
    dialog.get_by_role("button", name="Create person").click()
    expect(dialog.get_by_test_id("error")).to_contain_text("this is no public SSH key")
    admin.page.keyboard.press("Escape")
    expect(admin.ours.get_by_test_id("people")).not_to_contain_text("eve")


def test_changes_are_listed_with_who_made_them(admin: User) -> None:
    admin.go("Access")
    row = admin.ours.get_by_test_id("access-log").get_by_role("row", name="access create bob").first
    expect(row).to_contain_text("admin")
    expect(row).to_contain_text("page")


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
    """A viewer."""
    make_person(admin, "vera", VERA_PASSWORD, "viewer")
    vera = open_browser("vera", VERA_PASSWORD)
    vera.sign_in()
    return vera


def test_user_without_administrative_access_reads_every_page(vera: User, request: pytest.FixtureRequest) -> None:
    for title in request.module.PAGES:
        vera.go(title)
        expect(vera.ours.get_by_role("heading", level=1)).to_have_text(title)
        expect(vera.ours.get_by_test_id("limited-access")).to_contain_text("the pages are read-only")
        expect(vera.ours.get_by_test_id("error")).to_have_count(0)


def test_disabled_button_names_the_missing_role(vera: User) -> None:
    vera.go("Shares")
    button = vera.ours.get_by_role("button", name="New user")
    expect(button).to_have_attribute("aria-disabled", "true")
    button.focus()
    expect(vera.ours.get_by_role("tooltip")).to_contain_text("for administrators")
    button.press("Enter")
    expect(vera.ours.get_by_role("dialog")).to_have_count(0)
    # an emulated server has better things to do than to keep her pages up to date
    vera.page.goto("about:blank")
