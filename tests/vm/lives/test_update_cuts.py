# SPDX-License-Identifier: Apache-2.0
"""What goes wrong while an update is staged or written: the version that runs stays, and the next attempt succeeds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.box import Box
from tests.vm.lives.release import KEYS, LISTED, NEW, OLD, Made, Quiet, served
from tests.vm.lives.test_adopt import SERVER, started
from vm.accel import Accel
from vm.link import Cables

# a second image, and four boots
pytestmark = pytest.mark.soak

HALF = 1 << 20
# What systemd-sysupdate runs for each transfer has the name of its source, and is stopped after so many seconds.
TRANSFERS = {
    "hash tree": ("usr-verity.raw.zst", 0.0),
    "/usr": ("usr.raw.zst", 10.0),
    "kernel": (f"millrace_{NEW}.efi", 0.0),
}
BOOT = "$(bootctl --print-boot-path)"
ATTEMPT = "/sys/fs/cgroup/system.slice/attempt.service"


# A program that writes a small file has ended before a shell has looked twice.
HOLD = f"""
import os, signal, sys, time
def words(process):
    try:
        with open(f"/proc/{{process}}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""
source, seconds = sys.argv[1].encode(), float(sys.argv[2])
while os.path.exists("{ATTEMPT}"):
    for process in filter(str.isdigit, os.listdir("/proc")):
        line = words(process)
        if source in line and (b"systemd-import" in line or b"systemd-pull" in line):
            time.sleep(seconds)
            os.kill(int(process), signal.SIGSTOP)
            sys.exit()
    time.sleep(0.01)
sys.exit("the update ended before this transfer")
"""


class Cut(Quiet):
    """Ends each connection after 1 MiB of a file."""

    def copyfile(self, source: object, outputfile: object) -> None:
        """Send the first part, and no more."""
        self.wfile.write(source.read(HALF))  # type: ignore[attr-defined]
        self.close_connection = True


@pytest.fixture(scope="module")
def box(
    release: Made, image: Path, accelerator: Accel, cables: Cables, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Box]:
    """A server without a pool, which has the key of the release."""
    with started(image, accelerator, cables, tmp_path_factory.mktemp("cuts"), SERVER) as box:
        box.wait_booted()
        box.machine.run(f"base64 -d > {KEYS}", stdin=release.public)
        yield box


def see_unchanged(box: Box) -> None:
    """The version of before runs, nothing of the other one would start, and nothing is left of the attempt."""
    assert box.say(". /usr/lib/os-release; echo $IMAGE_VERSION") == OLD
    assert box.say(LISTED) == f"millrace_{OLD}.efi"
    status = box.shown("update status --json")
    assert (status["trial"], status["progress"], status["failed"]) == (None, None, [])
    assert box.failed_units() == []


def test_download_that_is_cut_is_refused_in_a_sentence(box: Box, release: Made) -> None:
    with served(release.directory, Cut) as url:
        box.millrace(f"update source {url}")
        refused = box.millrace("update apply --yes", check=False, seconds=600)
    assert refused.status == 1, refused.err
    assert len(refused.err.strip().splitlines()) == 1 and f"is truncated: {HALF} of " in refused.err
    see_unchanged(box)


def test_full_boot_partition_is_refused_in_a_sentence(box: Box, release: Made) -> None:
    box.say(
        f"free=$(df --output=avail -k {BOOT} | tail -1); fallocate -l $((free - 8192))K {BOOT}/full 2>/dev/null || "
        f"dd if=/dev/zero of={BOOT}/full bs=1M count=$((free / 1024 - 8)); sync",
        seconds=600,
    )
    with served(release.directory) as url:
        box.millrace(f"update source {url}")
        refused = box.millrace("update apply --yes", check=False, seconds=1800)
    box.say(f"rm {BOOT}/full")
    assert refused.status == 1, refused.err
    assert len(refused.err.strip().splitlines()) == 1 and "boot partition" in refused.err
    see_unchanged(box)


@pytest.mark.parametrize("what", TRANSFERS)
def test_power_cut_within_a_transfer_leaves_the_version_that_runs(box: Box, release: Made, what: str) -> None:
    source, after = TRANSFERS[what]
    with served(release.directory) as url:
        box.millrace(f"update source {url}")
        box.say("systemctl reset-failed; systemd-run --unit=attempt millrace update apply --yes")
        held = box.machine.run(["python3", "-", source, str(after)], stdin=HOLD, seconds=1800, check=False)
        assert held.status == 0, held.err + box.say(
            "journalctl -b -o cat -u attempt.service -u millrace-update.service | tail -40"
        )
        box.machine.power_cut()
    box.machine.start()
    box.wait_booted()
    see_unchanged(box)
    assert box.shown("update status --json")["last"]["state"] == "interrupted"
    assert "not installed completely" in box.say("journalctl -b -o cat -u millrace-boot-check.service")


def test_update_after_all_this_is_installed(box: Box, release: Made) -> None:
    with served(release.directory) as url:
        box.millrace(f"update source {url}")
        box.millrace("update apply --yes --reboot later", seconds=1800)
    assert box.say(LISTED) == f"millrace_{OLD}.efi\nmillrace_{NEW}+3-0.efi"
    # what the cuts left on the boot partition is gone with the next attempt
    assert box.say(f"ls -A {BOOT}/EFI/Linux | grep -c '^\\.'; true") == "0"
    assert box.shown("update status --json")["last"]["state"] == "installed"
