# SPDX-License-Identifier: Apache-2.0
"""The first day of a server: the administrator signs in for the first time and reads the plan."""

import json

from playwright.sync_api import expect

from tests.browser.console import Console
from tests.browser.user import User

WATCH = ["watch", "--json"]
# before anything else: by whose rights the program is started
WHO = ["access", "who", "--json"]


def test_first_sign_in_requires_a_new_password(console: Console, admin: User) -> None:
    own, admin.password = admin.password, console.one_time
    admin.submit_login()
    admin.answer("New password", own)
    admin.answer("Retype new password", own)
    admin.password = own
    admin.wait_for_page()
    expect(admin.ours.get_by_role("heading", level=1)).to_be_visible()


def test_administrative_access_requires_the_new_password(admin: User) -> None:
    # Cockpit knows the one-time password only, which opens nothing any more
    expect(admin.ours.get_by_test_id("limited-access")).to_be_visible()
    admin.gain_administrative_access()
    expect(admin.ours.get_by_test_id("limited-access")).to_have_count(0)


def test_overview_shows_that_no_pool_exists_and_links_to_the_plan(admin: User) -> None:
    expect(admin.ours.get_by_test_id("capacity")).to_contain_text("No pool yet")
    admin.ours.get_by_role("link", name="Review the plan").click()
    expect(admin.ours.get_by_role("heading", level=1)).to_have_text("Storage")


def test_storage_page_shows_the_plan_with_every_reason(console: Console, admin: User) -> None:
    admin.go("Storage")
    plan = json.loads(console.run(["millrace", "plan", "--json"], ""))
    expect(admin.ours.get_by_test_id("plan-hash")).to_have_text(plan["sha256"])
    text = admin.ours.locator(".mr-main").inner_text()
    reasons = [decision["reason"] for decision in plan["proposal"]["decisions"]]
    assert reasons and [reason for reason in reasons if reason not in text] == []


def test_approval_dialog_shows_the_plan_hash_and_that_nothing_is_erased(admin: User) -> None:
    shown = admin.ours.get_by_test_id("plan-hash").inner_text()
    approve = admin.ours.get_by_role("button", name="Approve…")
    approve.focus()
    admin.page.keyboard.press("Enter")
    dialog = admin.ours.get_by_role("dialog")
    expect(dialog).to_contain_text(shown)
    expect(dialog.get_by_test_id("erased-sentence")).to_contain_text("Nothing")
    admin.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(approve).to_be_focused()


def test_server_page_shows_every_bay(console: Console, admin: User) -> None:
    admin.go("Server")
    topology = json.loads(console.run(["millrace", "topology", "--json"], ""))
    drives = [drive for node in topology["nodes"] for drive in node["drives"] if drive["present"]]
    assert len(drives) >= 12
    text = admin.ours.locator(".mr-main").inner_text()
    for bay in (drive["bay"] for drive in drives if drive["bay"] is not None):
        assert bay in text


def test_one_program_serves_all_requests_of_the_pages(admin: User) -> None:
    # without it they look the same, and every question costs a start of the program
    assert ["millrace", "answer"] in admin.started
    assert [
        words for words in admin.started if words[:1] == ["millrace"] and words[1:] not in (["answer"], WATCH, WHO)
    ] == []
