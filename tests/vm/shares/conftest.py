# SPDX-License-Identifier: Apache-2.0
"""One small server with two ports and one client, for every story of shares, users and clients."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.box import CLIENT_ADDRESSES, Box, credentials
from tests.vm.servers import server_named
from tests.vm.shares.words import PASSWORD
from vm.accel import Accel
from vm.appliance import appliance
from vm.client import client as client_machine
from vm.client import give_addresses
from vm.link import Cables
from vm.machine import Machine
from vm.server import Nic


@pytest.fixture(scope="package")
def cables() -> Iterator[Cables]:
    with Cables(2) as both:
        yield both


@pytest.fixture(scope="package")
def box(image: Path, accelerator: Accel, cables: Cables, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    plain = server_named("5equal")
    server = dataclasses.replace(plain, nics=[Nic(node=0), Nic(node=0)])
    given = credentials(millrace__provision=b"auto")
    directory = tmp_path_factory.mktemp("shares")
    with appliance(server, image, directory, accelerator, credentials=given, links=cables.server_ends) as machine:
        machine.start()
        box = Box(machine)
        box.machine.wait_agent()
        box.wait_serving()
        yield box


@pytest.fixture(scope="package")
def client(
    box: Box, client_images: Path, accelerator: Accel, cables: Cables, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machine]:
    directory = tmp_path_factory.mktemp("client")
    with client_machine(client_images, directory, cables.client_ends, accelerator) as machine:
        machine.start()
        give_addresses(machine, [f"{address}/24" for address in CLIENT_ADDRESSES])
        machine.run("umask 077; cat > /run/anna", stdin=f"username=anna\npassword={PASSWORD}\n")
        yield machine


@pytest.fixture(scope="package")
def models(box: Box) -> str:
    """Make the user anna and the share models, which the stories use; return what was said of the share."""
    box.machine.run(["millrace", "user", "create", "anna", "--password-stdin"], stdin=PASSWORD + "\n", seconds=300)
    return box.say("millrace share create models --profile mixed --size 96M --smb-user anna", seconds=600)
