# SPDX-License-Identifier: Apache-2.0
"""A pool that another boot drive used since is not served before somebody decided which state counts."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.vm.box import Box

# the server of the mirror that ran twice
pytestmark = pytest.mark.soak

KEEP = "/var/lib/millrace/keep"
STATES = "/srv/pool/.millrace/keep"
POLICY = "/etc/millrace/policy.toml"
NEWEST = f"ls {STATES} | sort | tail -n 1"
# What an adoption records: the state on the pool is that of this boot drive.
ADOPTED = "from millrace.lifecycle.keep import home; home.settle({})"
SERVED = "read -r threads < /proc/fs/nfsd/threads && [ $threads -gt 0 ] && systemctl is-active smbd.service"


@contextmanager
def another_boot_drive(box: Box) -> Iterator[None]:
    """Another server has adopted the pool; what is done here is kept by that one."""
    box.millrace("keep now", seconds=300)
    number = int(box.say(NEWEST)[6:12])
    box.say("systemctl stop millrace-upkeep@keep.timer millrace-keep.service")
    box.say(f"mv {KEEP} {KEEP}.mine && mkdir -m 700 {KEEP} && python3 -c '{ADOPTED.format(number)}'")
    yield
    box.say("millrace keep now", seconds=300)
    assert int(box.say(NEWEST)[6:12]) > number
    box.say(f"rm -r {KEEP} && mv {KEEP}.mine {KEEP}; systemctl start millrace-upkeep@keep.timer")


def restarted(box: Box) -> str:
    """The pool is verified as at a start; the newest generation."""
    box.say("systemctl restart millrace-pool.service; systemctl reset-failed; true", seconds=600)
    box.say("systemctl start millrace-serving.target; true", seconds=600)
    return box.say(NEWEST)


def finding(box: Box) -> dict[str, Any] | None:
    box.say("systemctl start millrace-health.service", seconds=600)
    found = box.shown("health --json")["findings"]
    return next((one for one in found if one["key"] == "keep/elsewhere"), None)


def see_not_served(box: Box) -> None:
    newest = restarted(box)
    assert box.say(f"{SERVED} || echo no").endswith("no")
    found = finding(box)
    print(found)
    assert found is not None and found["level"] == "FAIL" and "millrace keep use-local" in found["todo"]
    # nothing is written to the kept state, whatever changes
    box.say("systemctl start millrace-keep.service; true", seconds=300)
    assert box.say(NEWEST) == newest
    assert "is not kept on the pool" in box.millrace("keep now", check=False, seconds=300).err


def test_state_of_this_boot_drive_is_served_after_the_decision(pair: Box) -> None:
    with another_boot_drive(pair):
        pair.say(f"echo '# there' >> {POLICY}")
    pair.say(f"sed -i 's/^# there/# here/' {POLICY}")
    see_not_served(pair)
    pair.millrace("keep use-local --yes", seconds=600)
    pair.machine.wait_command(SERVED, "NFS and SMB", 600)
    assert finding(pair) is None
    newest = pair.say(f"tar -xzOf {STATES}/$({NEWEST}) files{POLICY}")
    assert "# here" in newest and "# there" not in newest


def test_state_on_the_pool_is_adopted_again(pair: Box) -> None:
    with another_boot_drive(pair):
        pair.millrace("share create there --type mixed", seconds=600)
    # the past of this boot drive has a user that the other one removed
    pair.say("systemctl stop millrace-upkeep@keep.timer; true")
    pair.machine.run(["millrace", "user", "create", "past", "--password-stdin"], stdin="correct-horse-9\n", seconds=300)
    pair.say("systemctl start millrace-upkeep@keep.timer; true")
    see_not_served(pair)
    done = pair.millrace("pool adopt --yes", seconds=900)
    print(done.out, done.err)
    pair.machine.wait_command(SERVED, "NFS and SMB", 600)
    assert pair.say("getent passwd past; pdbedit -L | grep ^past: ; true") == ""
    assert "there" in {share["name"] for share in pair.shown("share list --json")["shares"]}
    assert finding(pair) is None
    pair.millrace("keep now", seconds=300)
    pair.machine.reboot()
    pair.wait_serving()
