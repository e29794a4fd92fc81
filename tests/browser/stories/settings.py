# SPDX-License-Identifier: Apache-2.0
"""The certificate of the server and its domain."""

import json

from playwright.sync_api import expect

from tests.browser.console import Console
from tests.browser.user import User

BROKEN = "-----BEGIN CERTIFICATE-----\nnothing\n-----END CERTIFICATE-----\n"
# Prints a certificate and its key.
MAKE = """
umask 077
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out /run/site.key
openssl req -x509 -key /run/site.key -days 90 -subj /CN=nas.example.com -addext subjectAltName=DNS:nas.example.com
cat /run/site.key
rm /run/site.key
"""


def test_settings_page_shows_the_certificate_in_use(console: Console, admin: User) -> None:
    admin.go("Settings")
    report = json.loads(console.run(["millrace", "certificate", "show", "--json"], ""))
    expect(admin.ours.get_by_test_id("certificate")).to_contain_text(report["certificate"]["fingerprint"])
    expect(admin.ours.get_by_test_id("domain")).to_contain_text("Not a member of a domain")


def test_invalid_certificate_is_refused_and_changes_nothing(console: Console, admin: User) -> None:
    before = console.run(["millrace", "certificate", "show", "--json"], "")
    admin.ours.get_by_role("button", name="Install a certificate…").click()
    dialog = admin.ours.get_by_role("dialog")
    dialog.locator("#pem").fill(BROKEN)
    dialog.get_by_role("button", name="Install").click()
    expect(dialog.get_by_test_id("error")).to_be_visible()
    assert admin.accessibility_problems() == []
    dialog.get_by_role("button", name="Cancel").click()
    assert console.run(["millrace", "certificate", "show", "--json"], "") == before


def test_own_certificate_is_installed_and_removed(console: Console, admin: User) -> None:
    made = console.run(["sh", "-ec", MAKE], "")
    admin.go("Settings")
    certificate = admin.ours.get_by_test_id("certificate")
    admin.ours.get_by_role("button", name="Install a certificate…").click()
    dialog = admin.ours.get_by_role("dialog")
    dialog.locator("#pem").fill(made)
    dialog.get_by_role("button", name="Install").click()
    expect(admin.ours.get_by_test_id("done")).to_contain_text("The certificate has been replaced.")
    expect(certificate).to_contain_text("nas.example.com")
    report = json.loads(console.run(["millrace", "certificate", "show", "--json"], ""))
    assert (report["origin"], report["certificate"]["names"]) == ("installed", ["nas.example.com"])
    expect(certificate).to_contain_text(report["certificate"]["fingerprint"])
    # the key is nowhere on the page
    assert "PRIVATE KEY" not in admin.frame.content()

    admin.ours.get_by_role("button", name="Return to own certificate…").click()
    admin.ours.get_by_role("dialog").get_by_role("button", name="Create").click()
    expect(certificate).not_to_contain_text("nas.example.com")
    report = json.loads(console.run(["millrace", "certificate", "show", "--json"], ""))
    assert report["origin"] == "own"


def test_support_archive_is_listed_before_it_is_downloaded(console: Console, admin: User) -> None:
    admin.go("Settings")
    admin.ours.get_by_role("button", name="Support archive…").click()
    dialog = admin.ours.get_by_role("dialog")
    listed = json.loads(console.run(["millrace", "support", "--list", "--json"], ""))["files"]
    expect(dialog.get_by_role("row")).to_have_count(len(listed) + 1)
    expect(dialog.get_by_role("button", name="Download")).to_be_enabled()
    assert admin.accessibility_problems() == []
    dialog.get_by_role("button", name="Close").last.click()
    expect(dialog).to_have_count(0)
