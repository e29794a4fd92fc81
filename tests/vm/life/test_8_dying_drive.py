# SPDX-License-Identifier: Apache-2.0
"""A drive dies while the server serves and its overview is open; it is replaced from the page while a client writes."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from tests.browser.fixtures import *  # noqa: F403
from tests.browser.stories.dying_drive import *  # noqa: F403
from tests.browser.user import User
from tests.vm import seen
from tests.vm.blocks import BLOCK, BLOCKS
from tests.vm.box import Box
from tests.vm.life.words import EXPORT, SERVER, VIEWER, mounted
from vm.machine import Machine

ARRAY = "/dev/md/millrace-data"
MD = "/sys/class/block/$(basename $(readlink -f /dev/md/millrace-data))/md"
NEW = "MRC00000000001"
FILE = "moving"
SPAN = 64
"""Blocks of the file that is written again and again."""

# Each block is read back from the server, not from the client's memory.
WRITER = f"""
import os
{BLOCKS}
file = os.open("{{where}}/{FILE}", os.O_CREAT | os.O_RDWR | os.O_TRUNC)
log = open("/run/written", "w")
number = 0
while not os.path.exists("/run/enough"):
    at = number % {SPAN} * {BLOCK}
    os.pwrite(file, block(number), at)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    assert os.pread(file, {BLOCK}, at) == block(number), number
    print(number, file=log, flush=True)
    number += 1
"""
READER = f"""
import sys
{BLOCKS}
last = int(sys.argv[1])
with open("{EXPORT}/{FILE}", "rb") as file:
    for place in range(min(last + 1, {SPAN})):
        number = place + (last - place) // {SPAN} * {SPAN}
        assert file.read({BLOCK}) == block(number), number
print("equal")
"""


@pytest.fixture(scope="module", autouse=True)
def looks(in_use: Box) -> None:
    """The server looks at everything by itself, as after every boot."""
    in_use.say("systemctl start millrace-health.timer")


@pytest.fixture(scope="module")
def lost(box: Box) -> str:
    """The drive that is not there any more: the browser's story pulled it, or it is pulled now."""
    members = set(box.plan["arrays"][0]["members"])
    if not members - box.members_by_serial("data"):
        box.say("systemctl start millrace-health.service")
        with seen.watching(box) as lines:
            box.machine.pull(min(members))
            box.machine.wait_command('tail -n 2 /run/watched | grep -qE \'"health":"(WARN|FAIL)"\'', "the warning", 10)
        assert lines[0]["health"] == "OK"
    (lost,) = members - box.members_by_serial("data")
    return str(lost)


def test_pulled_drive_is_named_to_users_with_console_access(box: Box, lost: str) -> None:
    arrays = {array["name"]: array for array in box.shown("pool show --json")["arrays"]}
    assert arrays["data"]["degraded"] == 1 == arrays["data"]["may_fail"]
    (gone,) = [member for member in arrays["data"]["members"] if member["state"] == "missing"]
    assert gone["serial"] == lost
    nodes = box.shown("topology --json")["nodes"]
    drives = {one["serial"]: one for node in nodes for one in node["drives"]}
    assert (drives[lost]["present"], drives[lost]["member"]) == (False, "missing")
    status = box.shown("status --json", user=VIEWER)
    (named,) = [one["sentence"] for one in status["health"]["findings"] if "is degraded" in one["sentence"]]
    assert f"({lost}) is missing; it survives 1 more failure" in named and "bay " in named
    said = box.millrace("status").out.splitlines()
    assert len(said) <= 24
    todo = f"Replace the drive: millrace drive replace {lost}"
    assert any(line.startswith("Next") and "is degraded" in line and line.endswith(todo) for line in said)


def test_array_that_changed_is_tuned_again(box: Box, lost: str) -> None:
    array = "/sys/class/block/$(basename $(readlink -f /dev/md/millrace-data))"
    cache = f"{array}/md/stripe_cache_size"
    planned = box.say(f"cat {cache}")
    over = "systemctl show -P ActiveState millrace-retune-arrays.timer | grep -x inactive"
    box.machine.wait_command(
        f'{over} && test -z "$(systemctl list-jobs --no-legend)"', "what the lost drive began", 300
    )
    box.say(f"echo 256 > {cache}")
    assert box.say(f"cat {cache}") == "256" != planned
    # RAID6 bears the loss of a second one; the link of the first may still be there, to nowhere
    (*_, second) = box.say(f"cd {array}/slaves && for one in *; do test -e $one && echo $one; done; true").split()
    box.say(f"mdadm /dev/md/millrace-data --fail /dev/{second}")
    box.machine.wait_command(f"grep -x {planned} {cache}", "the planned stripe cache", 300)


def test_alert_is_acknowledged_on_the_bell(admin: User, lost: str) -> None:
    admin.go("Overview")
    admin.ours.get_by_test_id("bell").press("Enter")
    alert = admin.ours.get_by_test_id("open-alerts").locator("[data-key='arrays/data']")
    expect(alert).to_contain_text(lost)
    alert.get_by_role("button", name="Acknowledge arrays/data").press("Enter")
    expect(alert).to_contain_text("acknowledged by admin")
    expect(alert.get_by_role("button")).to_have_count(0)


@contextmanager
def written(box: Box, client: Machine) -> Iterator[None]:
    """The client writes and reads all the time; its blocks are equal on the drives at the end."""
    with mounted(client, "nfs-tcp") as where:
        box.say(f"install -m 666 /dev/null {EXPORT}/{FILE}")
        client.run("rm -f /run/enough; cat > /run/writer.py", stdin=WRITER.replace("{where}", where))
        client.run("systemd-run --unit=moving --remain-after-exit python3 /run/writer.py")
        try:
            client.wait_command("test $(wc -l < /run/written) -ge 10", "ten blocks synced", 300)
            yield
        finally:
            client.run("touch /run/enough")
            client.wait_command(
                "systemctl show -P SubState moving | grep -qxE 'exited|failed'", "the end of the writer", 120
            )
        ended = client.run(
            "systemctl show -P Result moving; journalctl -u moving -o cat | tail -n 5; tail -n 1 /run/written"
        )
        print(ended.out)
        assert ended.out.startswith("success")
        last = ended.out.split()[-1]
    assert int(last) > SPAN
    box.say("sync; echo 3 > /proc/sys/vm/drop_caches")
    assert box.machine.run(["python3", "-c", READER, last], seconds=600).out.strip() == "equal"


@pytest.fixture(scope="module")
def alone(box: Box, lost: str) -> str:
    """The drive that was pulled is the only one that is missing: what a story marked as faulty catches up."""
    box.say(f"mdadm {ARRAY} --remove faulty; millrace assemble; true", seconds=600)
    box.machine.wait_command(f"grep -qx 1 {MD}/degraded && grep -qx idle {MD}/sync_action", "one missing member", 600)
    return lost


def test_drive_is_replaced_from_the_page_while_a_client_writes(
    box: Box, client: Machine, admin: User, alone: str
) -> None:
    admin.go("Overview")
    admin.ours.get_by_role("button", name=f"Replace drive {alone} now").press("Enter")
    dialog = admin.ours.get_by_role("dialog")
    expect(dialog).to_contain_text("Waiting for a new drive")
    start = dialog.get_by_role("button", name="Replace drive", exact=True)
    expect(start).to_be_disabled()
    (old,) = [one for one in SERVER.drives if one.serial == alone]
    with written(box, client):
        box.machine.replace(alone, dataclasses.replace(old, serial=NEW))
        expect(dialog.get_by_test_id("arrived")).to_contain_text(NEW)
        expect(start).to_be_enabled()
        assert NEW not in box.members_by_serial("data")
        start.press("Enter")
        expect(dialog).to_contain_text("The change goes on without this page.")
        expect(dialog).to_contain_text(f"Replacement of drive {alone}")
        box.machine.wait_command(f"grep -qx 0 {MD}/degraded", "every member in sync", 900)
        expect(dialog).to_contain_text("has replaced")
    dialog.get_by_text("Close", exact=True).click()
    assert NEW in box.members_by_serial("data") and alone not in box.recorded("data")
    admin.go("Storage")
    expect(admin.ours.locator(f"[data-serial='{NEW}']")).to_have_attribute("data-state", "in-sync")
    expect(admin.ours.locator("[data-state='missing']")).to_have_count(0)
