# SPDX-License-Identifier: Apache-2.0
"""A drive is pulled and replaced from the page, in a browser, while a client writes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.console import Console
from tests.browser.fixtures import *  # noqa: F403
from tests.browser.user import User
from tests.vm.blocks import BLOCK, BLOCKS
from tests.vm.box import CLIENT_ADDRESSES, MTU, SERVER_ADDRESSES, Box
from tests.vm.drives.conftest import EXPORT, FIVE, MD, new_drive, serving
from tests.vm.web import console_of, make_patient
from vm.accel import Accel
from vm.client import client as client_machine
from vm.client import give_addresses
from vm.link import Cables
from vm.machine import Machine, free_port

NEW = "MRP00000000001"
FILE = "moving"
SPAN = 64
"""Blocks of the file that is written again and again."""
WHERE = "/mnt/data"

# Each block is read back from the server, not from the client's memory.
WRITER = f"""
import os
{BLOCKS}
file = os.open("{WHERE}/{FILE}", os.O_CREAT | os.O_RDWR | os.O_TRUNC)
log = open("/run/written", "w")
number = 0
while not os.path.exists("/run/enough"):
    at = number % {SPAN} * {BLOCK}
    os.pwrite(file, block(number), at)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    assert os.pread(file, {BLOCK}, at) == block(number), number
    print(number, file=log, flush=True)
    number += 1
"""
READER = f"""
import sys
{BLOCKS}
last = int(sys.argv[1])
with open("{EXPORT}/{FILE}", "rb") as file:
    for place in range(min(last + 1, {SPAN})):
        number = place + (last - place) // {SPAN} * {SPAN}
        assert file.read({BLOCK}) == block(number), number
print("equal")
"""


@pytest.fixture(scope="module")
def cables() -> Iterator[Cables]:
    with Cables(len(FIVE.nics)) as all_of_them:
        yield all_of_them


@pytest.fixture(scope="module")
def port() -> int:
    """The port of the web console on this host."""
    return free_port()


@pytest.fixture(scope="module")
def box(
    image: Path, accelerator: Accel, cables: Cables, port: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Box]:
    directory = tmp_path_factory.mktemp("page")
    with serving(FIVE, image, accelerator, directory, forwards={9090: port}, links=cables.server_ends) as box:
        make_patient(box.machine, accelerator)
        yield box


@pytest.fixture(scope="module")
def console(box: Box, port: int, accelerator: Accel) -> Console:
    """The web console, for browsers."""
    return console_of(box, port, accelerator)


@pytest.fixture(scope="module")
def client(
    client_images: Path, accelerator: Accel, cables: Cables, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machine]:
    directory = tmp_path_factory.mktemp("client")
    with client_machine(client_images, directory, cables.client_ends, accelerator) as machine:
        machine.start()
        give_addresses(machine, [f"{address}/24" for address in CLIENT_ADDRESSES[: len(FIVE.nics)]], MTU)
        yield machine


@contextmanager
def written(box: Box, client: Machine) -> Iterator[None]:
    """The client writes and reads all the time; its blocks are equal on the drives at the end."""
    box.say(f"install -m 666 /dev/null {EXPORT}/{FILE}")
    export = f"{SERVER_ADDRESSES[0]}:{EXPORT}"
    client.run(f"mkdir -p {WHERE}; mount -t nfs4 -o vers=4.2,proto=tcp {export} {WHERE}", seconds=300)
    client.run("rm -f /run/enough; cat > /run/writer.py", stdin=WRITER)
    client.run("systemd-run --unit=moving --remain-after-exit python3 /run/writer.py")
    try:
        client.wait_command("test $(wc -l < /run/written) -ge 10", "ten blocks synced", 300)
        yield
    finally:
        client.run("touch /run/enough")
        client.wait_command(
            "systemctl show -P SubState moving | grep -qxE 'exited|failed'", "the end of the writer", 120
        )
    ended = client.run(
        "systemctl show -P Result moving; journalctl -u moving -o cat | tail -n 5; tail -n 1 /run/written"
    )
    print(ended.out)
    assert ended.out.startswith("success")
    last = ended.out.split()[-1]
    assert int(last) > SPAN
    client.run(f"umount {WHERE}", seconds=300)
    box.say("sync; echo 3 > /proc/sys/vm/drop_caches")
    assert box.machine.run(["python3", "-c", READER, last], seconds=600).out.strip() == "equal"


@pytest.fixture(scope="module")
def lost(box: Box, admin: User) -> str:
    """A member that is pulled while Overview is open."""
    box.machine.wait_command("! grep -E 'resync|recovery|check' /proc/mdstat", "arrays in sync", 900)
    lost = min(box.members_by_serial("data"))
    admin.sign_in()
    admin.go("Overview")
    box.machine.pull(lost)
    box.machine.wait_command(f"grep -qx 1 {MD}/degraded", "the lost member", 120)
    return lost


def test_drive_is_replaced_from_the_page_while_a_client_writes(
    client: Machine, box: Box, admin: User, lost: str
) -> None:
    admin.ours.get_by_role("button", name=f"Replace drive {lost} now").press("Enter")
    dialog = admin.ours.get_by_role("dialog")
    expect(dialog).to_contain_text("Waiting for a new drive")
    start = dialog.get_by_role("button", name="Replace drive", exact=True)
    expect(start).to_be_disabled()
    with written(box, client):
        box.machine.replace(lost, new_drive(NEW))
        expect(dialog.get_by_test_id("arrived")).to_contain_text(NEW)
        expect(start).to_be_enabled()
        assert NEW not in box.members_by_serial("data")
        start.press("Enter")
        expect(dialog).to_contain_text("The change goes on without this page.")
        expect(dialog).to_contain_text(f"Replacement of drive {lost}")
        box.machine.wait_command(f"grep -qx 0 {MD}/degraded", "every member in sync", 900)
        expect(dialog).to_contain_text("has replaced")
    dialog.get_by_text("Close", exact=True).click()
    assert NEW in box.members_by_serial("data") and lost not in box.recorded("data")
    admin.go("Storage")
    # the drive is a spare of the log, too
    expect(admin.ours.locator(f"[data-serial='{NEW}'][data-state='in-sync']")).to_be_visible()
    expect(admin.ours.locator("[data-state='missing']")).to_have_count(0)
