# SPDX-License-Identifier: Apache-2.0
"""A share over SMB Direct: switched on by the policy, served over RDMA beside Samba, and gone without a trace."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.box import NEVER, SERVER_ADDRESSES, Box, credentials
from tests.vm.roce import fast_port, port_of
from tests.vm.servers import server_named
from vm.accel import Accel
from vm.appliance import appliance
from vm.link import Cables
from vm.machine import Machine
from vm.server import Nic, Node

# two servers; Debian's client has no SMB Direct, so the client is a Millrace without drives
pytestmark = pytest.mark.soak

SERVER = dataclasses.replace(server_named("5equal"), nics=[Nic(node=0)])
# Its second port: the first one has the MAC address of the server's, and soft-RoCE takes that for its own.
CLIENT = dataclasses.replace(
    SERVER, name="without-drives", nodes=(Node(cpus=2, memory="2G"),), drives=(), nics=(Nic(node=0), Nic(node=0))
)
ADDRESS, CLIENT_ADDRESS = SERVER_ADDRESSES[0], "10.77.0.2"
POLICY = '[nfs]\nnetworks = ["10.77.0.0/24"]\n\n[smb_direct]\nports = ["{port}"]\ntrusted_network = true\n'
PASSWORD, OTHER = "correct-horse-9-battery", "another-horse-8-battery"
WHERE, BESIDE = "/run/direct", "/run/samba-share"
LISTENER = "rdma resource show cm_id | grep ':445 ' || true"


@pytest.fixture(scope="module")
def cables() -> Iterator[Cables]:
    """The second one leads nowhere."""
    with Cables(2) as both:
        yield both


@pytest.fixture(scope="module")
def box(image: Path, accelerator: Accel, cables: Cables, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    given = credentials(NEVER, millrace__provision=b"auto")
    with appliance(
        SERVER, image, tmp_path_factory.mktemp("server"), accelerator, credentials=given, links=cables.server_ends[:1]
    ) as machine:
        machine.start()
        box = Box(machine)
        machine.wait_agent()
        box.wait_serving()
        machine.run("millrace user create anna --password-stdin", stdin=f"{PASSWORD}\n", seconds=300)
        yield box


@pytest.fixture(scope="module")
def client(
    image: Path, accelerator: Accel, cables: Cables, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machine]:
    given = credentials(NEVER)
    for number, address in enumerate(("10.77.1.2", CLIENT_ADDRESS)):
        name = f"network.network.50-data{number}"
        given[name] = given[name].replace(SERVER_ADDRESSES[number].encode(), address.encode())
    links = [cables.server_ends[1], cables.client_ends[0]]
    with appliance(
        CLIENT, image, tmp_path_factory.mktemp("client"), accelerator, credentials=given, links=links
    ) as machine:
        machine.start()
        machine.wait_agent()
        Box(machine).wait_booted()
        fast_port(machine, CLIENT_ADDRESS)
        yield machine


def mount(client: Machine, recipe: dict[str, object], password: str, where: str = WHERE) -> int:
    """Mount as the recipe says; return mount's exit status."""
    client.run("cat > /run/direct.credentials", stdin=f"username=anna\npassword={password}\n")
    words = [str(one["option"]) for one in recipe["options"]]  # type: ignore[attr-defined, index]
    options = ",".join([*words, "credentials=/run/direct.credentials"])
    command = (
        f"mkdir -p {where}; chmod 600 /run/direct.credentials; mount -t cifs -o {options} {recipe['source']} {where}"
    )
    return client.run(command, seconds=300, check=False).status


def share_findings(box: Box) -> dict[str, str]:
    """The findings of health about shares that are not good, by key."""
    box.say("systemctl start millrace-health.service", seconds=600)
    found = box.shown("health --json")["findings"]
    return {one["key"]: one["sentence"] for one in found if one["check"] == "shares" and one["level"] != "OK"}


@pytest.fixture(scope="module")
def recipe(box: Box) -> dict[str, object]:
    """The share `fast` over SMB Direct, after what is refused before it; and how a client mounts it."""
    create = "share create fast --type training --no-nfs --smb-user anna --smb-direct"
    refused = box.millrace(create, check=False, seconds=300)
    assert refused.status == 1 and "SMB Direct is off: name its network ports" in refused.err
    port = port_of(box.machine, ADDRESS)
    box.machine.run("cat > /etc/millrace/policy.toml", stdin=POLICY.format(port=port))
    refused = box.millrace(create, check=False, seconds=300)
    assert refused.status == 1 and f"{port} has no RDMA device" in refused.err
    fast_port(box.machine, ADDRESS)
    assert "SMB Direct: test mount of fast" in box.millrace(create, seconds=600).out
    return json.loads(box.millrace("client recipe --share fast --protocol smb-rdma --workload training --json").out)  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def mounted(client: Machine, recipe: dict[str, object]) -> Iterator[None]:
    status = mount(client, recipe, PASSWORD)
    assert status == 0, client.run("dmesg | tail -n 30").out
    yield
    client.run(f"umount {WHERE}", seconds=300, check=False)


def test_client_writes_and_reads_over_rdma_what_the_server_has(box: Box, client: Machine, mounted: None) -> None:
    assert f" {WHERE} cifs " in (line := client.run(f"grep ' {WHERE} ' /proc/mounts").out) and ",rdma," in line
    client.run(f"head -c 32M /dev/urandom > {WHERE}/random && sync {WHERE}/random", seconds=600)
    digest = client.run(f"sha256sum < {WHERE}/random", seconds=300).out
    assert box.say("sha256sum < /srv/pool/fast/random", seconds=300) == digest.strip()
    assert box.say("stat -c %U /srv/pool/fast/random") == "anna"
    verified = (
        "--rw=randwrite --bs=64k --size=32M --verify=crc32c --do_verify=1 --direct=1 --ioengine=libaio --iodepth=8"
    )
    client.run(f"fio --name=sums --filename={WHERE}/sums --output-format=json {verified}", seconds=900)
    # nothing of it went over TCP
    assert client.run("ss -Htn state established dport = 445").out == ""
    sent = int(client.run("cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts").out)
    assert sent * 4096 > 64 << 20


def test_samba_serves_its_own_share_beside_it(box: Box, client: Machine, mounted: None) -> None:
    box.millrace("share set data --smb-user anna", seconds=600)
    options = "vers=3.1.1,seal,credentials=/run/direct.credentials"
    client.run(f"mkdir -p {BESIDE}; mount -t cifs -o {options} //{ADDRESS}/data {BESIDE}", seconds=300)
    client.run(f"echo beside > {BESIDE}/beside; umount {BESIDE}", seconds=300)
    assert box.say("cat /srv/pool/data/beside") == "beside"
    # one server for each share
    refused = client.run(f"mount -t cifs -o {options} //{ADDRESS}/fast {BESIDE}", seconds=300, check=False)
    assert refused.status != 0


def test_sessions_and_health_show_it_like_the_others(box: Box, mounted: None) -> None:
    (session,) = [one for one in box.shown("session list --json")["sessions"] if one["transport"] == "rdma"]
    assert (session["protocol"], session["name"], session["host"]) == ("smb", "anna", CLIENT_ADDRESS)
    assert session["encryption"] is None
    assert share_findings(box) == {}
    verified = box.shown("share verify fast --json")["shares"]
    assert [one["problem"] for one in verified] == [None] and "SMB Direct" in verified[0]["seen"][-1]
    assert "millrace-check" not in box.say(
        "cat /run/millrace/millrace-smb-direct.users /run/millrace/millrace-smb-direct.conf"
    )


def test_changed_password_and_people_hold_at_once(box: Box, client: Machine, recipe: dict[str, object]) -> None:
    client.run(f"umount {WHERE}", seconds=300, check=False)
    box.machine.run("millrace user passwd anna --password-stdin", stdin=f"{OTHER}\n", seconds=300)
    box.machine.wait_command("! systemctl show -P Job millrace-smb-direct.service | grep -q .", "the new password", 120)
    assert mount(client, recipe, PASSWORD) != 0
    assert mount(client, recipe, OTHER) == 0
    box.millrace("share set fast --smb-user admin", seconds=600)
    assert client.run(f"ls {WHERE}", seconds=300, check=False).status != 0
    client.run(f"umount -l {WHERE}", seconds=300, check=False)
    assert mount(client, recipe, OTHER) != 0
    box.millrace("share set fast --smb-user anna", seconds=600)


def test_server_without_its_rdma_device_says_so_and_serves_again_with_it(
    box: Box, client: Machine, recipe: dict[str, object]
) -> None:
    box.machine.reboot()
    box.wait_serving()
    # soft-RoCE is of the boot that made it
    assert box.say("systemctl is-active millrace-smb-direct.service || true") == "inactive"
    (sentence,) = share_findings(box).values()
    assert "fast is not served over SMB Direct" in sentence and "has no RDMA device" in sentence
    fast_port(box.machine, ADDRESS)
    box.millrace("share render", seconds=600)
    # begun, and not waited for: it runs within the boot too
    box.machine.wait_command("rdma resource show cm_id | grep -q ':445 '", "the listener", 120)
    assert mount(client, recipe, OTHER) == 0
    assert client.run(f"ls {WHERE}", seconds=300).out.split() == ["random", "sums"]
    client.run(f"umount {WHERE}", seconds=300)


def test_share_that_goes_back_to_samba_leaves_no_listener_module_or_file(box: Box, client: Machine) -> None:
    assert box.say(LISTENER) != ""
    box.millrace("share set fast --no-smb-direct", seconds=600)
    assert box.say(LISTENER) == ""
    box.machine.wait_command("test ! -e /sys/module/ksmbd", "the end of the module", 60)
    assert box.say("systemctl is-active millrace-smb-direct.service millrace-module@ksmbd.service || true").split() == [
        "inactive",
        "inactive",
    ]
    assert box.say("ls /run/millrace/millrace-smb-direct.* 2>/dev/null || true") == ""
    assert box.failed_units() == []
    options = "vers=3.1.1,seal,credentials=/run/direct.credentials"
    client.run(f"mount -t cifs -o {options} //{ADDRESS}/fast {BESIDE}", seconds=300)
    assert client.run(f"ls {BESIDE}", seconds=300).out.split() == ["random", "sums"]
    client.run(f"umount {BESIDE}", seconds=300)
