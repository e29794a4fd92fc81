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
FLOOD = 100_000
LARGEST_BURST = 30_000
"""Lines of a unit that journald keeps in an hour at most: RateLimitBurst=, six times as much with much free space."""
LINE = "x" * 200
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


def trail(box: Box) -> list[str]:
    """Return sign-ins and changes of this boot, as the manual says where they are."""
    return box.say("journalctl -b -q --facility=authpriv -o cat", seconds=600).splitlines()


def test_flood_of_a_console_user_leaves_the_trail_of_changes(box: Box, viewer: str) -> None:
    before = trail(box)
    assert any(viewer in line for line in before)
    flood = f"yes {LINE} | head -n {FLOOD} | logger -t flood"
    box.say(f"systemd-run --quiet --wait --collect --unit=flood --uid={viewer} sh -c '{flood}'", seconds=1800)
    box.say("journalctl --sync")
    kept = int(box.say("journalctl -b -q -t flood -o cat | wc -l", seconds=600))
    assert 0 < kept <= LARGEST_BURST < FLOOD
    box.machine.run("logger -p authpriv.notice -t sudo after-the-flood", seconds=300)
    after = trail(box)
    assert after[: len(before)] == before and "after-the-flood" in after


def test_flood_of_an_smb_client_leaves_the_trail_of_changes(box: Box, client: Machine) -> None:
    # the limit of smbd is far higher, and an emulated client takes hours for that; its own start takes some of these
    few = "mkdir -p /run/systemd/system/smbd.service.d; cd /run/systemd/system/smbd.service.d"
    box.say(f"{few}; printf '[Service]\nLogRateLimitBurst=10\n' > 60-few.conf; systemctl daemon-reload")
    box.say("systemctl restart smbd.service", seconds=300)
    try:
        box.wait_serving()
        before = trail(box)
        since = box.say("date +%s")
        # names that nobody has: a password that is wrong ten times locks its account
        attempts = (
            f"for n in $(seq 60); do smbclient -U flood$n%wrong //{HOST}/models -c ls; done > /dev/null 2>&1; true"
        )
        client.run(attempts, seconds=1800)
        box.say("journalctl --sync")
        kept = int(box.say(f"journalctl -b -q -u smbd --since=@{since} -o cat | grep -c flood; true"))
        assert 0 < kept < 60
        after = trail(box)
        assert after[: len(before)] == before
    finally:
        box.say(f"{few} && rm 60-few.conf; systemctl daemon-reload; systemctl restart smbd.service", seconds=300)
        box.wait_serving()


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
