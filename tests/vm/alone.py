# SPDX-License-Identifier: Apache-2.0
"""A server without an operator beside it: what its boot waits for and logs, and what it does when something hangs."""

import json
import re

from tests.vm.box import Box

# Errors that only an emulated server logs: what it says, and why it is none.
EMULATED = {
    r"path=/lib/modules/\S+/pvpanic\.ko\S* error=No such file": "the initrd has modules for boot drives only; QEMU's "
    "panic notice is a device that it has no use for, and the system loads the module later",
    r"atkbd serio\d+: Failed to enable keyboard": "the emulated keyboard answers when its host has time for it",
}


def errors(box: Box, since: str = "") -> list[str]:
    """Return what this boot logged as an error or worse; `since` is a time of the clock as journalctl takes it."""
    options = f"--since={since!r}" if since else ""
    fields = "--output=json --output-fields=MESSAGE,SYSLOG_IDENTIFIER"
    found = [json.loads(line) for line in box.say(f"journalctl -b -p err {options} {fields}").splitlines()]
    said = [f"{one.get('SYSLOG_IDENTIFIER')}: {one['MESSAGE']}" for one in found]
    return [line for line in said if not any(re.search(pattern, line) for pattern in EMULATED)]


def restarts_by_itself(box: Box) -> None:
    assert box.say("sysctl -n kernel.panic kernel.panic_on_oops").split() == ["30", "1"]
    assert box.say("systemctl show -P RuntimeWatchdogUSec") == "3min"
    # q35 has the watchdog of Intel's chipsets
    assert box.say("cat /sys/class/watchdog/watchdog0/state") == "active"


def has_a_name_of_its_own(box: Box) -> None:
    assert re.fullmatch("millrace-[0-9a-f]{6}", box.say("hostname"))
    assert box.say("hostnamectl hostname") == box.say("hostname")


def outlives_a_benchmark(box: Box) -> None:
    """The kernel ends what has the highest score first."""
    for daemon in ("rpc.mountd", "nfsdcld"):
        assert box.say(f"cat /proc/$(pgrep -ox {daemon})/oom_score_adj") == "-900"
    for unit in ("cockpit.service", "cockpit-wsinstance-http.service"):
        assert box.say(f"systemctl show -P OOMScoreAdjust {unit}") == "-500"
    assert box.say("systemctl show -P OOMScoreAdjust millrace-bench.service") == "900"


def serving_did_not_wait_for_the_inventory(box: Box) -> None:
    """In a boot with a pool the inventory begins when the arrays run."""

    def seconds(unit: str, moment: str) -> float:
        return int(box.say(f"systemctl show -P {moment}TimestampMonotonic {unit}")) / 1e6

    assembled = seconds("millrace-assemble.service", "ActiveEnter")
    begun = seconds("millrace-inventory.service", "InactiveExit")
    assert assembled > 0 and (begun == 0 or begun >= assembled), (assembled, begun)
