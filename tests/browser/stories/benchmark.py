# SPDX-License-Identifier: Apache-2.0
"""A run is started, watched and stopped, and one of the past is read. These stories need a booted server with a run."""

import csv
import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.user import User
from tests.vm import measured
from tests.vm.box import CLIENT_ADDRESSES, SERVER_ADDRESSES, Box
from vm.machine import Machine

# Seconds on the reference host under emulation: a server is looked at before its run begins, and cleaned after it.
BEGIN_SECONDS = 240


def test_run_continues_without_the_page_and_is_stopped_from_it(box: Box, admin: User) -> None:
    patience = 1000 * BEGIN_SECONDS * box.machine.accel.scale
    admin.sign_in()
    admin.go("Benchmark")
    start = admin.ours.get_by_test_id("start")
    # clients of earlier stories may not be forgotten yet
    start.get_by_label("Allow while clients are connected").check()
    expect(start.get_by_test_id("estimate")).to_contain_text("Estimated duration", timeout=patience)
    expect(start.get_by_test_id("obstacle")).to_have_count(0, timeout=patience)
    start.get_by_role("button", name="Start").click()
    live = admin.ours.get_by_test_id("live")
    expect(live.get_by_text("load 1 of").first).to_be_visible(timeout=patience)
    admin.go("Overview")
    admin.go("Benchmark")
    expect(live.get_by_text("load ").first).to_be_visible(timeout=patience)
    expect(start.get_by_role("button", name="Start")).to_be_disabled()
    live.get_by_role("button", name="Stop").click()
    admin.ours.get_by_role("dialog").get_by_role("button", name="Stop the run").click(timeout=patience)
    expect(admin.ours.get_by_test_id("last-run")).to_contain_text(re.compile("stopped", re.I), timeout=patience)
    newest = box.read_json("millrace bench list --json")["runs"][0]
    assert newest["state"] == "stopped"
    over = "systemctl show -P ActiveState millrace-bench.service | grep -x inactive"
    box.machine.wait_command(over, "the end of the run's clean-up", BEGIN_SECONDS)


def test_finished_run_is_drawn_and_downloaded_as_csv(box: Box, admin: User, tmp_path: Path) -> None:
    done = next(run for run in box.read_json("millrace bench list --json")["runs"] if run["state"] == "done")
    admin.ours.get_by_test_id("history").get_by_role("link", name=done["id"], exact=True).click()
    expect(admin.ours.get_by_role("heading", level=1)).to_have_text(f"Run {done['id']}")
    for panel in ("run-ladder", "run-spectrum"):
        expect(admin.ours.get_by_test_id(panel).locator("svg").first).to_be_visible()
    results = admin.ours.get_by_test_id("run-results").get_by_role("row")
    made = box.read_json(f"millrace bench show {done['id']} --json")
    expect(results).to_have_count(len(made["rungs"]) + 1)
    with admin.page.expect_download() as taken:
        admin.ours.get_by_role("button", name="Table (CSV)").click()
    file = tmp_path / taken.value.suggested_filename
    taken.value.save_as(file)
    assert file.name == f"millrace-{done['id']}.csv"
    lines = list(csv.DictReader(file.read_text().splitlines()))
    assert {line["rung"] for line in lines} == {rung["id"] for rung in made["rungs"] if rung["state"] == "done"}


def test_client_is_added_offered_and_removed(box: Box, client: Machine, admin: User) -> None:
    patience = 1000 * BEGIN_SECONDS * box.machine.accel.scale
    address = CLIENT_ADDRESSES[0]
    # an earlier story may have added it
    box.machine.run(["millrace", "bench", "clients", "remove", address], check=False)
    admin.go("Benchmark")
    panel = admin.ours.get_by_test_id("bench-clients")
    panel.get_by_label("Name or address of the client").fill(address)
    panel.get_by_label("Token").fill("aaaa-aaaa-aaaa-aaaa-aaaa")
    panel.get_by_role("button", name="Add the client").click()
    expect(panel.get_by_test_id("error")).to_contain_text("does not answer on port 8764", timeout=patience)
    measured.give_program(box, client)
    with measured.listening(client, SERVER_ADDRESSES[0]) as token:
        panel.get_by_label("Token").fill(token.strip())
        panel.get_by_role("button", name="Add the client").click()
        expect(panel.get_by_role("rowheader", name=address)).to_be_visible(timeout=patience)
    drive = admin.ours.get_by_test_id("start").get_by_label(f"Include client {address}")
    expect(drive).to_be_visible()
    panel.get_by_role("button", name=f"Forget {address}").click()
    expect(drive).to_have_count(0, timeout=patience)
    assert box.read_json("millrace bench clients list --json")["clients"] == []
