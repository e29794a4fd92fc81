# SPDX-License-Identifier: Apache-2.0
"""A 1U12 from the first power-on to a client's data, a reboot and a power cut. The stories build on each other."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from tests.vm import measured, promises, seen
from tests.vm.box import ADMIN_PASSWORD, CLIENT_ADDRESSES, SERVER_ADDRESSES, Box, credentials
from tests.vm.servers import server_named
from tests.vm.unproven import unproven
from vm.accel import Accel
from vm.appliance import appliance
from vm.client import client as client_machine
from vm.client import give_addresses
from vm.link import Cables
from vm.machine import Machine

EXPORT = "/srv/pool/data"
MOUNTPOINT = "/mnt/data"
PROTOCOLS = ("nfs-tcp", "nfs-rdma", "smb")
PATTERN_MIB = 256
MIB = 1 << 20


@pytest.fixture(scope="module")
def box(image: Path, accelerator: Accel, cables: Cables, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    given = credentials(millrace__provision=b"auto")
    directory = tmp_path_factory.mktemp("1u12")
    server = server_named("1u12")
    with appliance(server, image, directory, accelerator, credentials=given, links=cables.server_ends) as machine:
        machine.start()
        yield Box(machine)


@pytest.fixture(scope="module")
def client(
    box: Box, client_images: Path, accelerator: Accel, cables: Cables, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machine]:
    directory = tmp_path_factory.mktemp("client")
    with client_machine(client_images, directory, cables.client_ends, accelerator) as machine:
        machine.start()
        give_addresses(machine, [f"{address}/24" for address in CLIENT_ADDRESSES])
        password = f"username=admin\npassword={ADMIN_PASSWORD}\n"
        machine.run("umask 077; cat > /run/credentials.smb", stdin=password)
        yield machine


def test_cold_boot_ends_serving(box: Box) -> None:
    box.machine.wait_agent()
    box.wait_serving()
    box.wait_booted()


def test_no_unit_failed(box: Box) -> None:
    assert box.failed_units() == []


def test_plan_is_raid6_of_ten_with_a_mirrored_log(box: Box) -> None:
    plan = box.plan
    arrays = {array["name"]: array for array in plan["arrays"]}
    assert (arrays["data"]["level"], len(arrays["data"]["members"])) == ("raid6", 10)
    assert arrays["data"]["chunk"] == 128 * 1024
    assert (arrays["log"]["level"], len(arrays["log"]["members"])) == ("raid1", 2)
    assert all(decision["reason"] and decision["source"] for decision in plan["decisions"])


def test_arrays_equal_the_plan(box: Box) -> None:
    promises.arrays_equal_the_plan(box)


def test_drives_carry_labels_that_name_their_owner(box: Box) -> None:
    labels = box.say("lsblk -rno PARTLABEL | grep .").splitlines()
    ours = sorted(label for label in labels if label.startswith(("millrace-data-", "millrace-log-")))
    assert ours == [f"millrace-data-{n:02}" for n in range(10)] + ["millrace-log-00", "millrace-log-01"]


def test_file_system_equals_the_plan(box: Box) -> None:
    promises.file_system_equals_the_plan(box)
    filesystem = box.plan["filesystem"]
    assert (filesystem["stripe_unit"], filesystem["stripe_width"]) == (128 * 1024, 8)


def test_nfsd_equals_the_plan(box: Box) -> None:
    promises.nfsd_equals_the_plan(box)
    assert box.plan["nfsd"]["pool_mode"] == "pernode"
    assert box.plan["nfsd"]["max_block_size"] == MIB


def test_nfsd_threads_cover_both_nodes(box: Box) -> None:
    masks = box.say("for p in $(pgrep -x nfsd); do grep Cpus_allowed_list /proc/$p/status | cut -f2; done")
    assert set(masks.splitlines()) == {"0-1", "2-3"}


def test_md_settings_equal_the_plan(box: Box) -> None:
    promises.md_equals_the_plan(box)


def test_interrupts_of_a_port_stay_on_its_node(box: Box) -> None:
    promises.ports_are_served_by_their_own_node(box)


def test_tuning_twice_changes_nothing(box: Box) -> None:
    promises.tuning_again_changes_nothing(box)


def test_only_what_is_served_listens(box: Box) -> None:
    listening = box.say("ss -Htln | awk '{print $4}'").splitlines()
    ports = {int(address.rsplit(":", 1)[1]) for address in listening if not address.startswith(("127.", "[::1]"))}
    # mountd and statd answer on ports of their own choice that the firewall does not open
    open_ports = set(box.say("nft -j list set inet millrace tcp_services | tr -dc '0-9,' ").strip(",").split(","))
    assert {445, 2049, 9090} <= ports
    assert "22" not in open_ports


def test_console_says_what_a_person_needs(box: Box) -> None:
    box.say("systemctl start millrace-health.service")
    banner = box.say("cat /run/issue.d/50-millrace.issue")
    assert "Millrace" in banner
    assert "0.1.0" in banner
    assert f"https://{SERVER_ADDRESSES[0]}:9090" in banner
    console = box.machine.console
    assert "millrace login:" in console


def test_cockpit_answers(box: Box) -> None:
    script = "import ssl,urllib.request as u;print(u.urlopen('https://127.0.0.1:9090/ping',context=ssl._create_unverified_context()).read().decode())"
    assert "cockpit" in box.say(f'python3 -c "{script}"')


def test_no_secret_reaches_the_journal(box: Box) -> None:
    # the pattern arrives on standard input: on a command line it would find itself
    search = box.machine.run("journalctl -b --no-pager | grep -F -f /dev/fd/3 3<&0", stdin=ADMIN_PASSWORD, check=False)
    assert (search.status, search.out) == (1, "")


# The client


def checksum(client: Machine, path: str) -> str:
    return client.run(f"sha256sum < {path}", seconds=600).out.split()[0]


@contextmanager
def mounted(client: Machine, protocol: str) -> Iterator[str]:
    """Mount the share, yield where, unmount: nothing is read from the client's cache.

    One protocol at a time: the kernel answers a second NFS mount of the same export with the first one's transport.
    """
    host = SERVER_ADDRESSES[0]
    smb = "vers=3.1.1,credentials=/run/credentials.smb,multichannel,max_channels=4"
    options = {
        "nfs-tcp": f"-t nfs4 -o vers=4.2,proto=tcp,nconnect=8 {host}:{EXPORT}",
        "nfs-rdma": f"-t nfs4 -o vers=4.2,proto=rdma,port=20049 {host}:{EXPORT}",
        "smb": f"-t cifs -o {smb} //{host}/data",
    }
    client.run(f"mkdir -p {MOUNTPOINT}; mount {options[protocol]} {MOUNTPOINT}", seconds=300)
    try:
        yield MOUNTPOINT
    finally:
        client.run(f"umount {MOUNTPOINT}", seconds=300)


@pytest.fixture(scope="module")
def pattern(client: Machine) -> str:
    """Make the pattern on the client and return its checksum."""
    make = f"""
import random
source = random.Random(7)
with open("/run/pattern", "wb") as pattern:
    for _ in range({PATTERN_MIB}):
        pattern.write(source.randbytes(1 << 20))
"""
    client.run(["python3", "-c", make], seconds=600)
    return checksum(client, "/run/pattern")


def test_nfs_over_tcp_with_eight_connections(client: Machine) -> None:
    with mounted(client, "nfs-tcp") as where:
        line = client.run(f"grep {where} /proc/mounts").out
        assert "vers=4.2" in line
        assert "nconnect=8" in line
        assert "rsize=1048576" in line
        assert int(client.run("ss -Htn state established dst 10.77.0.1:2049 | wc -l").out) == 8


def test_nfs_over_rdma_on_soft_roce(box: Box, client: Machine) -> None:
    for machine, address in ((box.machine, SERVER_ADDRESSES[0]), (client, CLIENT_ADDRESSES[0])):
        port = machine.run(f"ip -o address show to {address} | awk '{{print $2}}'").out.strip()
        machine.run(f"modprobe rdma_rxe && rdma link add rxe0 type rxe netdev {port}")
    box.machine.wait_command("grep -q 'rdma 20049' /proc/fs/nfsd/portlist", "RDMA listener after the hot-plug", 120)
    with mounted(client, "nfs-rdma") as where:
        assert "proto=rdma" in client.run(f"grep {where} /proc/mounts").out


def test_smb_with_several_channels_encrypted(box: Box, client: Machine) -> None:
    with mounted(client, "smb") as where:
        client.run(f"ls {where}")
        client.wait_command("test $(grep -c 'Channel: ' /proc/fs/cifs/DebugData) -ge 3", "three more channels", 120)
        (session,) = box.read_json("smbstatus --json")["sessions"].values()
        assert len(session["channels"]) == 4
        assert session["encryption"]["cipher"].startswith("AES")


@pytest.mark.parametrize("writer", PROTOCOLS)
def test_a_pattern_is_written_and_synced(client: Machine, pattern: str, writer: str) -> None:
    assert pattern
    with mounted(client, writer) as where:
        client.run(f"dd if=/run/pattern of={where}/by-{writer} bs=1M conv=fsync status=none", seconds=900)


@pytest.mark.parametrize(("writer", "reader"), list(permutations(PROTOCOLS, 2)))
def test_what_one_protocol_wrote_another_reads(client: Machine, pattern: str, writer: str, reader: str) -> None:
    with mounted(client, reader) as where:
        assert checksum(client, f"{where}/by-{writer}") == pattern


@unproven  # that of SMB failed once on a busy host
@pytest.mark.parametrize(("protocol", "row"), [("nfs-tcp", 0), ("smb", 1)])
def test_rates_of_every_second_add_up_to_what_a_client_wrote(
    box: Box, client: Machine, pattern: str, protocol: str, row: int
) -> None:
    assert pattern
    with mounted(client, protocol) as where, seen.watching(box) as lines:
        client.run(f"dd if=/run/pattern of={where}/watched bs=1M conv=fsync status=none", seconds=900)
        # the counters of smbd are a second old
        box.say("sleep 5")
    assert seen.written(lines, row) == pytest.approx(PATTERN_MIB * MIB, rel=0.3)
    assert any(line["protocols"][row]["latency_seconds"] for line in lines)
    assert max(line["protocols"][row]["clients"] for line in lines) == 1


def test_rdma_really_carried_the_data(client: Machine) -> None:
    sent, received = (
        int(client.run(f"cat /sys/class/infiniband/rxe0/ports/1/hw_counters/{name}").out)
        for name in ("sent_pkts", "rcvd_pkts")
    )
    # one file written and two read, in packets of 1 KiB of data
    assert sent > PATTERN_MIB * 1024
    assert received > 2 * PATTERN_MIB * 1024


def test_root_of_a_client_is_nobody(box: Box, client: Machine) -> None:
    with mounted(client, "nfs-tcp") as where:
        client.run(f"touch {where}/whose")
    assert box.say(f"stat -c %U {EXPORT}/whose") == "nobody"


def test_export_is_for_the_client_network_only(box: Box) -> None:
    table = box.say("exportfs -s")
    assert "10.77.0.0/24" in table
    assert "*" not in table
    assert "10.0.2." not in table


# The benchmark, after soft-RoCE gave the server an RDMA device


@pytest.fixture(scope="module")
def ladder(box: Box) -> dict[str, Any]:
    return measured.run(box, "--quick --profile seq")


@unproven
def test_every_layer_is_measured(box: Box, ladder: dict[str, Any]) -> None:
    protocols = {f"L2/{name}" for name in PROTOCOLS}
    assert measured.places(ladder) == {"L0/drives", "L1/array", "L1/xfs", *protocols}
    measured.nothing_is_left(box)


@unproven
def test_a_report_opens_in_every_format(box: Box, ladder: dict[str, Any]) -> None:
    measured.exports_open_again(box, ladder)


@unproven
def test_a_run_is_told_first_is_alone_and_leaves_nothing_when_killed(box: Box) -> None:
    measured.a_full_run_is_told_before_it_starts(box)
    measured.refused(box, "millrace bench start --quick", "a benchmark is running already")
    measured.a_killed_run_leaves_nothing(box)


@unproven
def test_a_client_is_driven_over_both_transports(box: Box, client: Machine) -> None:
    address = CLIENT_ADDRESSES[0]
    measured.give_program(box, client)
    measured.refused(box, f"millrace bench clients add {address}", "does not answer on port 8764")
    with measured.listening(client, SERVER_ADDRESSES[0]):
        box.say(f"millrace bench clients add {address}")
        made = measured.run(box, f"--layer L3 --client {address} --profile retinanet")
        assert measured.places(made) == {"L3/nfs-tcp", "L3/nfs-rdma"}
        assert {rung["target"] for rung in made["rungs"] if rung["state"] == "skipped"} == {"smb"}
        (trained, *_) = [rung for rung in made["rungs"] if rung["id"] == "L3/nfs-tcp/retinanet/train"]
        assert [one["accelerator"] for one in trained["accelerators"]] == ["B200"]
        assert trained["accelerators"][0]["au"] > 0
        measured.nothing_is_left(box)
        measured.a_killed_run_leaves_nothing_on_the_client(box, client, address)
    measured.refused(box, f"millrace bench run --layer L3 --client {address}", "does not answer on port 8764")


@unproven
def test_what_a_client_measured_by_hand_is_brought_back(box: Box, client: Machine) -> None:
    measured.give_program(box, client)
    with mounted(client, "nfs-tcp") as where:
        taken = measured.by_hand(box, client, where)
    assert [(rung["id"], rung["state"]) for rung in taken["rungs"]] == [("L3/nfs-tcp/fsync/fsync", "done")]
    assert box.read_json("millrace bench list --json")["runs"][0]["id"] == taken["id"]


@unproven
def test_a_read_only_pool_is_not_measured(box: Box) -> None:
    measured.a_read_only_pool_is_refused(box)


# Reboot and power cut


def test_reboot_brings_the_same_pool_back(box: Box, client: Machine, pattern: str) -> None:
    uuids = {record["array"]["name"]: record["uuid"] for record in box.pool["arrays"]}
    box.machine.reboot()
    box.wait_serving()
    box.wait_booted()
    assert {name: box.array_detail(name)["MD_UUID"] for name in uuids} == uuids
    assert box.failed_units() == []
    promises.everything(box)
    with mounted(client, "nfs-tcp") as where:
        assert checksum(client, f"{where}/by-smb") == pattern


WRITER = f"""
import os
log = open("/run/synced", "w")
file = os.open("{MOUNTPOINT}/journal", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
for number in range(1 << 20):
    os.write(file, number.to_bytes(8, "big") * 512)
    os.fsync(file)
    print(number, file=log, flush=True)
"""
READER = f"""
import sys
with open("{EXPORT}/journal", "rb") as file:
    for number in range(int(sys.argv[1]) + 1):
        assert file.read(4096) == number.to_bytes(8, "big") * 512, number
print("whole")
"""


def test_what_was_synced_survives_a_power_cut(box: Box, client: Machine) -> None:
    with mounted(client, "nfs-tcp"):
        client.run("rm -f /run/synced; cat > /run/writer.py", stdin=WRITER)
        client.run("systemd-run --unit=writer python3 /run/writer.py")
        client.wait_command("test $(wc -l < /run/synced) -ge 40", "forty records synced", 300)
        box.machine.power_cut()
        # what the client was told to be safe before the power went
        synced = client.run("tail -n 1 /run/synced").out.strip()
        box.machine.start()
        box.wait_serving()
        assert box.machine.run(["python3", "-c", READER, synced]).out.strip() == "whole"
        # the client's hard mount goes on where it was
        client.wait_command(f"test $(tail -n 1 /run/synced) -gt {synced}", "the client's writes going on", 300)
        client.run("systemctl stop writer.service", seconds=300)
    box.wait_booted()
    assert box.failed_units() == []


@unproven
def test_what_a_power_cut_leaves_of_a_benchmark_is_swept_at_boot(box: Box) -> None:
    measured.swept_at_boot(box)
