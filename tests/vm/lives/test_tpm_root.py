# SPDX-License-Identifier: Apache-2.0
"""A server with Secure Boot and a TPM 2.0: its root file system is encrypted, and who opens it.

The TPM does where firmware and kernel image are the owner's; else the console asks for the recovery key.
"""

import base64
import json
import shutil
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from host import artefacts, build, keys, layout, secure_boot, stage
from tests.vm.box import Box, credentials
from vm.accel import Accel
from vm.appliance import Appliance, appliance
from vm.disks import keep
from vm.server import Node, Server

# eight boots, by hand until a row of soak has seen them
pytestmark = pytest.mark.soak

NAME = artefacts.image_name(layout.REPO)
TOOLS = layout.caches().stages / "image" / "mkosi.tools"
SMALL = Server("tpm", "root only", 8 << 30, (Node(cpus=2, memory="2G"),), (), ())
PROMPT = "recovery key"
# So long systemd waits for a device: its default, and vm.appliance.PATIENCE.
DEVICE_SECONDS = {"kvm": 90.0, "tcg": 600.0}
BOOT_SECONDS = 900.0
BLOCK = 4096
ALTER = """
import base64, glob, json, os, sys
(path,) = glob.glob("/boot/EFI/Linux/*.efi")
changes = json.load(sys.stdin)
with open(path, "r+b") as file:
    file.truncate(changes.pop("size"))
    for at, block in changes.items():
        file.seek(int(at))
        file.write(base64.b64decode(block))
    file.flush()
    os.fsync(file.fileno())
"""

# Types of partitions (Discoverable Partitions Specification): root of x86-64, and one that nothing looks for.
ROOT, OTHER = "4f68bce3-e8cd-4db1-96e7-fbcaf984b709", "0fc63daf-8483-4772-8e79-3d69d8477de4"
# What whoever has the boot drive does: a copy of root in the clear, in the room of the second version, and the
# encrypted partition beside it.
SWAP = f"""
set -eu
real="$1"
disk="/dev/$(lsblk --noheadings --output PKNAME "$real")"
room="$(lsblk --noheadings --list --bytes --output PATH,PARTLABEL,SIZE "$disk" |
    awk '$2 == "_empty" {{ print $3, $1 }}' | sort -n | tail -1 | cut -d' ' -f2)"
number() {{ cat "/sys/class/block/${{1##*/}}/partition"; }}
mkfs.ext4 -q -F "$room"
mkdir /run/other
mount "$room" /run/other
cp -ax / /run/other/
umount /run/other
sfdisk --no-reread --part-type "$disk" "$(number "$real")" {OTHER}
sfdisk --no-reread --part-type "$disk" "$(number "$room")" {ROOT}
sync
"""


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> keys.Keys:
    return keys.make(tmp_path_factory.mktemp("owner") / "keys", datetime.now(UTC))


@pytest.fixture(scope="module")
def built(owner: keys.Keys, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An image whose rebuilt modules the owner has signed: Secure Boot loads no others."""
    cache, output = layout.caches(), tmp_path_factory.mktemp("build")
    build.build(build.appliance(cache, output, build.rebuilt_modules(cache, stock=False, owner=owner)), cache)
    return output


def sign(owner: keys.Keys, built: Path, signed: Path, command_line: tuple[bytes, bytes] | None = None) -> Path:
    """Sign the built image; `command_line` are words in it and what stands there instead, as in another version."""
    signed.mkdir()
    for suffix in artefacts.APPLIANCE:
        keep(built / (NAME + suffix), signed / (NAME + suffix))
    if command_line is not None:
        kernel = signed / f"{NAME}.efi"
        data = kernel.read_bytes()
        # each profile has a command line
        assert command_line[0] in data and len(command_line[0]) == len(command_line[1])
        kernel.unlink()
        kernel.write_bytes(data.replace(*command_line))
    return secure_boot.sign(signed, NAME, owner, TOOLS, stage.epoch(layout.REPO))


@pytest.fixture(scope="module")
def box(owner: keys.Keys, built: Path, accelerator: Accel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    directory = tmp_path_factory.mktemp("tpm")
    image = sign(owner, built, directory / "build") / f"{NAME}.raw"
    with appliance(
        SMALL, image, directory, accelerator, credentials=credentials(), secure_boot=True, tpm=True
    ) as machine:
        machine.with_keyboard()
        # systemd-boot enrols the keys and resets the machine, which ends
        machine.start()
        machine.wait_off()
        machine.start()
        yield Box(machine)


def install(box: Box, before: Path, after: Path) -> None:
    """Replace the kernel image on the ESP, signed in the directory `before`, by that of `after`, and switch off."""
    first, second = ((place / secure_boot.SIGNED / f"{NAME}.efi").read_bytes() for place in (before, after))
    box.machine.run(["python3", "-c", ALTER], stdin=changes(first, second))
    box.machine.shutdown()


def changes(before: bytes, after: bytes) -> str:
    """The blocks of a file that another one has different, as JSON: all of it is 100 MB for a serial line."""
    blocks = range(0, len(after), BLOCK)
    different = [at for at in blocks if before[at : at + BLOCK] != after[at : at + BLOCK]]
    return json.dumps(
        {at: base64.b64encode(after[at : at + BLOCK]).decode() for at in different} | {"size": len(after)}
    )


def opened(box: Box) -> dict[str, object]:
    found: dict[str, object] = json.loads(box.say("millrace encryption show --json"))
    return found


def asks(machine: Appliance) -> None:
    machine.wait_for(lambda: PROMPT in machine.console, "prompt for the recovery key", BOOT_SECONDS)


@pytest.fixture(scope="module")
def recovery_key(box: Box) -> str:
    box.machine.wait_agent(BOOT_SECONDS)
    return str(json.loads(box.say("millrace encryption recovery-key --json"))["key"])


def test_first_boot_encrypts_root_for_the_tpm(box: Box) -> None:
    box.machine.wait_agent(BOOT_SECONDS)
    assert box.say("findmnt --noheadings --output SOURCE,FSTYPE /").split() == ["/dev/mapper/root", "ext4"]
    now = opened(box)
    assert (now["bound"], now["secure_boot"], now["signer"], now["opened"]) == (True, True, True, True)
    assert box.say(f"blkid -p -s TYPE -o value {now['device']}") == "crypto_LUKS"
    box.machine.wait_command("systemctl is-system-running | grep -qxE 'running|degraded'", "the end of the boot", 900)
    assert box.failed_units() == []
    assert "Nobody has the recovery key of the root file system" in box.say("millrace health || true")


def test_recovery_key_is_shown_once_and_is_in_no_log(box: Box, recovery_key: str) -> None:
    assert box.find(recovery_key, "journalctl -b; cat /run/millrace/*.json; cat /var/lib/millrace/*") == ""
    assert box.find(recovery_key, "cat /run/millrace-recovery-key || true") == ""
    again = box.machine.run("millrace encryption recovery-key", check=False)
    assert again.status == 1 and "cannot be shown again" in again.err
    assert opened(box)["recovery_key"] is True
    assert recovery_key not in box.machine.console


def test_running_system_cannot_have_the_tpm_open_root(box: Box) -> None:
    device = opened(box)["device"]
    tried = box.machine.run(
        f"systemd-cryptenroll --unlock-tpm2-device=auto --recovery-key {device}", check=False, seconds=300
    )
    assert tried.status != 0


def test_the_next_start_keeps_the_recovery_key_that_was_read(box: Box, recovery_key: str) -> None:
    box.machine.reboot()
    box.machine.wait_agent(BOOT_SECONDS)
    now = opened(box)
    assert (now["opened"], now["recovery_key"]) == (True, True)
    # it lets a change in, which the TPM does not in the running system
    box.machine.run("millrace encryption rebind --key-stdin", stdin=f"{recovery_key}\n", seconds=300)


def test_the_next_version_of_the_same_keys_needs_nobody(
    box: Box, owner: keys.Keys, built: Path, tmp_path: Path
) -> None:
    later = tmp_path / "later"
    sign(owner, built, later, (b" panic=30 ", b" panic=31 "))
    install(box, box.machine.files.directory / "build", later)
    box.machine.start()
    box.machine.wait_agent(BOOT_SECONDS)
    assert "panic=31" in box.say("cat /proc/cmdline").split()
    assert opened(box)["opened"] is True
    assert PROMPT not in box.machine.console
    shutil.move(later, box.machine.files.directory / "later")


def test_a_kernel_image_of_another_key_asks_for_the_recovery_key(
    box: Box, owner: keys.Keys, built: Path, tmp_path: Path
) -> None:
    # firmware starts it: it is signed with the image key, and not with the key of root
    other = keys.Keys(Path(shutil.copytree(owner.directory, tmp_path / "other")))
    for name in (keys.PCR, keys.PCR_PUBLIC):
        (other.directory / name).unlink()
    keys.make(other.directory, datetime.now(UTC))
    sign(other, built, tmp_path / "build")
    install(box, box.machine.files.directory / "later", tmp_path / "build")
    box.machine.start()
    asks(box.machine)
    assert "login:" not in box.machine.console
    box.machine.power_cut()


def test_another_tpm_asks_for_the_recovery_key(box: Box) -> None:
    assert box.machine.tpm is not None
    box.machine.tpm.forget()
    box.machine.start()
    asks(box.machine)
    assert "login:" not in box.machine.console


def test_the_prompt_waits_longer_than_systemd_for_a_device(box: Box) -> None:
    limit = time.monotonic() + DEVICE_SECONDS[box.machine.accel.name]
    box.machine.wait_for(lambda: time.monotonic() > limit, "a slow typist", 2 * DEVICE_SECONDS["tcg"])
    assert "emergency" not in box.machine.console.lower()


def test_the_recovery_key_opens_and_health_says_why_it_was_asked_for(box: Box, recovery_key: str) -> None:
    box.machine.type(recovery_key)
    box.machine.wait_agent(BOOT_SECONDS)
    assert opened(box)["opened"] is False
    assert "asks for the recovery key" in box.say("millrace health || true")


def test_the_new_tpm_is_bound_with_the_recovery_key(box: Box, recovery_key: str) -> None:
    box.machine.run("millrace encryption rebind --key-stdin", stdin=f"{recovery_key}\n", seconds=300)
    box.machine.reboot()
    box.machine.wait_agent(BOOT_SECONDS)
    now = opened(box)
    assert (now["opened"], now["signer"], now["recovery_key"]) == (True, True, True)


def test_another_root_on_the_same_kernel_does_not_have_the_tpm_open_the_encrypted_one(box: Box) -> None:
    real = opened(box)["device"]
    box.machine.run(["sh", "-c", SWAP, "swap", str(real)], seconds=BOOT_SECONDS)
    box.machine.reboot()
    box.machine.wait_agent(BOOT_SECONDS)
    assert opened(box)["device"] is None
    assert box.say(f"blkid -p -s TYPE -o value {real}") == "crypto_LUKS"
    # the signatures of the kernel image are there, for a phase that is over
    box.machine.run("test -s /run/systemd/tpm2-pcr-signature.json")
    for attempt in (
        f"systemd-cryptsetup attach stolen {real} none tpm2-device=auto,headless=1",
        f"systemd-cryptenroll --unlock-tpm2-device=auto --recovery-key {real}",
    ):
        assert box.machine.run(attempt, check=False, seconds=300).status != 0
    assert "stolen" not in box.say("ls /dev/mapper").split()
