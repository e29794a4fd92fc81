# SPDX-License-Identifier: Apache-2.0
"""Files go from one Millrace to another with no client in between: asked for by a client, or by the server."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.box import MTU, NEVER, SERVER_ADDRESSES, Box, credentials
from tests.vm.servers import server_named
from vm.accel import Accel
from vm.appliance import appliance
from vm.client import client as client_machine
from vm.client import give_addresses
from vm.link import Cables
from vm.machine import Machine
from vm.server import Nic

# two servers and a client
pytestmark = pytest.mark.soak

SERVER = dataclasses.replace(server_named("5equal"), nics=[Nic(node=0), Nic(node=0)])
# The source is known by its first address, which leads to the destination; the client has a route to it.
SOURCE, SOURCE_TO_CLIENT = SERVER_ADDRESSES
DESTINATION, TO_SOURCE = "10.78.0.1", "10.77.0.5"
CLIENT = ("10.78.0.2", "10.77.1.2")
FROM, TO = "/mnt/from", "/mnt/to"
SWITCH = "/sys/module/nfsd/parameters/inter_copy_offload_enable"
POLICY = '[nfs]\nnetworks = ["10.78.0.0/24"]\ncopy_from = [{servers}]\n'
MIB = 64


@pytest.fixture(scope="module")
def cables() -> Iterator[Cables]:
    """Between both servers; from the destination to the client; from the source to the client."""
    with Cables(3) as all_three:
        yield all_three


@pytest.fixture(scope="module")
def source(image: Path, accelerator: Accel, cables: Cables, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    given = credentials(NEVER, millrace__provision=b"auto")
    links = [cables.server_ends[0], cables.server_ends[2]]
    with appliance(
        SERVER, image, tmp_path_factory.mktemp("source"), accelerator, credentials=given, links=links
    ) as machine:
        machine.start()
        box = Box(machine)
        machine.wait_agent()
        box.wait_serving()
        box.say(f"head -c {MIB}M /dev/urandom > /srv/pool/data/large && chmod 644 /srv/pool/data/large", seconds=600)
        yield box


@pytest.fixture(scope="module")
def box(image: Path, accelerator: Accel, cables: Cables, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    given = credentials(NEVER, millrace__provision=b"auto")
    for number, address in enumerate((DESTINATION, TO_SOURCE)):
        name = f"network.network.50-data{number}"
        given[name] = given[name].replace(SERVER_ADDRESSES[number].encode(), address.encode())
    given["millrace.policy"] = POLICY.format(servers="").encode()
    links = [cables.server_ends[1], cables.client_ends[0]]
    with appliance(
        SERVER, image, tmp_path_factory.mktemp("destination"), accelerator, credentials=given, links=links
    ) as machine:
        machine.start()
        box = Box(machine)
        machine.wait_agent()
        box.wait_serving()
        yield box


@pytest.fixture(scope="module")
def client(
    client_images: Path, accelerator: Accel, cables: Cables, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machine]:
    links = [cables.client_ends[1], cables.client_ends[2]]
    with client_machine(client_images, tmp_path_factory.mktemp("client"), links, accelerator) as machine:
        machine.start()
        give_addresses(machine, [f"{address}/24" for address in CLIENT], MTU)
        machine.run(f"ip route replace {SOURCE} via {SOURCE_TO_CLIENT}")
        yield machine


@pytest.fixture
def mounted(source: Box, box: Box, client: Machine) -> Iterator[None]:
    for server, where in ((SOURCE, FROM), (DESTINATION, TO)):
        client.run(f"mkdir -p {where}; mount -t nfs4 -o vers=4.2 {server}:/srv/pool/data {where}", seconds=300)
    yield
    client.run(f"umount {FROM} {TO}", seconds=300)


def name_servers(box: Box, *servers: str) -> None:
    """Let the policy name these servers to copy from."""
    named = ", ".join(f'"{one}"' for one in servers)
    box.machine.run("cat > /etc/millrace/policy.toml", stdin=POLICY.format(servers=named))
    box.millrace("tune", seconds=600)


def passed(client: Machine) -> int:
    """Bytes that READ and WRITE of both mounts have moved (/proc/self/mountstats)."""
    command = (
        f'for at in {FROM} {TO}; do grep -A 200 " mounted on $at " /proc/self/mountstats | grep -m 1 bytes: ; done'
    )
    # normal, direct, and then what passed between client and server; each read and written
    lines = client.run(command, seconds=300).out.splitlines()
    return sum(int(figure) for line in lines for figure in line.split()[5:7])


def test_server_that_the_policy_does_not_name_is_not_connected_to(box: Box, client: Machine, mounted: None) -> None:
    refused = box.millrace(f"share copy {SOURCE}:/srv/pool/data data", seconds=300, check=False)
    assert refused.status == 1 and f"the policy does not name {SOURCE}" in refused.err
    # as if somebody had switched it on by hand: the firewall knows no server
    box.say(f"test ! -e {SWITCH} || echo Y > {SWITCH}")
    client.run(f"timeout 120 cp {FROM}/large {TO}/refused; true", seconds=300)
    assert box.say(f"ss -Htn state established dst {SOURCE}") == ""
    client.run(f"rm -f {TO}/refused", seconds=300)


def test_client_of_both_servers_passes_no_data(source: Box, box: Box, client: Machine, mounted: None) -> None:
    name_servers(box, SOURCE)
    assert SOURCE in box.say("nft list set inet millrace copy_sources4")
    if box.say(f"test -e {SWITCH} && echo there || true") != "there":
        pytest.skip("the image has Debian's nfsd; tools/build without --stock-modules has one with inter-server copy")
    assert box.say(f"cat {SWITCH}") == "Y"
    before = passed(client)
    client.run(f"cp {FROM}/large {TO}/large", seconds=900)
    assert passed(client) == before
    digest = source.say("sha256sum < /srv/pool/data/large", seconds=600)
    assert box.say("sha256sum < /srv/pool/data/large", seconds=600) == digest
    name_servers(box)
    assert box.say(f"cat {SWITCH}") == "N"
    box.say("rm /srv/pool/data/large")


def test_copy_that_was_killed_goes_on_where_it_was(source: Box, box: Box) -> None:
    name_servers(box, SOURCE)
    command = f"millrace share copy {SOURCE}:/srv/pool/data data --json"
    box.say(f"{command} > /run/copy.out 2>&1 &")
    partial = "/srv/pool/data/.millrace-copy-*"
    box.machine.wait_command(f"test $(stat -c %s {partial}) -ge {4 << 20}", "a part of the file", 300)
    box.say("systemctl kill --signal=KILL millrace-copy.service")
    box.machine.wait_command("! systemctl is-active --quiet millrace-copy.service", "the end of the copy", 60)
    (job,) = [job for job in box.shown("job list --json")["jobs"] if job["name"] == "copy"]
    assert job["state"] == "interrupted"
    box.say(f"test ! -e /srv/pool/data/large && ls {partial}")
    said = box.millrace(f"share copy {SOURCE}:/srv/pool/data data", seconds=900)
    assert f"{SOURCE}:/srv/pool/data is copied to data" in said.out
    digest = source.say("sha256sum < /srv/pool/data/large", seconds=600)
    assert box.say("sha256sum < /srv/pool/data/large", seconds=600) == digest
    assert box.say(f"ls {partial} 2>/dev/null || true") == ""
    assert "1 files of an earlier copy" in box.millrace(f"share copy {SOURCE}:/srv/pool/data data", seconds=900).out
