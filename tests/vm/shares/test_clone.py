# SPDX-License-Identifier: Apache-2.0
"""Clones by reflink: complete, of the same blocks, and sealed against a client's root."""

import json

import pytest

from tests.vm.box import Box
from tests.vm.shares.words import nfs, smb
from vm.machine import Machine

pytestmark = pytest.mark.usefixtures("models")

MIB = 1 << 20


def test_clone_has_everything_and_shares_its_blocks(box: Box, client: Machine) -> None:
    with nfs(client, "data") as where:
        client.run(f"mkdir -p {where}/set/a; head -c 8M /dev/urandom > {where}/set/a/file; ln -s /etc {where}/set/link")
        client.run(f"ln {where}/set/a/file {where}/set/second; truncate -s 1G {where}/set/sparse")
    box.say("chown 2345:2346 /srv/pool/data/set/a/file")
    python = "cd /srv/pool/data && python3 -c 'import os; print({})'"
    box.say(python.format('os.setxattr("set/a", "user.note", b"kept")'))
    before = box.used()
    lines = box.millrace("share clone data/set data/set-2 --json", seconds=600).out.splitlines()
    ended = json.loads(lines[-1])
    assert (ended["state"], ended["entries"], ended["changed"], ended["skipped"]) == ("done", 6, 0, 0)
    assert box.used() - before < 4 * MIB
    listed = "find . -printf '%P %y %U %G %m %n %s %T@ %l\\n' | sort"
    assert box.say(f"cd /srv/pool/data/set; {listed}") == box.say(f"cd /srv/pool/data/set-2; {listed}")
    assert box.say(python.format('os.getxattr("set-2/a", "user.note")')) == "b'kept'"
    first = "xfs_io -r -c fiemap /srv/pool/data/{}/a/file | sed 1d"
    assert box.say(first.format("set")) == box.say(first.format("set-2"))
    # what is written to one of them afterwards is in that one only
    box.say("echo more >> /srv/pool/data/set-2/a/file; cd /srv/pool/data; cmp -n 8388608 set/a/file set-2/a/file")
    assert box.say("stat -c %s /srv/pool/data/set/a/file") == str(8 * MIB)
    box.machine.wait_command("test ! -e /srv/pool/.millrace-clone", "the removal of the clone's work directory", 300)
    with nfs(client, "data") as where:
        assert client.run(f"cat {where}/set-2/second", seconds=300).status == 0


def test_root_of_a_client_changes_no_byte_of_a_sealed_share(box: Box, client: Machine) -> None:
    box.millrace("share clone data/set golden --seal", seconds=600)
    # even where root is root
    box.millrace("share set golden --nfs-client '10.77.0.0/24 access=ro squash=none' --smb-user anna", seconds=600)
    digest = "cd /srv/pool/golden && find . -type f -exec sha256sum {} + | sort | sha256sum"
    before = box.say(digest)
    with nfs(client, "golden") as where:
        client.run(f"cat {where}/second", seconds=300)
        for attempt in ("echo x >> {}/a/file", "rm {}/second", "touch {}/new", "chmod 777 {}/a", "mv {}/a {}/b"):
            done = client.run(attempt.format(where, where), check=False)
            assert done.status != 0, attempt
    with smb(client, "golden") as where:
        assert client.run(f"touch {where}/new", check=False).status != 0
    for words in (
        "share set golden --type training",
        "share remove golden",
        "share remove golden --delete-data golden",
    ):
        refused = box.millrace(words, check=False, seconds=600)
        assert refused.status in (1, 2) and "golden is sealed" in refused.err
    assert box.say(digest) == before
    box.millrace("share unseal golden", seconds=600)
    assert "share unseal golden" in box.say("journalctl -t millrace --output=cat --no-pager")
    box.millrace("share remove golden --delete-data golden", seconds=600)


# by hand: twenty thousand files
@pytest.mark.soak
def test_clone_that_is_killed_leaves_nothing(box: Box) -> None:
    box.say("mkdir /srv/pool/data/many && cd /srv/pool/data/many && seq 20000 | xargs touch", seconds=600)
    box.say(
        "systemd-run --quiet --collect millrace share clone data/many data/many-2;"
        " until [ -e /srv/pool/.millrace-clone/tree/1000 ]; do :; done;"
        " systemctl kill --kill-whom=main -s KILL millrace-reflink@clone.service;"
        " until systemctl show -P ActiveState millrace-reflink@clone.service | grep -qxE 'inactive|failed';"
        " do sleep 1; done",
        seconds=600,
    )
    # the file, not what clone-status makes of it: the last command of the unit has written it
    ended = box.read_json("cat /var/lib/millrace/clone.json")
    assert (ended["state"], ended["target"]) == ("interrupted", "data/many-2"), box.say(
        "journalctl -u millrace-reflink@clone"
    )
    assert box.shown("share clone-status --json")["clone"] == ended
    box.machine.wait_command("test ! -e /srv/pool/.millrace-clone", "the removal of what was cloned", 600)
    assert box.say("ls -dA /srv/pool/data/many-2 /srv/pool/.millrace-clone 2>/dev/null || true") == ""
    assert "millrace-reflink@clone.service" not in box.failed_units()
    box.say("rm -r /srv/pool/data/many /srv/pool/data/set /srv/pool/data/set-2")
