# SPDX-License-Identifier: Apache-2.0
"""More drives than an array survives are gone for a moment: the pool serves again, with what was acknowledged."""

import pytest

from tests.vm.box import Box
from tests.vm.drives.conftest import EXPORT, MD
from tests.vm.drives.records import (
    acknowledge,
    in_doubt,
    last_record,
    members,
    put_in,
    see_records,
    show,
    states,
    wait_broken,
    wait_in_sync,
    wait_revived,
    write,
)

pytestmark = pytest.mark.soak


def broken_while_degraded(box: Box) -> list[str]:
    """A member is pulled, then another one while records are written; return both in this order."""
    wait_in_sync(box)
    gone, wrong = members(box)[:2]
    box.machine.pull(gone)
    box.machine.wait_command(f"grep -qx 1 {MD}/degraded", "the lost member", 120)
    write(box)
    box.machine.release(wrong)
    wait_broken(box)
    return [gone, wrong]


def test_two_drives_that_are_gone_within_a_second_come_back_and_the_pool_serves(box: Box) -> None:
    wait_in_sync(box)
    member, two = members(box)[:2]
    write(box)
    box.machine.release(member)
    box.machine.release(two)
    wait_broken(box)
    show(box)
    findings = {
        finding["key"]: finding for finding in box.shown("health --json")["findings"] if finding["check"] == "arrays"
    }
    print(findings)
    assert "millrace pool revive" in next(iter(findings.values()))["todo"]
    doubt = in_doubt(box)
    put_in(box, [member, two])
    wait_revived(box)
    differ = see_records(box, named=doubt)
    wait_in_sync(box)
    assert set(states(box).values()) == {"in-sync"}
    # what differs is in the file that is named
    assert differ <= 2
    assert box.machine.run(["millrace", "pool", "revive", "--yes"], check=False).err.startswith("millrace")
    acknowledge(box)


def test_wrong_drive_that_is_pulled_while_degraded_is_put_in_again(box: Box) -> None:
    gone, wrong = broken_while_degraded(box)
    box.machine.put_in(wrong)
    wait_revived(box)
    see_records(box)
    assert states(box)[wrong] == "in-sync"
    box.machine.put_in(gone)
    wait_in_sync(box)
    assert set(states(box).values()) == {"in-sync"}
    acknowledge(box)


def test_drives_that_come_after_the_assembly_has_failed_are_started(box: Box) -> None:
    wait_in_sync(box)
    late = members(box)[:2]
    box.say(f"echo kept > {EXPORT}/kept; sync -f {EXPORT}; systemctl stop srv-pool.mount", seconds=300)
    box.say("systemctl stop millrace-assemble; mdadm --stop /dev/md/millrace-data")
    box.machine.pull(*late)
    failed = box.machine.run("systemctl restart millrace-assemble", check=False, seconds=300)
    assert failed.status
    assert late[0] in box.say("journalctl -b -o cat -u millrace-assemble | tail -n 5")
    put_in(box, late)
    try:
        box.wait_serving()
    finally:
        show(box)
    assert box.say(f"cat {EXPORT}/kept") == "kept"
    assert set(states(box).values()) == {"in-sync"}


def test_revival_that_an_administrator_confirms_is_a_job(box: Box) -> None:
    gone, wrong = broken_while_degraded(box)
    box.say("systemctl mask --runtime --now millrace-readd")
    try:
        put_in(box, [gone, wrong])
        # its terminal is closed at once
        box.say("systemd-run --unit=ordered millrace pool revive --yes")
        started = 'millrace job show revive --json | grep -qE \'"by": *"root"\''
        box.machine.wait_command(started, "the job", 120)
        box.say("systemctl kill --signal=KILL ordered.service")
        ended = 'millrace job show revive --json | grep -qE \'"state": *"done"\''
        box.machine.wait_command(ended, "the end of the revival", 600)
    finally:
        box.say("systemctl unmask --runtime millrace-readd; systemctl start --no-block millrace-readd")
    box.wait_serving()
    see_records(box)
    job = box.shown("job show revive --json")
    assert (job["by"], job["cancellable"]) == ("root", False)
    wait_in_sync(box)
    assert set(states(box).values()) == {"in-sync"}
    acknowledge(box)


def test_power_that_goes_within_a_revival_loses_nothing(box: Box) -> None:
    gone, wrong = broken_while_degraded(box)
    last = last_record(box)
    # a rebuild that lasts until the cut
    box.say("echo 500 > /proc/sys/dev/raid/speed_limit_max; echo 500 > /proc/sys/dev/raid/speed_limit_min")
    put_in(box, [gone, wrong])
    box.machine.wait_command("grep -E 'recovery' /proc/mdstat", "the rebuild of what left before", 900)
    show(box)
    box.machine.power_cut()
    box.machine.start()
    box.machine.wait_agent()
    box.wait_serving()
    show(box)
    assert see_records(box, last) <= 1
    wait_in_sync(box)
    assert set(states(box).values()) == {"in-sync"}
    acknowledge(box)


def test_array_that_somebody_forced_is_found(box: Box) -> None:
    old, late = broken_while_degraded(box)
    units = "millrace-readd millrace-pool-change@revive"
    box.say(f"systemctl mask --runtime {units}; systemctl stop srv-pool.mount", seconds=300)
    put_in(box, [old, late])
    box.machine.wait_command("test $(ls /dev/disk/by-partlabel/millrace-data-* | wc -l) -eq 5", "all drives", 120)
    # what people do, and what the manual warns of
    data = "$(ls /dev/disk/by-partlabel/millrace-data-*)"
    box.say(f"mdadm --stop /dev/md/millrace-data; mdadm --assemble --force --run /dev/md/millrace-data {data}")
    box.say(f"systemctl unmask --runtime {units}; systemctl restart millrace-assemble", seconds=600)
    box.say("systemctl start millrace-serving.target; cat /proc/mdstat", seconds=600)
    box.wait_serving()
    show(box)
    (start,) = box.shown("pool unclean --json")["starts"]
    assert start["outside"] is True
    (finding,) = [finding for finding in box.shown("health --json")["findings"] if finding["check"] == "unclean"]
    assert "was started outside Millrace" in finding["sentence"]
    # whether a member that was left out is rebuilt from what somebody forced is a decision; the command is named
    added = (
        "journalctl -b -o cat -u millrace-assemble -u millrace-readd | grep -o 'mdadm [^ ]* --add [^ ;]*' | tail -n 1"
    )
    if command := box.say(added):
        box.say(command)
    wait_in_sync(box)
    acknowledge(box)
