# SPDX-License-Identifier: Apache-2.0
"""One 1U12 from the first power-on to a pulled drive; the files are its stories in their order."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.box import ADMIN_PASSWORD, CLIENT_ADDRESSES, MTU, Box, credentials
from tests.vm.life.words import SERVER
from vm.accel import Accel
from vm.appliance import appliance
from vm.client import client as client_machine
from vm.client import give_addresses
from vm.link import Cables
from vm.machine import Machine, free_port


@pytest.fixture(scope="package")
def cables() -> Iterator[Cables]:
    with Cables(2) as both:
        yield both


@pytest.fixture(scope="package")
def console() -> int:
    """The port of the web console on this host."""
    return free_port()


@pytest.fixture(scope="package")
def box(
    image: Path, accelerator: Accel, cables: Cables, console: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Box]:
    given = credentials()
    # no password is handed in: the appliance makes its own
    del given["millrace.admin-password"]
    directory = tmp_path_factory.mktemp("life")
    with appliance(
        SERVER, image, directory, accelerator, credentials=given, forwards={9090: console}, links=cables.server_ends
    ) as machine:
        machine.start()
        box = Box(machine)
        box.wait_booted()
        yield box


@pytest.fixture(scope="package")
def digest(box: Box) -> str:
    """The sha256 of the plan that the appliance proposes."""
    return str(box.read_json("cat /run/millrace/plan.json")["sha256"])


@pytest.fixture(scope="package")
def one_time(box: Box, digest: str) -> str:
    """The administrator's password on the console of the first boot."""
    (password,) = set(re.findall(r"One-time password: (\S+)", box.machine.console))
    return str(password)


@pytest.fixture(scope="package")
def client(
    client_images: Path, accelerator: Accel, cables: Cables, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machine]:
    directory = tmp_path_factory.mktemp("client")
    with client_machine(client_images, directory, cables.client_ends, accelerator) as machine:
        machine.start()
        give_addresses(machine, [f"{address}/24" for address in CLIENT_ADDRESSES], MTU)
        password = f"username=admin\npassword={ADMIN_PASSWORD}\n"
        machine.run("umask 077; cat > /run/credentials.smb", stdin=password)
        yield machine
