# SPDX-License-Identifier: Apache-2.0
"""One small server with two ports and one client, for every story of shares, users and clients."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.box import CLIENT_ADDRESSES, MTU, Box, credentials
from tests.vm.servers import server_named
from tests.vm.shares.words import HOST, MORE_ADDRESSES, PASSWORD
from vm.accel import Accel
from vm.appliance import Appliance, appliance
from vm.client import client as client_machine
from vm.client import give_addresses
from vm.link import Cables
from vm.machine import Machine
from vm.server import Nic


@pytest.fixture(scope="package")
def cables() -> Iterator[Cables]:
    with Cables(2) as both:
        yield both


@dataclasses.dataclass(frozen=True)
class Pair:
    """The two virtual machines, switched on at the same time."""

    server: Appliance
    client: Machine


@pytest.fixture(scope="package")
def pair(
    image: Path, client_images: Path, accelerator: Accel, cables: Cables, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    server = dataclasses.replace(server_named("5equal"), nics=[Nic(node=0), Nic(node=0)])
    # A look at everything takes this server 5 s. Whoever of these stories wants to know looks for itself, as root.
    given = credentials(millrace__provision=b"auto")
    directory = tmp_path_factory.mktemp("shares")
    with (
        appliance(server, image, directory, accelerator, credentials=given, links=cables.server_ends) as box,
        client_machine(client_images, tmp_path_factory.mktemp("client"), cables.client_ends, accelerator) as client,
    ):
        box.start()
        client.start()
        yield Pair(box, client)


@pytest.fixture(scope="package")
def box(pair: Pair) -> Box:
    box = Box(pair.server)
    box.machine.wait_agent()
    box.wait_serving()
    return box


@pytest.fixture(scope="package")
def client(box: Box, pair: Pair) -> Machine:
    give_addresses(pair.client, [f"{address}/24" for address in CLIENT_ADDRESSES], MTU)
    pair.client.run("umask 077; cat > /run/anna", stdin=f"username=anna\npassword={PASSWORD}\n")
    return pair.client


@pytest.fixture(scope="module")
def in_sync(box: Box) -> None:
    """No array is being synchronised, as each is after it was made: its reads and writes are those of clients."""
    box.machine.wait_command("! grep -E '(resync|recovery|check) =' /proc/mdstat", "arrays in sync", 1800)


@pytest.fixture(scope="package")
def models(box: Box) -> str:
    """Make the user anna and the share models, which the stories use; return what was said of the share."""
    box.machine.run(["millrace", "user", "create", "anna", "--password-stdin"], stdin=PASSWORD + "\n", seconds=300)
    return box.millrace("share create models --type mixed --size 96M --smb-user anna", seconds=600).out


@pytest.fixture(scope="package")
def trunk(box: Box, client: Machine) -> list[str]:
    """Give the first port three secondary addresses, as session trunking wants them; return what was said."""
    name = box.say(f"ip -o -4 address show to {HOST} | awk '{{print $2}}'")
    wanted = " ".join(f"--address {address}/24" for address in (HOST, *MORE_ADDRESSES))
    return box.change_network(f"set {name} {wanted}").out.splitlines()
