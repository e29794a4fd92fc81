# SPDX-License-Identifier: Apache-2.0
"""One 1U12 from the first power-on to a pulled drive; the files are its stories in their order."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.console import Console
from tests.browser.failed import pytest_exception_interact
from tests.vm.box import ADMIN_PASSWORD, CLIENT_ADDRESSES, MTU, NETWORKS, NEVER, Box, credentials
from tests.vm.life.words import METRICS, PATTERN, PATTERN_MIB, SERVER
from tests.vm.roce import nfs_over_rdma
from tests.vm.web import console_of, make_patient
from vm.accel import Accel
from vm.appliance import appliance
from vm.client import client as client_machine
from vm.client import give_addresses
from vm.console import sign_in
from vm.link import Cables
from vm.machine import Machine, free_port

__all__ = ["pytest_exception_interact"]


@pytest.fixture(scope="package")
def cables() -> Iterator[Cables]:
    with Cables(2) as both:
        yield both


@pytest.fixture(scope="package")
def port() -> int:
    """The port of the web console on this host."""
    return free_port()


@pytest.fixture(scope="package")
def metrics_port() -> int:
    """The port of the metrics on this host."""
    return free_port()


@pytest.fixture(scope="package")
def box(
    image: Path,
    accelerator: Accel,
    cables: Cables,
    port: int,
    metrics_port: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Box]:
    given = credentials()
    # no password is handed in: the appliance makes its own; no policy: NFS is closed until networks are confirmed
    del given["millrace.admin-password"], given["millrace.policy"]
    directory = tmp_path_factory.mktemp("life")
    with appliance(
        SERVER,
        image,
        directory,
        accelerator,
        credentials=given,
        forwards={9090: port, METRICS: metrics_port},
        links=cables.server_ends,
    ) as machine:
        machine.start()
        box = Box(machine)
        box.wait_booted()
        make_patient(machine, accelerator)
        yield box


@pytest.fixture(scope="package")
def console(box: Box, port: int, accelerator: Accel) -> Console:
    """The web console, for browsers."""
    return console_of(box, port, accelerator)


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
def in_use(box: Box, digest: str, one_time: str, port: int) -> Box:
    """The server with an administrator, a pool and client networks, whatever became of the stories in the browser.

    Until the next boot it looks at everything, which takes it 6 s, only where a story wants to know.
    """
    if box.say("getent shadow admin | cut -d: -f3") == "0":
        changed = sign_in(port, "admin", one_time, [ADMIN_PASSWORD, ADMIN_PASSWORD])
        assert (changed.status, bool(changed.cookie)) == (200, True)
    if box.machine.run("test -e /var/lib/millrace/pool.json", check=False).status:
        box.machine.run(["millrace", "approve", digest], seconds=1200)
    box.wait_serving()
    if not box.shown("share networks list --json")["confirmed"]:
        box.millrace(["share", "networks", "set", *NETWORKS], seconds=600)
    box.wait_booted()
    box.look_every(NEVER)
    return box


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


@pytest.fixture(scope="module")
def rdma(in_use: Box, client: Machine) -> None:
    """NFS over RDMA between the server and the client. Of a module: an earlier file may have rebooted the server."""
    nfs_over_rdma(in_use.machine, client)


@pytest.fixture(scope="package")
def pattern(client: Machine) -> str:
    """Make the pattern on the client and return where it is."""
    make = f"""
import random
source = random.Random(7)
with open("{PATTERN}", "wb") as pattern:
    for _ in range({PATTERN_MIB}):
        pattern.write(source.randbytes(1 << 20))
"""
    client.run(["python3", "-c", make], seconds=600)
    return PATTERN
