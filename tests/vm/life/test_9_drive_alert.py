# SPDX-License-Identifier: Apache-2.0
"""A drive is pulled and comes back: a webhook on the client gets its bay and serial in time, and md a member."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.vm.box import SELDOM, Box
from tests.vm.life.words import EXPORT, SERVER, warn
from tests.vm.webhook import ROUTE, Webhook, webhook
from vm.machine import Machine

# by hand: eleven minutes, which CI does not have
pytestmark = [pytest.mark.usefixtures("in_use"), pytest.mark.soak]

ARRAY = "/dev/md/millrace-data"
DEGRADED = "/sys/class/block/$(basename $(readlink -f /dev/md/millrace-data))/md/degraded"
REPORT = "/run/millrace-alert/report.json"
KEY = "arrays/data"
# The promise, from the moment that md has lost the drive.
FINDING_SECONDS, WEBHOOK_SECONDS = 10, 30
# mdadm --monitor is woken by md; what it finds by itself it finds once a minute.
MONITOR_SECONDS = 5
# Health is checked every 90 s here (box.SELDOM), and the second check without the problem ends it.
END_SECONDS = 420


@pytest.fixture(scope="module")
def hook(box: Box, client: Machine) -> Iterator[Webhook]:
    """A route to a webhook on the client; all is in sync, and what was open before has been delivered."""
    box.say(f"mdadm {ARRAY} --remove detached; true")
    box.machine.wait_command("! grep -E 'resync|recovery|check' /proc/mdstat", "arrays in sync", 900)
    box.look_every(SELDOM)
    box.say("systemctl start millrace-health.service")
    with webhook(box, client) as hook:
        box.machine.wait_command(f"grep -q '\"queued\": {{}}' {REPORT}", "an empty queue", 300)
        assert KEY not in box.say(f"cat {REPORT}")
        yield hook


@pytest.fixture(scope="module")
def drive(box: Box) -> dict[str, Any]:
    """The member that is pulled, as it is listed before: the last one, which no story before put in."""
    serial = max(box.members_by_serial("data"))
    (row,) = [one for one in box.shown("drive list --json")["drives"] if one["serial"] == serial]
    assert row["verdict"] == "in-sync"
    return dict(row)


def events(hook: Webhook) -> list[str]:
    """What was reported of the array, in its order."""
    return [one["event"] for one in hook.messages if any(alert["key"] == KEY for alert in one["alerts"])]


def copied(box: Box, serial: str) -> int:
    """The bytes that were written to a drive since it was put in."""
    found = f"for d in /sys/block/nvme*n1; do grep -qs {serial} $d/device/serial && cat $d/stat; done; true"
    # the seventh figure is in sectors of 512 bytes (Documentation/block/stat.rst)
    return 512 * sum(int(line.split()[6]) for line in box.say(found).splitlines())


def emulation(box: Box) -> float:
    """Seconds that an emulated server takes for one health check and one delivery, with what else its host does now.

    The check has beside it what an event of md starts with it (md-event).
    """
    if box.machine.accel.name == "kvm":
        return 0.0
    began = time.monotonic()
    box.say("systemctl restart --no-block millrace-members.service")
    box.say("systemctl start --no-block millrace-event@arrays.service")
    box.say("systemctl start millrace-health.service", seconds=600)
    box.millrace(f"alert test {ROUTE}", seconds=600)
    seconds = time.monotonic() - began
    box.machine.wait_command('test -z "$(systemctl list-jobs --no-legend)"', "empty job queue", 300)
    return seconds


def logged(box: Box, since: str, words: str) -> float:
    """When the server's journal first had these words since a time, in seconds since 1970."""
    lines = box.say(f"journalctl -b -o short-unix --no-pager --since @{since} -g '{words}'").splitlines()
    return float(lines[0].split()[0])


@pytest.fixture(scope="module")
def pulled(box: Box, hook: Webhook, drive: dict[str, Any]) -> dict[str, float]:
    """The drive is pulled: seconds from md's loss to mdadm's event, finding and message, and what the emulator adds."""
    query = f"grep -q '({drive['serial']}) is' /run/millrace/health.json && stat -c %.3Y /run/millrace/health.json"
    extra = emulation(box)
    since = box.say("date +%s")
    box.machine.release(drive["serial"])
    finding = box.machine.wait_command(query, "the finding", 30 * FINDING_SECONDS).out
    began = time.monotonic()
    hook.wait_message("opened", drive["serial"], 1, 30 * WEBHOOK_SECONDS)
    message = time.monotonic() - began
    lost = logged(box, since, "Disk failure on")
    return {
        "event": logged(box, since, "Fail event detected") - lost,
        "finding": float(finding) - lost,
        "webhook": float(finding) - lost + message,
        "emulation": extra,
    }


def test_pulled_drive_is_reported_with_bay_serial_and_remedy(
    hook: Webhook, drive: dict[str, Any], pulled: dict[str, float]
) -> None:
    (message,) = [one for one in hook.messages if drive["serial"] in one["text"]]
    (alert,) = message["alerts"]
    todo = f"Replace the drive: millrace drive replace {drive['serial']}"
    assert (alert["key"], alert["level"], alert["todo"]) == (KEY, "WARN", todo)
    assert f"bay {drive['bay']} ({drive['serial']}) is " in alert["sentence"]
    assert "survives 1 more failure" in alert["sentence"]
    assert f"To do: {todo}" in message["text"]


def test_returned_drive_is_re_added_by_itself(
    box: Box, hook: Webhook, drive: dict[str, Any], pulled: dict[str, float]
) -> None:
    box.say(f"head -c 8M /dev/urandom > {EXPORT}/while-it-was-away; sync -f {EXPORT}")
    box.machine.put_in(drive["serial"])
    box.machine.wait_command(f"grep -qx 0 {DEGRADED}", "every member in sync", 300)
    written = copied(box, drive["serial"])
    print(box.say("journalctl -b -o short-precise -u millrace-readd; cat /var/lib/millrace/returns.json /proc/mdstat"))
    print(f"{written / 1e6:.1f} MB of {drive['size_bytes'] / 1e6:.0f} MB were written to the drive that is back")
    # The bitmap has a bit for each 64 MiB of these small drives; what was written meanwhile touches a few of them.
    assert 0 < written < drive["size_bytes"] / 2
    assert drive["serial"] in box.members_by_serial("data")
    # an earlier story had one, too
    *_, returned = box.read_json("cat /var/lib/millrace/returns.json")["returns"]
    assert (returned["serial"], returned["array"], returned["outcome"]) == (drive["serial"], "data", "re-added")


def test_alert_ends_once(hook: Webhook) -> None:
    hook.wait_message("closed", KEY, 1, END_SECONDS)
    assert events(hook) == ["opened", "closed"]


def test_messages_outlive_a_receiver_that_fails_and_a_service_that_is_killed(
    box: Box, hook: Webhook, drive: dict[str, Any]
) -> None:
    before = events(hook)
    number = before.count("opened") + 1
    hook.reply(500)
    box.machine.pull(drive["serial"])
    box.machine.wait_command(f"grep -q 'replied with status 500' {REPORT}", "the first attempt", 300)
    hook.die()
    box.say("systemctl kill --signal=KILL millrace-alert.service")
    box.machine.wait_command(f"grep -q 'Connection refused' {REPORT}", "an attempt after the restart", 300)
    (route,) = [route for route in box.shown("alert route list --json")["routes"] if route["name"] == ROUTE]
    assert route["waiting"] == json.loads(box.say(f"cat {REPORT}"))["queued"][ROUTE] >= 1
    assert events(hook) == before
    hook.listen()
    # the longest pause is 5 minutes
    hook.wait_message("opened", KEY, number, 360)
    box.machine.put_in(drive["serial"])
    hook.wait_message("closed", KEY, number, END_SECONDS)
    assert events(hook) == [*before, "opened", "closed"]
    # a test message has no number
    numbers = [message["number"] for message in hook.messages if message["event"] != "test"]
    assert numbers == sorted(set(numbers))


def test_critical_warning_of_a_drive_is_reported_without_a_reboot(box: Box, hook: Webhook) -> None:
    worn = SERVER.drives[-1].serial
    warn(box, worn, 4)
    try:
        box.say("systemctl start millrace-health.service", seconds=600)
        hook.wait_message("opened", worn, 1, 300)
    finally:
        warn(box, worn, 0)
        box.say("systemctl start millrace-health.service", seconds=600)
    (message,) = [message for message in hook.messages if worn in message["text"] and message["event"] == "opened"]
    print(message)
    assert "critical warning" in message["text"]


def test_pulled_drive_was_found_and_reported_in_time(box: Box, pulled: dict[str, float]) -> None:
    """Last: on a host that is overloaded the other stories are worth seeing nevertheless."""
    print(f"seconds from md's loss of the drive: {pulled}")
    scale = box.machine.accel.scale
    assert pulled["event"] <= MONITOR_SECONDS * scale
    assert pulled["finding"] <= FINDING_SECONDS * scale + pulled["emulation"]
    assert pulled["webhook"] <= WEBHOOK_SECONDS * scale + pulled["emulation"]
