# SPDX-License-Identifier: Apache-2.0
"""A server with Secure Boot: keys are enrolled, everything works under lockdown, and only what is signed boots."""

import base64
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from host import artefacts, build, efivars, keys, layout, secure_boot, stage
from tests.vm.box import Box, credentials
from tests.vm.servers import server_named
from vm.accel import Accel
from vm.appliance import Appliance, appliance

# three boots, one of which builds a pool
pytestmark = pytest.mark.soak

NAME = artefacts.image_name(layout.REPO)
TOOLS = layout.caches().stages / "image" / "mkosi.tools"
DATABASE = f"/sys/firmware/efi/efivars/db-{efivars.DATABASE}"
# One write: the kernel takes a variable whole (efivarfs). The first four bytes are its attributes.
ENROL = f"""
chattr -i {DATABASE}
{{ printf '\\047\\0\\0\\0'; base64 -d; }} > /run/db.write
dd if=/run/db.write of={DATABASE} bs=1M conv=notrunc,nocreat status=none
"""
# What systemd-boot prints of a program that firmware refuses.
REFUSED = re.compile(r"Error\s+loading.{0,200}?(Security\s+violation|Access\s+denied)", re.IGNORECASE | re.DOTALL)
# What the kernel logs of each thing that lockdown does not let a program do.
RESTRICTED = re.compile(r"Lockdown: .* is restricted")
# logind asks whether the server could hibernate, and does not want it to.
ASKED = ("hibernation is restricted",)
ALTER = """
import glob
(path,) = glob.glob("/boot/EFI/Linux/*.efi")
with open(path, "r+b") as file:
    at = file.read().index(b"usrhash=") + len(b"usrhash=")
    file.seek(at)
    digit = file.read(1)
    file.seek(at)
    file.write(b"1" if digit == b"0" else b"0")
"""


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> keys.Keys:
    return keys.make(tmp_path_factory.mktemp("owner") / "keys", datetime.now(UTC))


@pytest.fixture(scope="module")
def signed(owner: keys.Keys, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `tools/build --sign` makes it: rebuilt modules are signed before the build, the kernel image after it."""
    cache, output = layout.caches(), tmp_path_factory.mktemp("build")
    build.build(build.appliance(cache, output, build.rebuilt_modules(cache, stock=False, owner=owner)), cache)
    return secure_boot.sign(output, NAME, owner, TOOLS, stage.epoch(layout.REPO)) / f"{NAME}.raw"


@pytest.fixture(scope="module")
def machine(signed: Path, accelerator: Accel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    given = credentials(millrace__provision=b"auto")
    directory = tmp_path_factory.mktemp("secure")
    with appliance(
        server_named("5equal"), signed, directory, accelerator, credentials=given, secure_boot=True
    ) as machine:
        # systemd-boot enrols the keys and resets the machine, which ends
        machine.start()
        machine.wait_off()
        yield machine


@pytest.fixture(scope="module")
def box(machine: Appliance) -> Box:
    machine.start()
    box = Box(machine)
    box.wait_serving()
    return box


def test_keys_are_enrolled_and_secure_boot_is_on(box: Box) -> None:
    assert re.search(r"Secure Boot: enabled \(user\)", box.say("bootctl --no-pager status"))
    assert box.say("cat /sys/kernel/security/lockdown") == "none [integrity] confidentiality"


def test_pool_is_built_and_served_under_lockdown(box: Box) -> None:
    box.wait_booted()
    assert box.failed_units() == []
    lines = box.say("journalctl -b -k -o cat").splitlines()
    # out of Debian's tree (O) and not unsigned (E): Documentation/admin-guide/tainted-kernels.rst
    assert box.say("cat /sys/module/nfsd/taint") == "O"
    assert any("Kernel is locked down from EFI Secure Boot" in line for line in lines)
    assert [line for line in lines if RESTRICTED.search(line) and not any(phrase in line for phrase in ASKED)] == []
    # what the kernel does not show is not tried
    left_out = {knob["name"]: knob["reason"] for knob in box.shown("tuner estimate --json")["left_out"]}
    hidden = "/sys/kernel/debug/nfsd/io_cache_read cannot be read: Operation not permitted"
    assert left_out["nfsd.io_cache_read"] == hidden


def test_next_image_key_is_enrolled_in_a_running_server(box: Box, owner: keys.Keys) -> None:
    keys.begin_rotation(owner.directory, datetime.now(UTC))
    write = (owner.directory / "db.auth").read_bytes()
    box.machine.run(ENROL, stdin=base64.b64encode(write).decode())
    content = base64.b64decode(box.say(f"base64 -w0 {DATABASE}"))[4:]
    assert efivars.certificates_in(content) == efivars.certificates_in(efivars.content_of(write))
    assert len(efivars.certificates_in(content)) == 2


def test_a_write_of_another_owner_is_refused(box: Box, tmp_path: Path) -> None:
    stranger = keys.make(tmp_path / "keys", datetime.now(UTC))
    write = (stranger.directory / "db.auth").read_bytes()
    before = box.say(f"base64 -w0 {DATABASE}")
    tried = box.machine.run(ENROL, stdin=base64.b64encode(write).decode(), check=False)
    assert tried.status != 0
    assert box.say(f"base64 -w0 {DATABASE}") == before


def test_an_altered_kernel_image_does_not_boot(box: Box) -> None:
    box.machine.run(["python3", "-c", ALTER])
    box.machine.run("sync -f /boot")
    box.machine.shutdown()
    box.machine.start()
    box.machine.wait_for(lambda: REFUSED.search(box.machine.console), "systemd-boot's refusal", 300)
    assert "login:" not in box.machine.console
    box.machine.power_cut()
