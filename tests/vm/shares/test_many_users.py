# SPDX-License-Identifier: Apache-2.0
"""Many users and groups come with one import and go with one rollback, for the price of a few processes."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.vm.box import Box
from tests.vm.shares.words import HOST, PASSWORD, nfs
from vm.machine import Machine

pytestmark = [pytest.mark.usefixtures("models"), pytest.mark.soak]

USERS, GROUPS = 200, 40
FIRST_GROUP, FIRST_USER = 40000, 41000
# A user of every one of these groups: a request of NFS carries 16.
IN_MANY, MANY = "many000", 33
ELSEWHERE, INSIDE = "many008", "many007"
# Of all that runs meanwhile on an emulated server: a user who is created cost five before.
PROCESSES = 2 * USERS
# Times that the boot drive is told to keep what it has: pdbedit imports each account in transactions of its own, two to
# four of them, each with four syncs. All else is one transaction, and four files.
SYNCS_IMPORTED, SYNCS_REMOVED = 20 * USERS, USERS // 2
FILES = "/etc/passwd /etc/group /etc/gshadow /etc/shadow"
CHECK = "pwck -r -q 2>&1; grpck -r -q 2>&1; true"
STATE = f"stat -c '%n %a %U:%G' {FILES}; sha256sum {FILES}"


def forks(box: Box) -> int:
    return int(box.say("awk '/^processes/ {print $2}' /proc/stat"))


def syncs(box: Box) -> int:
    """Flushes of the boot drive (Documentation/admin-guide/iostats.rst, field 16)."""
    drive = "$(lsblk -ndo PKNAME $(findmnt -no SOURCE /))"
    return int(box.say(f"awk -v drive={drive} '$3 == drive {{ print $19 }}' /proc/diskstats"))


def made_many(document: dict[str, Any]) -> dict[str, Any]:
    """The exported state of a server with anna, and many users beside her who have her password."""
    config = document["config"]
    names = [f"lab{number:02}" for number in range(GROUPS)]
    users = [f"many{number:03}" for number in range(USERS)]
    config["groups"] += [{"name": name, "gid": FIRST_GROUP + number} for number, name in enumerate(names)]
    config["users"] += [
        {
            "name": name,
            "uid": FIRST_USER + number,
            "groups": names[:MANY] if name == IN_MANY else [names[number % GROUPS]],
        }
        for number, name in enumerate(users)
    ]
    share = next(share for share in config["shares"] if share["name"] == "models")
    share["smb"]["groups"] = names
    for hashes in (document["shadow"], document["nt"]):
        hashes.update(dict.fromkeys(users, hashes["anna"]))
    return document


@pytest.fixture(scope="module")
def agreed(box: Box) -> str:
    """What the tools that compare the four files with each other say before."""
    return box.say(CHECK)


@pytest.fixture(scope="module")
def before(box: Box) -> str:
    return box.say(STATE)


@pytest.fixture(scope="module")
def imported(box: Box, before: str) -> Iterator[str]:
    """Import them; return what was said of it. They are removed afterwards, by the last story or here."""
    box.millrace("config export /root/few.json")
    many = made_many(box.read_json("cat /root/few.json"))
    box.machine.run("umask 077; cat > /root/many.json", stdin=json.dumps(many))
    started, synced = forks(box), syncs(box)
    said = box.millrace("config import /root/many.json", seconds=1800).out
    costs = (forks(box) - started, syncs(box) - synced)
    print(f"import of {USERS} users: {costs[0]} processes, {costs[1]} syncs of the boot drive")
    assert costs[0] < PROCESSES and costs[1] < SYNCS_IMPORTED
    yield said
    box.millrace("config import /root/few.json", seconds=1800)
    box.say("rm /root/few.json /root/many.json")


def opens(client: Machine, name: str) -> bool:
    client.run(f"umask 077; cat > /run/{name}", stdin=f"username={name}\npassword={PASSWORD}\n")
    return client.run(f"smbclient -A /run/{name} //{HOST}/models -c ls", check=False, seconds=300).status == 0


def writes(client: Machine, path: str, number: int) -> bool:
    become = f"setpriv --reuid={number} --regid={number} --clear-groups"
    return client.run(f"{become} sh -c 'touch {path}/x && rm {path}/x'", check=False, seconds=120).status == 0


def test_import_shows_progress_and_makes_them(box: Box, agreed: str, imported: str) -> None:
    assert f"Comparing accounts (users: {USERS + 1}, groups: {GROUPS}" in imported and "has no password" not in imported
    assert box.say("getent passwd | grep -c ^many") == str(USERS)
    assert box.say(f"stat -c '%n %a %U:%G' {FILES}").splitlines() == [
        "/etc/passwd 644 root:root",
        "/etc/group 644 root:root",
        "/etc/gshadow 640 root:shadow",
        "/etc/shadow 640 root:shadow",
    ]
    assert box.say(CHECK) == agreed


def test_they_log_in_over_smb_and_no_account_expires(box: Box, client: Machine, imported: str) -> None:
    assert opens(client, IN_MANY) and opens(client, f"many{USERS - 1:03}") and opens(client, "anna")
    assert box.say("pdbedit -s /dev/null -L -v | grep '^Kickoff' | sort | uniq -c").endswith("Kickoff time:         0")


def test_their_groups_count_over_nfs(box: Box, client: Machine, imported: str) -> None:
    for number in (7, MANY - 1):
        box.say(f"install -d -g lab{number:02} -m 2770 /srv/pool/models/lab{number:02}")
    try:
        with nfs(client, "models") as where:
            assert writes(client, f"{where}/lab07", int(box.say(f"id -u {INSIDE}")))
            assert writes(client, f"{where}/lab{MANY - 1}", int(box.say(f"id -u {IN_MANY}")))
            assert not writes(client, f"{where}/lab07", int(box.say(f"id -u {ELSEWHERE}")))
    finally:
        box.say("rmdir /srv/pool/models/lab??")


def test_boot_costs_no_process_for_them(box: Box, imported: str) -> None:
    there = box.say(STATE)
    started = forks(box)
    box.say("systemctl restart millrace-users.service", seconds=300)
    assert forks(box) - started < USERS / 2
    assert box.say(STATE) == there


def test_rollback_removes_them(box: Box, client: Machine, imported: str, before: str) -> None:
    number = box.shown("config history --json")["changes"][0]["number"]
    started, synced = forks(box), syncs(box)
    box.millrace(f"config rollback {number - 1}", seconds=1800)
    costs = (forks(box) - started, syncs(box) - synced)
    print(f"rollback of {USERS} users: {costs[0]} processes, {costs[1]} syncs of the boot drive")
    assert costs[0] < PROCESSES and costs[1] < SYNCS_REMOVED
    assert box.say(STATE) == before
    assert "many" not in box.say("pdbedit -s /dev/null -L; cat /etc/subuid /etc/subgid 2>/dev/null")
    assert opens(client, "anna") and not opens(client, IN_MANY)
