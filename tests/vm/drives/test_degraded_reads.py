# SPDX-License-Identifier: Apache-2.0
"""Drives fail, return and are rebuilt again and again under readers and writers; each block is what was written last.

The rebuilt raid456 hands reads of an array that lacks a drive to the drives that are there (docs/modules.md).
"""

import json
from collections.abc import Iterator

import pytest

from tests.vm.box import Box
from tests.vm.drives.conftest import EXPORT, FIVE, MD

# minutes of a server that does nothing else
pytestmark = pytest.mark.soak

ARRAY = "/dev/md/millrace-data"
ROUNDS = 2
# Each 4 KiB has a checksum of its own, and says where it belongs: blocks of all sizes can be verified.
JOBS = f"""
[global]
directory={EXPORT}
direct=1
ioengine=libaio
iodepth=8
verify=crc32c
verify_interval=4k
verify_fatal=1
time_based=1
runtime=100d

[kept]
filename=kept
rw=randread
bsrange=4k-512k
blockalign=4k
size=96m
verify_header_seed=0

[written]
filename=written
rw=randrw
bs=16k
size=64m
verify_backlog=64
"""
FILLED = (
    f"fio --name=kept --directory={EXPORT} --filename=kept --rw=write --bs=1m --size=96m --direct=1 --end_fsync=1 "
    "--verify=crc32c --verify_interval=4k --do_verify=0"
)


def wait_whole(box: Box) -> None:
    box.machine.wait_command(f"grep -qx 0 {MD}/degraded && grep -qx idle {MD}/sync_action", "members in sync", 1800)


def read_so_far(box: Box) -> int:
    """Bytes that the drives of the array read until now."""
    # a drive counts, its partitions do not (nvme multipath)
    found = box.say(f"cat {MD.removesuffix('/md')}/slaves/*/../stat")
    return 512 * sum(int(line.split()[2]) for line in found.splitlines())


@pytest.fixture
def verified(box: Box) -> Iterator[None]:
    """Readers and writers who verify what they read, from now to the end of the story; they end where it is wrong."""
    wait_whole(box)
    box.say(FILLED, seconds=900)
    box.machine.run("cat > /run/jobs.fio", stdin=JOBS)
    # SIGINT ends it with its report
    box.say(
        "systemd-run --unit=verified --property=KillSignal=SIGINT --property=StandardOutput=file:/run/verified "
        "fio --output-format=json /run/jobs.fio"
    )
    yield
    box.say(f"systemctl stop verified; rm {EXPORT}/kept {EXPORT}/written", seconds=600)


@pytest.mark.usefixtures("verified")
def test_blocks_are_right_while_drives_fail_and_are_rebuilt(box: Box) -> None:
    members = box.say(f"cd {MD.removesuffix('/md')}/slaves && ls").split()
    for number, member in enumerate(members * ROUNDS):
        box.say(f"mdadm {ARRAY} --fail /dev/{member} && grep -qx 1 {MD}/degraded")
        before = read_so_far(box)
        box.say("sleep 10")
        assert read_so_far(box) > before
        box.machine.wait_command(f"mdadm {ARRAY} --remove /dev/{member}", "md to let go of it", 60)
        # what the bitmap names is rebuilt, or all of it
        again = f"mdadm {ARRAY} --re-add /dev/{member}"
        anew = f"mdadm --zero-superblock /dev/{member} && mdadm {ARRAY} --add /dev/{member}"
        box.machine.wait_command(anew if number % 2 else again, "md to take it back", 120)
        wait_whole(box)
        assert box.say("systemctl is-active verified") == "active"
    box.say("systemctl stop verified", seconds=600)
    text = box.say("cat /run/verified")
    jobs = json.loads(text[text.index("{") :])["jobs"]
    print({job["jobname"]: (job["error"], job["read"]["io_kbytes"], job["write"]["io_kbytes"]) for job in jobs})
    assert len(jobs) == 2 and all(job["error"] == 0 and job["read"]["io_kbytes"] > 1 << 16 for job in jobs)
    box.say(f"echo check > {MD}/sync_action")
    wait_whole(box)
    assert box.say(f"cat {MD}/mismatch_cnt") == "0"
    assert len(box.members_by_serial("data")) == len(FIVE.drives)
