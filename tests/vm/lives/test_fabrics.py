# SPDX-License-Identifier: Apache-2.0
"""A pool on a volume of another Millrace: connected, served while the target restarts, and moved to a third server."""

import dataclasses
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from millrace.system.errors import Failed
from tests.vm.box import MTU, NETWORKS, NEVER, SERVER_ADDRESSES, Box, credentials, data_networks
from tests.vm.roce import fast_port, opened, port_of
from tests.vm.servers import server_named
from vm.accel import Accel
from vm.appliance import appliance
from vm.client import client as client_machine
from vm.client import give_addresses
from vm.link import Cables
from vm.machine import Machine
from vm.server import Nic, Node

# two servers and a client; eight boots, two of which build a pool
pytestmark = pytest.mark.soak

TARGET = dataclasses.replace(server_named("5equal"), nics=[Nic(node=0), Nic(node=0)])
# It has no drive of its own. Its first port leads to the client, the others to the target: soft-RoCE takes a port of
# the same number at the other end for its own, because it has the same MAC address.
SERVER = dataclasses.replace(
    TARGET,
    name="without-drives",
    nodes=(Node(cpus=2, memory="2G"),),
    drives=(),
    nics=(Nic(node=0), Nic(node=0), Nic(node=0)),
)
ADDRESS, CLIENT = "10.78.0.1", "10.78.0.2"
TO_TARGET = ("10.77.0.5", "10.77.1.5")
WHERE = "/mnt/data"
# A real port has its RDMA device at each boot.
SOFT_ROCE = "/etc/systemd/system/soft-roce.service"
AT_BOOT = """
[Unit]
After=network.target
Before=millrace-backend.service

[Service]
Type=oneshot
ExecStart=modprobe rdma_rxe
ExecStart=rdma link add rxe0 type rxe netdev {port}

[Install]
WantedBy=multi-user.target
"""
POLICY = """
[nfs]
networks = ["10.78.0.0/24"]

[layout]
backend = "external"

[external]
devices = ["{device}"]
"""


@pytest.fixture(scope="module")
def cables() -> Iterator[Cables]:
    """The first two are between both servers, the third one leads to the client."""
    with Cables(3) as all_of_them:
        yield all_of_them


@pytest.fixture(scope="module")
def target(image: Path, accelerator: Accel, cables: Cables, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    given = credentials(NEVER, millrace__provision=b"auto")
    directory = tmp_path_factory.mktemp("target")
    with appliance(TARGET, image, directory, accelerator, credentials=given, links=cables.server_ends[:2]) as machine:
        machine.start()
        box = Box(machine)
        machine.wait_agent()
        box.wait_serving()
        yield box


@contextmanager
def without_drives(image: Path, accelerator: Accel, cables: Cables, directory: Path) -> Iterator[Box]:
    """A server between the target and the client."""
    given = credentials(NEVER)
    given |= data_networks((ADDRESS, *TO_TARGET))
    given["millrace.policy"] = b'[nfs]\nnetworks = ["10.78.0.0/24"]\n'
    links = [cables.server_ends[2], *cables.client_ends[:2]]
    with appliance(SERVER, image, directory, accelerator, credentials=given, links=links) as machine:
        machine.start()
        box = Box(machine)
        machine.wait_agent()
        box.wait_booted()
        yield box


@pytest.fixture(scope="module")
def box(
    image: Path, accelerator: Accel, cables: Cables, target: Box, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Box]:
    with without_drives(image, accelerator, cables, tmp_path_factory.mktemp("first")) as box:
        yield box


@pytest.fixture(scope="module")
def client(
    client_images: Path, accelerator: Accel, cables: Cables, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machine]:
    links = cables.client_ends[2:]
    with client_machine(client_images, tmp_path_factory.mktemp("client"), links, accelerator) as machine:
        machine.start()
        give_addresses(machine, [f"{CLIENT}/24"], MTU)
        yield machine


def connect(target: Box, box: Box, verb: str, transport: str, addresses: Sequence[str]) -> tuple[str, str]:
    """Let a server connect a volume of the target, and connect it; its NQN, and its device by a name that stays."""
    host = box.shown("backend list --json")["host_nqn"]
    hosts = " ".join((f"--host {host}", *(f"--address {network}" for network in NETWORKS)))
    made = json.loads(target.millrace(f"volume {verb} {hosts} --json", seconds=900).out)["volume"]
    where = " ".join(f"--address {address}" for address in addresses)
    words = f"backend connect {made['nqn']} {where} --transport {transport} --port {made['export']['port']} --json"
    (device,) = json.loads(box.millrace(words, seconds=300).out)["connection"]["namespaces"]
    box.machine.wait_command(f"test -b {device['device']}", "the name of the device", 120)
    return made["nqn"], device["device"]


def findings(box: Box) -> list[dict[str, str]]:
    box.say("systemctl start millrace-health.service", seconds=600)
    return list(box.shown("health --json")["findings"])


def failures(box: Box) -> list[dict[str, str]]:
    return [one for one in findings(box) if one["level"] == "FAIL"]


@pytest.fixture(scope="module")
def pool(target: Box, box: Box, client: Machine) -> str:
    """The pool of the server lies on the volume, over two paths, and the client has a file on it; its digest."""
    _, device = connect(target, box, "create tank --size 1G --export tcp", "tcp", SERVER_ADDRESSES)
    box.machine.run("cat > /etc/millrace/policy.toml", stdin=POLICY.format(device=device))
    box.millrace("plan --again", seconds=600)
    digest = box.read_json("cat /run/millrace/plan.json")["sha256"]
    box.millrace(["approve", digest], seconds=900)
    box.wait_serving()
    client.run(f"mkdir -p {WHERE} && mount -t nfs4 -o vers=4.2,hard {ADDRESS}:/srv/pool/data {WHERE}", seconds=300)
    client.run(f"head -c 16M /dev/urandom > {WHERE}/kept && sync {WHERE}/kept", seconds=600)
    return client.run(f"sha256sum < {WHERE}/kept", seconds=300).out.strip()


def test_mistakes_are_one_sentence_and_change_nothing(target: Box, box: Box) -> None:
    wrong = [
        ("backend connect tank --address 10.77.0.1", 2, "is not an NQN"),
        ("backend connect nqn.2014-08.org.nvmexpress:uuid:none --address nas", 2, "is not an address"),
        ("backend connect nqn.2014-08.org.nvmexpress:uuid:none --address 10.77.0.1", 1, "nothing answers there"),
        ("backend disconnect nqn.2014-08.org.nvmexpress:uuid:none", 1, "is not connected by Millrace"),
    ]
    for words, status, said in wrong:
        done = box.millrace(words, check=False, seconds=300)
        assert (done.status, done.err.count("\n")) == (status, 1) and said in done.err, done
    assert box.shown("backend list --json")["connections"] == []
    assert box.say("ls /var/lib/millrace/backend 2>/dev/null; true") == ""


def test_pool_on_the_volume_is_served(pool: str, box: Box, client: Machine) -> None:
    assert box.pool["backend"] == "external"
    source = box.say("findmnt -no SOURCE /srv/pool")
    assert source.startswith("/dev/nvme"), source
    assert failures(box) == []
    assert box.failed_units() == []


def test_volume_that_carries_the_pool_is_not_disconnected(pool: str, box: Box) -> None:
    (one,) = box.shown("backend list --json")["connections"]
    assert [path["state"] for path in one["paths"]] == ["live"] * len(SERVER_ADDRESSES)
    done = box.millrace(f"backend disconnect {one['nqn']}", check=False)
    assert done.status == 1 and "the pool lies on" in done.err


def test_client_goes_on_while_the_target_restarts(pool: str, target: Box, box: Box, client: Machine) -> None:
    client.run(
        f"systemd-run --unit=writer sh -c 'n=0; while :; do n=$((n+1)); echo $n >> {WHERE}/counted || exit 1; "
        f"sync {WHERE}/counted || exit 1; sleep 1; done'"
    )
    target.machine.reboot()
    away = [finding for finding in failures(box) if finding["check"] == "connections"]
    assert away and away[0]["todo"], away
    target.wait_serving()
    line = f"tail -n 1 {WHERE}/counted"
    before = int(client.run(line, seconds=900).out)
    deadline = time.monotonic() + 300 * client.accel.scale
    while int(client.run(line, seconds=900).out) <= before:
        assert time.monotonic() < deadline, "the writer stands still"
        time.sleep(3)
    assert client.run("systemctl is-active writer").out.strip() == "active"
    client.run("systemctl stop writer")
    lines = client.run(f"cat {WHERE}/counted", seconds=300).out.split()
    assert lines == [str(number + 1) for number in range(len(lines))]
    assert client.run(f"sha256sum < {WHERE}/kept", seconds=300).out.strip() == pool
    assert box.say("grep ' /srv/pool ' /proc/mounts | grep -c ' ro,'; true") == "0"


def test_server_connects_and_serves_again_after_a_reboot(pool: str, box: Box, client: Machine) -> None:
    box.machine.reboot()
    box.wait_serving()
    box.wait_booted()
    box.see_stopped_whole()
    assert client.run(f"sha256sum < {WHERE}/kept", seconds=900).out.strip() == pool
    assert failures(box) == []
    assert box.failed_units() == []


@contextmanager
def scratch(target: Box, box: Box, transport: str, addresses: Sequence[str]) -> Iterator[tuple[str, str]]:
    """A further volume of the target, connected over these addresses; its NQN and its device."""
    nqn, device = connect(target, box, f"create scratch --size 64M --export {transport}", transport, addresses)
    yield nqn, device
    box.millrace(f"backend disconnect {nqn}", seconds=300)
    box.machine.wait_command(f"test ! -e {device}", "the end of the device", 120)
    target.millrace("volume remove scratch --delete-data scratch", seconds=600)


def states(box: Box, nqn: str) -> dict[str, str]:
    """The state of each path of a connection, by its address."""
    (one,) = [one for one in box.shown("backend list --json")["connections"] if one["nqn"] == nqn]
    return {path["address"]: path["state"] for path in one["paths"]}


def path_is(box: Box, nqn: str, address: str, live: bool) -> None:
    what = f"{address} to be {'there again' if live else 'away'}"
    box.machine.wait_for(lambda: (states(box, nqn)[address] == "live") == live, what, 300)


def test_volume_with_two_paths_is_one_device_and_outlives_each_of_them(pool: str, target: Box, box: Box) -> None:
    with scratch(target, box, "tcp", SERVER_ADDRESSES) as (nqn, device):
        assert set(states(box, nqn).values()) == {"live"}
        # written and read back with checksums for as long as both cuts take
        verified = (
            f"fio --name=verified --filename={device} --rw=randwrite --bs=64k --size=32m --direct=1 --verify=crc32c "
            "--verify_backlog=64 --verify_state_save=0"
        )
        box.say(f"systemd-run --unit=verified sh -c 'until test -e /run/enough; do {verified} || exit 1; done'")
        for address in SERVER_ADDRESSES:
            port = port_of(target.machine, address)
            target.say(f"ip link set {port} down")
            path_is(box, nqn, address, live=False)
            (warned,) = [
                finding for finding in findings(box) if finding["check"] == "connections" and finding["subject"] == nqn
            ]
            assert warned["level"] == "WARN" and f"is not connected over {address} port" in warned["sentence"]
            written = f"cat /sys/block/{Path(box.say(f'readlink -f {device}')).name}/stat"
            before = box.say(written)
            box.say("sleep 10")
            assert box.say(written) != before, "nothing is written over the other path"
            target.say(f"ip link set {port} up")
            path_is(box, nqn, address, live=True)
        assert box.say("systemctl is-active verified.service") == "active"
        box.say("touch /run/enough")
        ended = "systemctl show --property=SubState --value verified.service | grep -qx dead"
        box.machine.wait_command(ended, "the last of the checksums", 300)
        assert "Failed with result" not in box.say("journalctl -u verified.service")


def test_volume_over_rdma_is_read_as_it_was_written(pool: str, target: Box, box: Box) -> None:
    for machine, address in ((target.machine, SERVER_ADDRESSES[0]), (box.machine, TO_TARGET[0])):
        fast_port(machine, address)
    with scratch(target, box, "rdma", SERVER_ADDRESSES[:1]) as (nqn, device):
        assert list(states(box, nqn).values()) == ["live"]
        box.say(
            f"head -c 16M /dev/urandom > /run/written; dd if=/run/written of={device} bs=1M oflag=direct conv=fsync"
        )
        box.say(f"dd if={device} bs=1M count=16 iflag=direct | cmp - /run/written; rm /run/written", seconds=600)
        (connection,) = [
            connection for connection in box.shown("backend list --json")["connections"] if connection["nqn"] == nqn
        ]
        listener = f"rdma resource show cm_id | grep ':{connection['port']} ' || true"
        assert target.say(listener) != ""
        packets = "cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts"
        assert int(box.say(packets)) > 16 * 1024 * 1024 / 4096
    assert target.say(listener) == ""


def test_pool_moves_to_another_server(
    pool: str,
    target: Box,
    box: Box,
    client: Machine,
    image: Path,
    accelerator: Accel,
    cables: Cables,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    fsid = box.say("exportfs -s | grep -o '^/srv/pool/data.*fsid=[^,]*'")
    host = box.say("cat /proc/sys/kernel/hostname")
    with suppress(Failed):
        # the agent may go down before the verb has ended
        done = box.millrace(["reset", "start", f"--host={host}"], seconds=600, check=False)
        assert done.status == 0, done.err
    box.machine.wait_off()
    (volume,) = target.shown("volume list --json")["volumes"]
    assert volume["connected"] == []
    with without_drives(image, accelerator, cables, tmp_path_factory.mktemp("second")) as other:
        assert other.say("cat /proc/sys/kernel/hostname") != host
        other.machine.run(f"cat > {SOFT_ROCE}", stdin=AT_BOOT.format(port=port_of(other.machine, TO_TARGET[0])))
        other.say("systemctl enable --now soft-roce.service")
        opened(other.machine)
        nqn, _ = connect(target, other, "export tank --transport rdma", "rdma", SERVER_ADDRESSES[:1])
        report = other.shown("pool find --json")
        assert report["problem"] is None, report
        other.millrace("pool adopt --yes", seconds=900)
        other.wait_serving()
        assert other.say("exportfs -s | grep -o '^/srv/pool/data.*fsid=[^,]*'") == fsid
        assert client.run(f"sha256sum < {WHERE}/kept", seconds=900).out.strip() == pool
        assert failures(other) == []
        other.machine.reboot()
        other.wait_serving()
        assert states(other, nqn) == {SERVER_ADDRESSES[0]: "live"}
        assert client.run(f"sha256sum < {WHERE}/kept", seconds=900).out.strip() == pool
        other.wait_booted()
        assert other.failed_units() == []
