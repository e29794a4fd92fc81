# SPDX-License-Identifier: Apache-2.0
"""Users filled the pool to the last block: the server's own records still have room, and no client loses a lock."""

from collections.abc import Iterator

import pytest

from tests.vm.box import Box
from tests.vm.shares.words import nfs
from vm.machine import Machine

pytestmark = [pytest.mark.usefixtures("models"), pytest.mark.soak]

OWN = "/srv/pool/.millrace"
FILLER = "/srv/pool/filler"
# Ever smaller, then inodes, as each new file wants one, then what is left for a file that is there: to the last block.
FILL = f"""
mkdir -p {FILLER}; n=0
for size in 1G 128M 16M 2M 256K 32K 4K; do
    while fallocate -l $size {FILLER}/$n 2>/dev/null; do n=$((n + 1)); done
    rm -f {FILLER}/$n
done
while echo x 2>/dev/null > {FILLER}/$n; do n=$((n + 1)); done 2>/dev/null
dd if=/dev/zero bs=4k 2>/dev/null >> {FILLER}/0
sync -f /srv/pool; df --output=avail -k /srv/pool | tail -n 1
"""
ON_SERVER = "grep -hs 'type: lock' /proc/fs/nfsd/clients/*/states"
RECLAIMED = "grep -hsE 'type: (lock|deleg)' /proc/fs/nfsd/clients/*/states"
LOST = "dmesg | grep -iE 'lock reclaim failed|lost .*lock'; true"


@pytest.fixture(scope="module")
def locked(box: Box, client: Machine) -> Iterator[None]:
    """A client holds a lock, then the pool is full."""
    uid = box.say("id -u anna")
    with nfs(client, "models") as where:
        holder = f"exec 9<> {where}/locked; flock -x 9; echo held > /tmp/held; exec sleep 7200"
        anna = f"setpriv --reuid={uid} --regid={uid} --clear-groups"
        client.run(f"rm -f /tmp/held; setsid -f {anna} sh -c '{holder}' > /dev/null 2>&1 < /dev/null")
        try:
            client.wait_command("test -s /tmp/held", "the lock", 120)
            see_held(box)
            assert int(box.say(FILL, seconds=900)) < 512
            yield
        finally:
            client.run("pkill -x sleep; while pgrep -x sleep > /dev/null; do :; done; rm -f /tmp/held")
            box.say(f"rm -rf {FILLER}")


def see_held(box: Box) -> None:
    """See the lock on the server. With a delegation the client keeps it to itself: another reader takes that back."""
    box.machine.wait_command(RECLAIMED, "the lock or the delegation", 300)
    box.say("cat /srv/pool/models/locked", seconds=300)
    box.machine.wait_command(ON_SERVER, "the lock on the server", 60)


@pytest.mark.usefixtures("locked")
def test_full_pool_takes_no_block_and_no_inode_of_the_records(box: Box) -> None:
    assert box.machine.run(
        f"dd if=/dev/zero of={FILLER}/0 oflag=append conv=notrunc bs=32k count=1", check=False
    ).status
    assert box.machine.run(f"echo x > {FILLER}/more", check=False).status
    assert box.say(f"findmnt -no FSTYPE {OWN}/nfsdcld") == "ext3"
    # all of the image is there: no hole, no block that was never written
    extents = box.say(f"xfs_io -r -c 'bmap -v -p' {OWN}/nfsdcld.img")
    assert "hole" not in extents, extents
    free = int(box.say(f"df --output=avail -B1 {OWN}/nfsdcld | tail -n 1"))
    assert free > 20 << 20
    findings = [
        finding for finding in box.shown("health --json")["findings"] if finding["check"] in ("nfs", "filesystem")
    ]
    assert not [finding for finding in findings if finding["key"].startswith("nfs") and finding["level"] != "OK"], (
        findings
    )
    assert [finding["level"] for finding in findings if finding["check"] == "filesystem"] == ["FAIL"], findings
    assert "cannot be written" not in str(findings)


@pytest.mark.usefixtures("locked")
def test_state_is_kept_on_a_full_pool(box: Box) -> None:
    before = box.shown("keep status --json")["generation"]
    for number in range(2):
        box.millrace(f"share set models --comment 'full {number}'", seconds=600)
        box.millrace("keep now", seconds=300)
    status = box.shown("keep status --json")
    assert status["problem"] is None and status["generation"] >= before + 2


@pytest.mark.usefixtures("locked")
def test_restarted_nfs_server_takes_no_lock_on_a_full_pool(box: Box, client: Machine) -> None:
    box.say("systemctl stop nfs-server nfsdcld && systemctl start nfs-server", seconds=300)
    see_held(box)
    assert client.run(LOST).out == ""
    assert box.say("journalctl -b -k -o cat | grep -E 'NFSD: Unable'; true") == ""


@pytest.mark.usefixtures("locked")
def test_power_cut_takes_no_lock_on_a_full_pool(box: Box, client: Machine) -> None:
    box.machine.power_cut()
    box.machine.start()
    box.machine.wait_agent()
    box.wait_serving()
    see_held(box)
    assert client.run(LOST).out == ""
    # a boot gives back some blocks of the file system's own
    assert int(box.say("df --output=avail -k /srv/pool | tail -n 1")) < 2048
    for said in ("NFSD: Unable", "EXT4-fs error", "I/O error"):
        assert box.say(f"journalctl -b -k -o cat | grep -F '{said}'; true") == ""
    assert "hole" not in box.say(f"xfs_io -r -c 'bmap -v -p' {OWN}/nfsdcld.img")
    # fstrim of Debian leaves the image alone
    box.say("systemctl start fstrim.service", seconds=300)
    assert "hole" not in box.say(f"xfs_io -r -c 'bmap -v -p' {OWN}/nfsdcld.img")
    box.wait_booted()
    assert box.failed_units() == []
