# SPDX-License-Identifier: Apache-2.0
"""The clock jumps by decades while the server runs, in both directions: health names it, and what is due is due."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.vm.box import ADMIN_PASSWORD, Box
from vm.console import sign_in

pytestmark = [pytest.mark.usefixtures("in_use"), pytest.mark.soak]

POLICY = "/etc/millrace/policy.toml"
TIMERS = "millrace-upkeep@scrub.timer millrace-upkeep@trim.timer millrace-upkeep@keep.timer"
CLIENT = "systemd-timesyncd.service"
NEW_YEAR_2069, JANUARY_1970 = 3_124_224_000, 1_000_000
# In seconds; before it a time client is still given time.
GRACE = 600
Set = Callable[[int | None], None]


@pytest.fixture(scope="module")
def set_clock(box: Box) -> Iterator[Set]:
    """Set the clock in seconds since 1970, or None for the right time, which it has afterwards whatever happens."""
    # what the right time is ahead of one that never jumps
    ahead = float(box.say("echo $(date +%s.%N) $(cut -d' ' -f1 /proc/uptime) | awk '{ printf \"%.2f\", $1 - $2 }'"))
    policy = box.say(f"cat {POLICY} 2> /dev/null; true")
    box.say(f"systemctl stop {CLIENT} {TIMERS}")
    window = '\n[scrub]\nwindow = "daily 00:00-23:59"\n'
    box.machine.run(f"cat > {POLICY}", stdin=policy.partition("[scrub]")[0] + window)

    def set_to(seconds: int | None) -> None:
        right = f"date -s @$(awk '{{ printf \"%.2f\", $1 + {ahead:.2f} }}' /proc/uptime)"
        box.say(f"date -s @{seconds}" if seconds is not None else right)

    try:
        yield set_to
    finally:
        set_to(None)
        box.say("millrace pool scrub stop; millrace pool trim stop; true")
        if policy:
            box.machine.run(f"cat > {POLICY}", stdin=policy)
        else:
            box.say(f"rm -f {POLICY}")
        box.say(f"rm -f /run/millrace/clock.json; systemctl start {CLIENT} {TIMERS} millrace-keep.service")


def look(box: Box) -> dict[str, dict[str, Any]]:
    """What the unit finds now, by key."""
    box.say("systemctl start millrace-health.service", seconds=600)
    found = box.read_json("cat /run/millrace/health.json")["findings"]
    return {one["key"]: one for one in found}


def problems(box: Box) -> dict[str, str]:
    return {key: finding["sentence"] for key, finding in look(box).items() if finding["level"] != "OK"}


def served(box: Box, port: int) -> None:
    """People sign in, and clients of both protocols are answered, as the findings say; nothing has failed."""
    assert sign_in(port, "admin", ADMIN_PASSWORD).status == 200
    found = look(box)
    assert {found[key]["level"] for key in ("nfs", "smb", "pool", "filesystem")} == {"OK"}
    assert box.failed_units() == []


def renewed(box: Box) -> None:
    """The certificate is made again as soon as the clock has jumped out of its time."""

    def is_of_this_time() -> bool:
        return not any(key.startswith("certificate") for key in problems(box))

    box.machine.wait_for(is_of_this_time, "the certificate of this time", 180)


def test_clock_is_synchronised_at_first(box: Box) -> None:
    box.machine.wait_command(f"[ $(cut -d. -f1 /proc/uptime) -gt {GRACE} ]", "the time of a time client", 1800)
    found = look(box)
    assert (found["clock"]["level"], found["clock"]["sentence"]) == (
        "OK",
        "The clock is synchronised with a time server.",
    )
    made = int(box.say("stat -c %Y /usr/lib/clock-epoch"))
    assert JANUARY_1970 < made < int(box.say("date +%s"))


def test_jump_to_2069_is_named_and_the_server_serves(box: Box, port: int, set_clock: Set) -> None:
    set_clock(NEW_YEAR_2069)
    said = problems(box)
    assert said["clock/jumped"].startswith("The clock jumped forward by 15")
    # an emulated look takes a while
    assert "to 2069-01-01 00:0" in said["clock/jumped"]
    assert "it shows 2069-01-01" in said["clock/wrong"]
    assert said["clock/unsynchronised"] == "The clock is not synchronised: the time client is switched off."
    # nothing was done for 42 years
    assert "millrace pool scrub" in look(box)["scrub/late/data"]["todo"]
    renewed(box)
    served(box, port)
    box.say("systemctl start millrace-keep.service", seconds=600)
    assert box.read_json("cat /var/lib/millrace/keep.json")["verified"].startswith("2069")


def test_what_was_recorded_in_2069_is_due_now(box: Box, port: int, set_clock: Set) -> None:
    set_clock(None)
    found = problems(box)
    assert found["clock/jumped"].startswith("The clock jumped back by 15") and "1 time before" in found["clock/jumped"]
    assert "clock/wrong" not in found
    assert "the clock was ahead at that time" in found["keep/late"]
    renewed(box)
    served(box, port)
    box.say("systemctl start millrace-keep.service", seconds=600)
    assert "keep/late" not in problems(box)


def test_check_and_trim_of_2069_begin_again_in_the_next_window(box: Box, set_clock: Set) -> None:
    at = "2069-01-01T00:10:00+00:00"
    check = {"started": at, "ended": at, "bytes": 1, "seconds": 1, "mismatches": 0, "bad_areas": 0}
    arrays = [{"array": array["array"]["name"], "uuid": array["uuid"], "last": check} for array in box.pool["arrays"]]
    scrub = {"schema_version": 1, "round": None, "stopped": None, "arrays": arrays}
    box.machine.run("cat > /var/lib/millrace/scrub.json", stdin=json.dumps(scrub))
    last = {"started": at, "ended": at, "bytes": 1, "seconds": 1, "longest": 1}
    trim = {"schema_version": 1, "uuid": box.pool["filesystem_uuid"], "last": last}
    box.machine.run("cat > /var/lib/millrace/trim.json", stdin=json.dumps(trim))
    said = problems(box)
    for key in ("scrub/late/data", "scrub/late/log", "trim/late//srv/pool"):
        assert "2069-01-01 00:10 UTC: the clock was ahead at that time" in said[key], key
    now = box.say("date -u +%Y-%m-%d")
    assert box.shown("pool scrub status --json")["next"].startswith(now)
    assert box.shown("pool trim status --json")["next"].startswith(now)

    box.machine.wait_command("! grep -E 'resync|recovery|check' /proc/mdstat", "arrays in sync", 900)
    box.say("systemctl start --no-block millrace-scrub.service")
    # it may be at its end before it is stopped
    begun = "grep -qx check /sys/block/md*/md/sync_action || ! grep -q 2069 /var/lib/millrace/scrub.json"
    box.machine.wait_command(begun, "the check that is due", 120)
    box.millrace("pool scrub stop")
    status = box.shown("pool scrub status --json")
    checks = [status["round"]] if status["round"] else [each["kept"]["last"] for each in status["arrays"]]
    assert all(each["started"].startswith(now) for each in checks)
    box.say("systemctl start --no-block millrace-trim.service")
    begun = "grep -q '\"offset\"' /var/lib/millrace/trim.json || ! grep -q 2069 /var/lib/millrace/trim.json"
    box.machine.wait_command(begun, "the trim that is due", 120)
    box.millrace("pool trim stop")
    trimmed = box.shown("pool trim status --json")
    assert (trimmed["round"] or trimmed["last"])["started"].startswith(now)


def test_jump_to_1970_is_named_and_the_server_serves(box: Box, port: int, set_clock: Set) -> None:
    set_clock(JANUARY_1970)
    found = problems(box)
    assert "it shows 1970-01-12" in found["clock/wrong"] and "before this version was made" in found["clock/wrong"]
    assert found["clock/jumped"].startswith("The clock jumped back by 20")
    renewed(box)
    served(box, port)


def test_right_clock_needs_nobody(box: Box, port: int, set_clock: Set) -> None:
    set_clock(None)
    box.say(f"systemctl start {CLIENT} millrace-keep.service", seconds=600)
    renewed(box)
    served(box, port)
    found = problems(box)
    assert "clock/wrong" not in found and "keep/late" not in found
    assert found["clock/jumped"].startswith("The clock jumped forward by 20")
    # the records of a time before there was a Millrace say as little as those of a time to come
    assert not [key for key, sentence in found.items() if "1970" in sentence and key != "clock/jumped"]
