# SPDX-License-Identifier: Apache-2.0
"""Three who mean no good: a client of a confirmed network, a console user, and who had the drives meanwhile.

Each is a program that tries what it must not; docs/security.md names these stories in the row of its actor.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.vm.box import SERVER_ADDRESSES, Box
from tests.vm.shares.words import HOST, PASSWORD, nfs
from vm.machine import Machine

# by hand until a row of soak has seen it
pytestmark = [pytest.mark.usefixtures("models"), pytest.mark.soak]

PROGRAMS = Path(__file__).parent
LARGEST_EXPOSURE = 40
"""Of a service that listens for clients, in tenths as systemd-analyze counts."""
# of each process that listens; the kernel, which is nfsd, and systemd, which listens for others, have none
UNITS = (
    "ss -Hltnup | grep -o 'pid=[0-9]*' | cut -d= -f2 | sort -u |"
    " while read -r one; do grep -o '[^/]*[.]service' /proc/$one/cgroup | tail -n 1; done"
)


@pytest.fixture
def viewer(box: Box) -> Iterator[str]:
    """A user who may look at the pages."""
    box.machine.run("millrace access create eve --role viewer --password-stdin", stdin=f"{PASSWORD}-of-eve\n")
    yield "eve"
    box.millrace("access remove eve", seconds=300)


@pytest.fixture
def drives(box: Box) -> Iterator[str]:
    """The program of the drives, on the server; what it made is removed afterwards."""
    program = "/run/hostile_drives.py"
    box.machine.run(f"cat > {program}", stdin=(PROGRAMS / "hostile_drives.py").read_text())
    box.millrace("keep now", seconds=300)
    yield f"python3 -B {program}"
    box.say(f"python3 -B {program} remove; rm {program}")
    # forgets that there was another state, and refuses, as this server has its pool
    assert box.millrace("pool adopt", check=False, seconds=300).status == 1
    # a change meanwhile could not be kept
    box.say("systemctl reset-failed millrace-keep.service || true")
    box.millrace("keep now", seconds=300)
    assert box.shown("keep list --json")["generations"][0]["problem"] is None


def tried(said: str) -> tuple[int, list[str]]:
    """Return how many attempts a program made, and which were not refused."""
    found: dict[str, Any] = json.loads(said)
    return found["attempts"], found["not refused"]


def test_client_is_given_nothing_but_shares(box: Box, client: Machine) -> None:
    client.run("cat > /run/hostile.py", stdin=(PROGRAMS / "hostile_client.py").read_text())
    attempts, holes = tried(client.run(["python3", "/run/hostile.py", HOST], seconds=600).out)
    assert holes == []
    assert attempts > 1000
    # what is beside the shares on the pool is no export
    for path in (".millrace", ".millrace-snapshots", "models/../.millrace", "../../etc"):
        mount = f"timeout 100 mount -t nfs4 -o vers=4.2,retry=0 {HOST}:/srv/pool/{path} /mnt"
        assert client.run(mount, check=False, seconds=300).status != 0, path
        listed = client.run(f"smbclient -A /run/anna //{HOST}/models -D '../{path}' -c ls", check=False, seconds=300)
        assert listed.status != 0, path
    with nfs(client, "models") as where:
        client.run(f"ls {where}")
    assert box.failed_units() == []


def test_console_user_is_refused_what_is_not_for_the_pages(box: Box, viewer: str) -> None:
    program = (PROGRAMS / "hostile_user.py").read_text()
    words = f"runuser -u {viewer} -- python3 -I - {' '.join(SERVER_ADDRESSES)}"
    attempts, holes = tried(box.machine.run(words, stdin=program, seconds=600).out)
    assert holes == []
    assert attempts > 60
    # root's own checks go on: what is refused is the user
    box.say("timeout 20 bash -c '< /dev/tcp/127.0.0.1/2049'")


def test_power_of_forged_drives_is_shown_before_it_counts(box: Box, drives: str) -> None:
    before = box.shown("share list --json"), box.say("cat /root/.ssh/authorized_keys 2>/dev/null; true")
    box.say(f"{drives} power")
    asked = box.machine.run("millrace pool adopt < /dev/null 2>&1", check=False, seconds=300)
    assert asked.status != 0
    for power in ("SHA256:", "mallory", "mail.evil.example", "https://logs.evil.example", "updates.evil.example"):
        assert power in asked.out, power
    # nothing that a terminal obeys
    assert "\x1b" not in asked.out and "\x07" not in asked.out
    kept = box.machine.run("millrace keep now 2>&1", check=False, seconds=300)
    assert kept.status == 1 and "was written by another boot drive" in kept.out
    assert "\x1b" not in kept.out
    after = box.shown("share list --json"), box.say("cat /root/.ssh/authorized_keys 2>/dev/null; true")
    assert before == after and box.say("systemctl is-active ssh.service; true") != "active"


def test_special_files_of_forged_drives_hold_nobody_up(box: Box, drives: str) -> None:
    numbers = [int(word) for word in box.say(f"{drives} special", seconds=300).split()]
    listed = box.shown("keep list --json")["generations"]
    problems = {one["generation"]: one["problem"] for one in listed}
    assert all(problems[number] for number in numbers)
    assert problems[next(one["generation"] for one in listed if one["generation"] not in numbers)] is None
    # nobody has followed the link
    assert "root:" not in json.dumps(listed)


def test_services_that_listen_have_few_rights(box: Box) -> None:
    # ssh gives an administrator a shell; it is off until it is enabled
    units = set(box.say(UNITS).split()) - {"ssh.service"}
    assert "smbd.service" in units
    for unit in sorted(units):
        box.say(f"systemd-analyze security --no-pager --threshold={LARGEST_EXPOSURE} {unit} > /dev/null")
