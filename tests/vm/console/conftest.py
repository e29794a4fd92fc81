# SPDX-License-Identifier: Apache-2.0
"""The stories of tests/browser on a booted server, which nobody has used yet, with a client beside it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.browser.console import CHROMIUM, Console
from tests.browser.failed import pytest_exception_interact
from tests.vm.box import CLIENT_ADDRESSES, Box, credentials
from tests.vm.servers import server_named
from vm.accel import Accel
from vm.appliance import appliance
from vm.client import client as client_machine
from vm.client import give_addresses
from vm.link import Cables
from vm.machine import Machine, free_port
from vm.server import Server

__all__ = ["pytest_exception_interact"]

# An emulated server is that much slower than a real one; what a page waits for is waited for at most 4 minutes.
EMULATED = 24.0
# Cockpit gives up after a minute where Python alone takes seconds to start, and ends sessions that only watch.
PATIENT = "IdleTimeout = 240\n\n[basic]\ntimeout = 280\n"


@pytest.fixture(scope="module")
def server() -> Server:
    return server_named("1u12")


@pytest.fixture(scope="module")
def port() -> int:
    """The port of the web console on this host."""
    return free_port()


@pytest.fixture(scope="module")
def box(
    image: Path,
    accelerator: Accel,
    cables: Cables,
    server: Server,
    port: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Box]:
    given = credentials()
    # no password is handed in: the appliance makes its own
    del given["millrace.admin-password"]
    directory = tmp_path_factory.mktemp("console")
    links, forwards = cables.server_ends, {9090: port}
    with appliance(server, image, directory, accelerator, credentials=given, links=links, forwards=forwards) as machine:
        machine.start()
        box = Box(machine)
        box.wait_booted()
        if accelerator.name == "tcg":
            machine.run(
                "sed -i '/^IdleTimeout/d' /etc/cockpit/cockpit.conf; cat >> /etc/cockpit/cockpit.conf", stdin=PATIENT
            )
        yield box


@pytest.fixture(scope="module")
def client(
    box: Box, client_images: Path, accelerator: Accel, cables: Cables, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machine]:
    directory = tmp_path_factory.mktemp("client")
    with client_machine(client_images, directory, cables.client_ends, accelerator) as machine:
        machine.start()
        give_addresses(machine, [f"{address}/24" for address in CLIENT_ADDRESSES])
        yield machine


@pytest.fixture(scope="module")
def console(box: Box, port: int, accelerator: Accel) -> Console:
    def run(argv: Sequence[str], stdin: str) -> str:
        return box.machine.run(argv, stdin=stdin, seconds=300).out

    slowness = EMULATED * accelerator.scale if accelerator.name == "tcg" else 1.0
    return Console(f"https://127.0.0.1:{port}", CHROMIUM, run, slowness)
