# SPDX-License-Identifier: Apache-2.0
"""Shares and users: made by one command, served on both protocols, limited, refused where they must be."""

import pytest

from tests.vm.box import Box
from tests.vm.shares.words import nfs, smb
from vm.machine import Machine

pytestmark = pytest.mark.usefixtures("models")


def test_user_is_created_with_a_password_from_stdin(box: Box) -> None:
    (anna,) = box.shown("user list --json")["users"]
    assert box.say("id -u anna") == str(anna["uid"])
    assert "anna" in box.say("pdbedit -L")


def test_created_share_is_served_and_verification_leaves_nothing(box: Box, models: str) -> None:
    assert "NFS" in models
    assert "SMB" in models
    assert "/srv/pool/models" in box.say("exportfs -s")
    # nothing of the look stays
    assert "127.0.0.1" not in box.say("exportfs -s")
    assert "millrace-check" not in box.say("pdbedit -L")
    assert box.say("ls -d /run/millrace/verify-* 2>/dev/null; true") == ""


def test_files_have_one_owner_on_both_protocols(box: Box, client: Machine) -> None:
    with smb(client, "models") as where:
        client.run(f"echo from smb > {where}/by-smb")
    uid = box.say("id -u anna")
    assert box.say("stat -c %u /srv/pool/models/by-smb") == uid
    with nfs(client, "models") as where:
        assert client.run(f"cat {where}/by-smb").out == "from smb\n"
        assert client.run(f"stat -c %u {where}/by-smb").out.strip() == uid
        client.run(f"setpriv --reuid={uid} --regid={uid} --clear-groups sh -c 'echo from nfs > {where}/by-nfs'")
    with smb(client, "models") as where:
        assert client.run(f"cat {where}/by-nfs").out == "from nfs\n"


def test_full_share_is_reported_on_both_protocols_and_others_keep_working(box: Box, client: Machine) -> None:
    uid = box.say("id -u anna")
    anna = f"setpriv --reuid={uid} --regid={uid} --clear-groups"
    for open_share, become in ((nfs, anna), (smb, "")):
        with open_share(client, "models") as where:
            write = f"{become} dd if=/dev/zero of={where}/big bs=1M count=128 conv=fsync"
            full = client.run(write, check=False, seconds=300)
            assert full.status != 0
            assert any(words in full.err for words in ("No space left", "quota exceeded")), full.err
    shown = next(share for share in box.shown("share list --json")["shares"] if share["name"] == "models")
    assert 64 << 20 < shown["used"] <= 96 << 20
    # empty files are bounded, too: used, soft, hard
    inodes = box.say(f"xfs_quota -x -c 'report -p -i -n -N' /srv/pool | grep '^#{shown['project']} '").split()[1:4]
    assert inodes[1:] == ["0", str(1 << 20)]
    with nfs(client, "data") as where:
        client.run(f"dd if=/dev/zero of={where}/fine bs=1M count=16 conv=fsync")
    box.say("rm /srv/pool/models/big")


DEEP = "/run/deep.json"
BAD = [
    ["share", "create", "a/b", "--type", "mixed"],
    ["share", "create", "..", "--type", "mixed"],
    ["share", "create", "two words", "--type", "mixed"],
    ["share", "create", "größe", "--type", "mixed"],
    ["share", "create", "x" * 256, "--type", "mixed"],
    ["share", "create", "homes", "--type", "mixed"],
    ["share", "create", "global", "--type", "mixed"],
    ["share", "create", "models", "--type", "mixed"],
    ["share", "create", "s", "--type", "mixed", "--nfs-client", "10.0.0.0/33"],
    ["share", "create", "s", "--type", "mixed", "--nfs-client", "*"],
    ["share", "create", "s", "--type", "mixed", "--nfs-client", "10.0.0.0/24(rw,no_root_squash)"],
    ["share", "create", "s", "--type", "mixed", "--nfs-client", "rw,no_root_squash"],
    ["share", "create", "s", "--type", "mixed", "--smb-user", "nobody-knows"],
    ["share", "set", "no-such-share", "--size", "1G"],
    ["share", "remove", "models", "--delete-data", "data"],
    ["share", "create", "s", "models", "--type", "mixed"],
    ["share", "create", "s", "s", "--type", "mixed"],
    ["share", "create", "s", "--type", "mixed", "--nfs-client", "10.0.0.0/24 access=rw,no_root_squash"],
    ["share", "create", "s", "--type", "mixed", "--smb-user", "admin,root"],
    ["share", "create", "s", "--type", "mixed", "--comment", "a\nguest ok = yes"],
    ["share", "create", "s", "--type", "mixed", "--comment", "ends in a backslash\\"],
    ["share", "create", "s", "--type", "mixed", "--size", "many"],
    ["share", "create", "s", "--type", "mixed", "--time-machine"],
    ["share", "create", "s", "--no-nfs", "--no-smb"],
    ["share", "set", "models"],
    ["user", "create", "root", "--password-stdin"],
    ["group", "create", "empower"],
    ["config", "rollback", "999"],
    ["config", "export", "/nosuch/moved.json"],
    ["config", "import", DEEP],
    ["config", "import", "/etc/hostname"],
    ["client", "recipe", "--workload", "training", "--protocol", "smb-rdma", "--share", "models"],
]


def test_bad_input_is_refused_in_one_sentence_and_changes_nothing(box: Box) -> None:
    state = "sha256sum /var/lib/millrace/config.json /etc/exports.d/* /etc/samba/smb.conf; ls / /srv/pool"
    box.say(f"printf '[%.0s' $(seq 100000) > {DEEP}")
    before = box.say(state)
    for words in BAD:
        said = box.millrace(words, check=False)
        assert said.status in {1, 2}, said
        assert len(said.err.strip().splitlines()) == 1, said
    assert box.say(state) == before


def test_commas_and_quotes_in_a_comment_are_kept(box: Box) -> None:
    words = 'it\'s "quoted", with commas; # and = signs [global]'
    box.millrace(["share", "set", "models", "--comment", words], seconds=600)
    (kept,) = [one for one in box.shown("share list --json")["shares"] if one["name"] == "models"]
    assert kept["comment"] == words
    assert box.say("testparm -s --section-name=models --parameter-name=comment 2>/dev/null") == words


def test_removed_share_keeps_its_data_unless_its_name_is_given(box: Box) -> None:
    box.millrace("share create scratch --type training --smb-user anna", seconds=600)
    box.say("touch /srv/pool/scratch/kept")
    box.millrace("share remove scratch", seconds=600)
    assert "/srv/pool/scratch" not in box.say("exportfs -s")
    assert box.say("ls /srv/pool/scratch") == "kept"
    box.millrace("share create scratch --type training --smb-user anna", seconds=600)
    box.millrace("share remove scratch --delete-data scratch", seconds=600)
    assert box.say("ls /srv/pool | grep -c scratch; true") == "0"
