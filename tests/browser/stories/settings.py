# SPDX-License-Identifier: Apache-2.0
"""By what the server is known."""

import json

from playwright.sync_api import expect

from tests.browser.console import Console
from tests.browser.person import Person

BROKEN = "-----BEGIN CERTIFICATE-----\nnothing\n-----END CERTIFICATE-----\n"


def test_the_certificate_is_the_one_in_use(console: Console, admin: Person) -> None:
    admin.go("Settings")
    report = json.loads(console.run(["millrace", "certificate", "show", "--json"], ""))
    expect(admin.ours.get_by_test_id("certificate")).to_contain_text(report["certificate"]["fingerprint"])
    expect(admin.ours.get_by_test_id("domain")).to_contain_text("in no domain")


def test_what_is_no_certificate_is_refused_in_the_program_s_words(console: Console, admin: Person) -> None:
    before = console.run(["millrace", "certificate", "show", "--json"], "")
    admin.ours.get_by_role("button", name="Install a certificate…").click()
    dialog = admin.ours.get_by_role("dialog")
    dialog.locator("#pem").fill(BROKEN)
    dialog.get_by_role("button", name="Install").click()
    expect(dialog.get_by_test_id("error")).to_be_visible()
    assert admin.barriers() == []
    dialog.get_by_role("button", name="Cancel").click()
    assert console.run(["millrace", "certificate", "show", "--json"], "") == before
