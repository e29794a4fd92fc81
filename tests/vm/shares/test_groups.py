# SPDX-License-Identifier: Apache-2.0
"""Over NFS, groups of the server count: all of them, at once, and no other ones for users whom the server knows."""

from collections.abc import Iterator

import pytest

from millrace.serve.share.nfs import MOUNTD_WORKERS
from tests.vm.box import Box
from tests.vm.shares.words import nfs
from vm.machine import Machine

pytestmark = pytest.mark.usefixtures("models")

SHARE = "/srv/pool/models"
FORGET = "echo 1 > /proc/net/rpc/auth.unix.gid/flush"
MOUNTD = "nfs-mountd.service"
# Numbers of no user and no group of Millrace.
UNKNOWN, FIRST = 4711, 70000
MANY = 33
STARTED = "systemctl show --property=ExecMainStartTimestampMonotonic nfs-server.service"


@pytest.fixture(scope="module")
def research(box: Box) -> Iterator[int]:
    """A group with a directory of the share for itself; return its number."""
    box.millrace("group create research", seconds=300)
    box.say(f"install -d -g research -m 2770 {SHARE}/lab")
    yield int(box.say("getent group research | cut -d: -f3"))
    box.say(f"rm -r {SHARE}/lab")
    box.millrace("user set anna", seconds=300)
    box.millrace("group remove research", seconds=300)


@pytest.fixture
def where(client: Machine, research: int) -> Iterator[str]:
    with nfs(client, "models") as mounted:
        yield mounted


def writes(client: Machine, path: str, user: int, *groups: int) -> bool:
    """Whether a user of a client may make and remove a file; `groups` are those that the client knows."""
    named = f"--groups={','.join(map(str, groups))}" if groups else "--clear-groups"
    become = f"setpriv --reuid={user} --regid={user} {named}"
    return client.run(f"{become} sh -c 'touch {path}/x && rm {path}/x'", check=False, seconds=120).status == 0


def named(box: Box) -> list[str]:
    """Return what health says of the groups of users, and of mountd."""
    findings = box.shown("health --json")["findings"]
    return [row["sentence"] for row in findings if row["key"] in ("nfs/groups", "nfs/mountd")]


def test_group_counts_from_the_moment_that_a_user_joins_until_she_leaves(
    box: Box, client: Machine, where: str, research: int
) -> None:
    anna = int(box.say("id -u anna"))
    assert not writes(client, f"{where}/lab", anna)
    box.millrace("user set anna --group research", seconds=300)
    assert writes(client, f"{where}/lab", anna)
    box.millrace("user set anna", seconds=300)
    assert not writes(client, f"{where}/lab", anna)


def test_group_that_only_the_client_names_counts_for_users_whom_the_server_does_not_know(
    box: Box, client: Machine, where: str, research: int
) -> None:
    assert not writes(client, f"{where}/lab", int(box.say("id -u anna")), research)
    assert writes(client, f"{where}/lab", UNKNOWN, research)
    assert not writes(client, f"{where}/lab", UNKNOWN)
    # the kernel remembers that nobody knows this user, which is no fault
    assert named(box) == []


def test_more_groups_than_a_request_carries_count(box: Box, client: Machine, where: str) -> None:
    anna = int(box.say("id -u anna"))
    numbers = range(FIRST, FIRST + MANY)
    box.say("cp /etc/group /run/group.before")
    try:
        lines = "".join(f"many{number}:x:{number}:anna\n" for number in numbers)
        box.machine.run(f"cat >> /etc/group; {FORGET}", stdin=lines)
        for place in (15, 16, MANY - 1):
            box.say(f"install -d -g {numbers[place]} -m 2770 {SHARE}/group-{place + 1}")
            assert writes(client, f"{where}/group-{place + 1}", anna), place
    finally:
        box.say(f"cp /run/group.before /etc/group; rm -rf {SHARE}/group-*; {FORGET}")


def test_health_names_users_whose_groups_the_kernel_did_not_get(box: Box, client: Machine, where: str) -> None:
    anna = int(box.say("id -u anna"))
    box.say(f"systemctl kill --signal=STOP {MOUNTD}; {FORGET}")
    try:
        client.run(f"setpriv --reuid={anna} --clear-groups ls {where}/lab > /dev/null 2>&1 &")
        box.machine.wait_command("grep -q . /proc/net/rpc/auth.unix.gid/content", "the question of the kernel", 60)
        (sentence,) = named(box)
        assert "does not know the groups of anna" in sentence
    finally:
        box.say(f"systemctl kill --signal=CONT {MOUNTD}")
    assert named(box) == []


def test_health_names_a_mountd_that_does_not_run(box: Box) -> None:
    added = f"/run/systemd/system/{MOUNTD}.d"
    box.say(f"mkdir -p {added}; printf '[Service]\\nRestart=no\\n' > {added}/99-gone.conf; systemctl daemon-reload")
    box.say(f"systemctl kill --signal=KILL {MOUNTD}")
    try:
        box.machine.wait_command(f"! systemctl is-active --quiet {MOUNTD}", "the end of mountd", 120)
        (sentence,) = named(box)
        assert sentence.startswith("mountd is not running")
    finally:
        box.say(f"rm -r {added}; systemctl daemon-reload; systemctl reset-failed {MOUNTD}; systemctl start {MOUNTD}")
    assert named(box) == []


def test_worker_of_mountd_that_hangs_holds_up_no_answer(box: Box, client: Machine, where: str) -> None:
    anna = int(box.say("id -u anna"))
    box.millrace("user set anna --group research", seconds=300)
    # the first process starts the others, and answers nothing
    first, *workers = box.say("pgrep -x rpc.mountd").split()
    assert first == box.say(f"systemctl show --property=MainPID --value {MOUNTD}")
    assert len(workers) == MOUNTD_WORKERS
    box.say(f"kill -STOP {workers[-1]}")
    try:
        box.say(f"{FORGET}; exportfs -f")
        assert writes(client, f"{where}/lab", anna)
    finally:
        box.say(f"kill -CONT {workers[-1]}")
        box.millrace("user set anna", seconds=300)


def test_mountd_that_was_killed_is_there_again_and_knows_the_groups(box: Box, client: Machine, where: str) -> None:
    anna = int(box.say("id -u anna"))
    box.millrace("user set anna --group research", seconds=300)
    started = box.say(STARTED)
    box.say(f"systemctl kill --signal=KILL {MOUNTD}; {FORGET}")
    box.machine.wait_command(f"systemctl is-active --quiet {MOUNTD}", "mountd", 120)
    # which would have cost all clients a minute
    assert box.say(STARTED) == started
    assert writes(client, f"{where}/lab", anna)
    box.millrace("user set anna", seconds=300)
