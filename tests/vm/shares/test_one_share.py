# SPDX-License-Identifier: Apache-2.0
"""One share as an administrator sees it: its clients, access log, last verification, and the cost of caching."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.vm.box import Box
from tests.vm.shares.words import HOST, PASSWORD
from vm.machine import Machine

READS = 100
READ = (
    "import os; file = os.open('{path}', os.O_RDONLY); "
    f"print(sum(len(os.pread(file, 4096, 0)) for _ in range({READS})))"
)


# by hand: five stories of one share with a user of their own
pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def mara(box: Box, client: Machine) -> Iterator[str]:
    """A user with a share over SMB alone and one over both protocols."""
    box.machine.run(["millrace", "user", "create", "mara", "--password-stdin"], stdin=PASSWORD + "\n", seconds=300)
    client.run("umask 077; cat > /run/mara", stdin=f"username=mara\npassword={PASSWORD}\n")
    box.millrace("share create alone --no-nfs --smb-user mara --audit", seconds=600)
    box.millrace("share create beside --smb-user mara", seconds=600)
    yield "mara"
    for share in ("alone", "beside"):
        box.millrace(f"share remove {share} --delete-data {share}", seconds=600)
    box.millrace("user remove mara", seconds=300)


@contextmanager
def mounted(client: Machine, share: str) -> Iterator[str]:
    options = "vers=3.1.1,seal,noperm,credentials=/run/mara"
    client.run(f"mkdir -p /mnt/{share}; mount -t cifs -o {options} //{HOST}/{share} /mnt/{share}", seconds=300)
    try:
        yield f"/mnt/{share}"
    finally:
        client.run(f"umount /mnt/{share}", seconds=300)


def requests(client: Machine, share: str) -> int:
    """How many reads the client has sent for a share (fs/smb/client/smb2ops.c: smb2_print_stats)."""
    text = client.run("cat /proc/fs/cifs/Stats").out
    part = re.split(r"^\d+\) ", text, flags=re.MULTILINE)
    (mine,) = [lines for lines in part if lines.startswith(f"\\\\{HOST}\\{share}")]
    found = re.search(r"^Reads: (\d+) total", mine, re.MULTILINE)
    assert found, mine
    return int(found[1])


@pytest.mark.parametrize(("share", "least", "most"), [("alone", 0, 2), ("beside", READS, READS + 2)])
@pytest.mark.usefixtures("mara")
def test_reading_again_costs_requests_only_beside_nfs(client: Machine, share: str, least: int, most: int) -> None:
    client.run(
        f"head -c 4096 /dev/zero > /run/block; smbclient -A /run/mara //{HOST}/{share} -c 'put /run/block block'"
    )
    with mounted(client, share) as path:
        before = requests(client, share)
        assert client.run(["python3", "-c", READ.format(path=f"{path}/block")], seconds=300).out.strip() == str(
            READS * 4096
        )
        assert least <= requests(client, share) - before <= most


@pytest.mark.usefixtures("mara")
def test_what_users_do_is_in_the_access_log_of_the_share_that_has_one(box: Box, client: Machine) -> None:
    for share in ("alone", "beside"):
        steps = "put /run/block written; get written /dev/null; rename written renamed; del renamed"
        client.run(f"smbclient -A /run/mara //{HOST}/{share} -c '{steps}'", seconds=300)
    entries = box.shown("share log alone --json")["entries"]
    done = [(entry["action"], entry["path"], entry["target"]) for entry in entries if entry["user"] == "mara"]
    expected = [
        ("created", "written", None),
        ("read", "written", None),
        ("renamed", "written", "renamed"),
        ("deleted", "renamed", None),
    ]
    assert [line for line in done if line in expected] == expected
    assert box.shown("share log beside --json")["entries"] == []


@pytest.mark.usefixtures("mara")
def test_clients_of_a_share_are_shown_and_can_be_disconnected(box: Box, client: Machine) -> None:
    with mounted(client, "alone") as path:
        client.run(f"sh -c 'exec 3>{path}/held; sleep 300 & echo $! > /run/held.pid' < /dev/null > /dev/null 2>&1")
        try:
            shown = box.shown("share show alone --json")
            assert [session["user"] for session in shown["connections"]["clients"]] == ["mara"]
            assert "held" in [file["path"] for file in shown["connections"]["files"]]
            assert (shown["caching"], shown["denials"]) == ("clients", "refused")
            assert box.shown("share disconnect alone --json")["clients"] == 1
        finally:
            client.run("kill $(cat /run/held.pid)")
        # the client connects again by itself
        client.run(f"ls {path}", seconds=300)


@pytest.mark.usefixtures("mara")
def test_verification_stays_until_the_next_one(box: Box) -> None:
    box.millrace("share verify alone", seconds=600)
    (kept,) = [one for one in box.shown("share list --json")["verifications"] if one["result"]["name"] == "alone"]
    assert kept["result"]["problem"] is None
    assert kept == box.shown("share show alone --json")["verification"]
