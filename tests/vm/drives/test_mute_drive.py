# SPDX-License-Identifier: Apache-2.0
"""A drive is far slower than its neighbours and is named; another one goes mute while files are written, and is out."""

import re

import pytest

from tests.vm.box import Box
from tests.vm.drives.conftest import EXPORT, MD
from tests.vm.drives.records import states, wait_in_sync

# minutes of a server that does nothing else
pytestmark = pytest.mark.soak

TIMEOUT = 10
"""Seconds; nvme_core.io_timeout of the image."""
MOST = 3 * TIMEOUT + 30
"""A command, its abort and the one after the reset; QEMU waits for the drive in each reset, and the guest with it."""
READERS = (
    f"fio --name=read --filename={EXPORT}/read --size=256m --rw=randread --bs=64k --direct=1 --ioengine=libaio "
    "--iodepth=16 --time_based --runtime=3600"
)
WRITER = f"""
import os, time
file = os.open("{EXPORT}/written", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
number, longest = 0, 0.0
while not os.path.exists("/run/enough"):
    began = time.monotonic()
    os.pwrite(file, number.to_bytes(8, "little") * 512, number % 4096 * 4096)
    os.fsync(file)
    number, longest = number + 1, max(longest, time.monotonic() - began)
    with open("/run/longest.new", "w") as out:
        print(number, longest, file=out)
    os.rename("/run/longest.new", "/run/longest")
"""


def findings(box: Box, check: str) -> dict[str, str]:
    return {
        one["key"]: one["sentence"]
        for one in box.shown("health --json")["findings"]
        if one["check"] == check and one["level"] != "OK"
    }


def test_slow_drive_is_named_with_its_latency_and_is_not_any_more_when_it_is_quick(box: Box) -> None:
    box.machine.wait_command("! grep -E 'resync|recovery|check' /proc/mdstat", "arrays in sync", 900)
    slow = sorted(box.members_by_serial("data"))[2]
    box.say(f"head -c 256M /dev/urandom > {EXPORT}/read; sync -f {EXPORT}", seconds=900)
    box.say(f"systemd-run --unit=readers {READERS}")
    box.machine.throttle(slow, 30)
    box.look_every(15)
    named = "millrace health --json | grep -q latency/slow/"
    box.machine.wait_command(named, "the slow drive to be named", 900)
    sentences = findings(box, "latency")
    print(sentences, box.say("cat /run/millrace/latency.json"))
    assert list(sentences) == [f"latency/slow/{slow}"] and "(median)" in sentences[f"latency/slow/{slow}"]
    assert f'millrace_drive_slow{{serial="{slow}"' in box.say("millrace metrics | grep '^millrace_drive_slow.* 1$'")
    box.machine.throttle(slow, 0)
    box.machine.wait_command(f"! {named}", "the drive to be quick", 900)
    box.say("systemctl stop readers")


def test_mute_drive_is_out_in_the_time_that_is_written_down(box: Box) -> None:
    # the harness gives emulated drives more time: the image's own value is tried
    first = re.search(r"nvme_core\.io_timeout=(\d+)", box.say("cat /proc/cmdline"))
    assert first and first[1] == str(TIMEOUT)
    box.say(f"for one in /sys/class/nvme/nvme*/io_timeout; do echo {TIMEOUT * 1000} > $one; done")
    box.machine.run("cat > /run/writer.py", stdin=WRITER)
    box.say("rm -f /run/enough; systemd-run --unit=writer python3 /run/writer.py")
    box.machine.wait_command("test -e /run/longest", "the first block", 120)
    mute = sorted(box.members_by_serial("data"))[1]
    with box.machine.silent(mute) as drive:
        box.machine.wait_command(f"grep -qx 1 {MD}/degraded", "md to give the drive up", 300)
        print(f"{drive.released} requests were carried out at resets")
        number, longest = box.say("cat /run/longest").split()
        box.machine.wait_command(f"read -r n _ < /run/longest && [ $n -gt {number} ]", "more blocks", 120)
        longest = box.say("cat /run/longest").split()[1]
        print(box.say("journalctl -k -b -o short-monotonic | grep -E 'nvme nvme|md/raid|md:' | tail -n 20"))
        print(f"the longest write took {longest} s")
        assert TIMEOUT < float(longest) < MOST
        sentence = findings(box, "arrays")["arrays/data"]
        assert mute in sentence and "degraded" in sentence
    box.say("touch /run/enough")
    box.machine.wait_command("! systemctl is-active writer", "the end of the writer", 120)
    assert box.say("systemctl show -P Result writer") == "success"


def test_drive_that_answers_again_is_a_member_after_the_next_start(box: Box) -> None:
    """The kernel has given it up until then."""
    box.machine.power_cut()
    box.machine.start()
    box.machine.wait_agent()
    box.wait_serving()
    wait_in_sync(box)
    assert set(states(box).values()) == {"in-sync"}
    assert not findings(box, "arrays")
