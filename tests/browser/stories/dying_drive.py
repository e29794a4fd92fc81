# SPDX-License-Identifier: Apache-2.0
"""A drive dies while the overview is open. This story needs a booted server with a pool."""

import time

from playwright.sync_api import expect

from tests.browser.user import User
from tests.vm.box import Box

# Seconds on a real server.
DEGRADED_SECONDS = 10


# What the loss of a drive starts at once.
STARTED = "millrace-health.service millrace-members.service millrace-event@arrays.service"


def emulation(box: Box) -> float:
    """Seconds that the program takes for two answers on an emulated server: one that is under way, and the next.

    Beside what a lost drive starts, and the page that is open.
    """
    if box.machine.accel.name == "kvm":
        return 0.0
    asked = time.monotonic()
    box.say(f"systemctl start --no-block {STARTED}; millrace status --json >&2")
    return 2 * (time.monotonic() - asked)


def test_pulled_drive_is_on_the_overview_within_ten_seconds(box: Box, admin: User) -> None:
    admin.sign_in()
    admin.go("Overview")
    expect(admin.ours.get_by_test_id("rate-drives")).to_be_visible()
    serial = box.plan["arrays"][0]["members"][4]
    before = emulation(box)
    box.machine.pull(serial)
    pulled = time.monotonic()
    expect(admin.ours.get_by_text("Array data (RAID6) is degraded")).to_be_visible()
    seconds = time.monotonic() - pulled
    # what else the host does changes from minute to minute
    assert seconds < DEGRADED_SECONDS * box.machine.accel.scale + max(before, emulation(box))
    admin.go("Storage")
    gone = admin.ours.locator(f"[data-serial='{serial}'][data-state]")
    expect(gone).to_have_attribute("data-state", "missing")
