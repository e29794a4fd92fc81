# SPDX-License-Identifier: Apache-2.0
"""A client writes over each protocol and reads over the others."""

import pytest

from tests.vm import seen
from tests.vm.box import Box
from tests.vm.life.words import EXPORT, PATTERN_MIB, PROTOCOLS, mounted
from vm.machine import Machine

pytestmark = pytest.mark.usefixtures("in_use")

MIB = 1 << 20


@pytest.fixture(scope="module", autouse=True)
def nothing_is_mounted(client: Machine) -> None:
    """What is mounted of another share would lend its transport to what is mounted here."""
    client.run("umount -a -t nfs4", seconds=300)


def test_nfs_over_tcp_with_eight_connections(client: Machine) -> None:
    with mounted(client, "nfs-tcp") as where:
        line = client.run(f"grep {where} /proc/mounts").out
        assert "vers=4.2" in line
        assert "nconnect=8" in line
        assert "rsize=1048576" in line
        assert int(client.run("ss -Htn state established dst 10.77.0.1:2049 | wc -l").out) == 8


def test_nfs_over_rdma_on_soft_roce(client: Machine, rdma: None) -> None:
    with mounted(client, "nfs-rdma") as where:
        assert "proto=rdma" in client.run(f"grep {where} /proc/mounts").out


def test_smb_with_several_channels_encrypted(box: Box, client: Machine) -> None:
    with mounted(client, "smb") as where:
        client.run(f"ls {where}")
        client.wait_command("test $(grep -c 'Channel: ' /proc/fs/cifs/DebugData) -ge 3", "three more channels", 120)
        (session,) = box.read_json("smbstatus --json")["sessions"].values()
        assert len(session["channels"]) == 4
        assert session["encryption"]["cipher"].startswith("AES")


def test_setuid_program_of_a_client_does_not_run_on_the_server(box: Box, client: Machine) -> None:
    assert {"nosuid", "nodev", "noexec"} <= box.mount_options()
    with mounted(client, "nfs-tcp") as where:
        client.run(f"install -m 4755 /usr/bin/id {where}/setuid-id")
        try:
            assert box.say(f"stat -c %a {EXPORT}/setuid-id") == "4755"
            refused = box.machine.run(f"{EXPORT}/setuid-id", check=False)
            assert (refused.status, refused.out) == (126, "")
            # the mount of the server is no business of its clients
            assert "uid=0" in client.run(f"{where}/setuid-id").out
        finally:
            client.run(f"rm {where}/setuid-id")


def latency_is_counted(box: Box) -> bool:
    """Whether the kernel counted the calls; an emulated CPU may run on past a tracepoint that was patched in."""
    hits = box.say("grep -o 'Hits: [0-9]*' /sys/kernel/tracing/events/sunrpc/svc_stats_latency/hist")
    return box.machine.accel.name == "kvm" or int(hits.split()[1]) >= PATTERN_MIB


@pytest.mark.parametrize(("writer", "row"), [("nfs-tcp", 0), ("nfs-rdma", 0), ("smb", 1)])
def test_written_pattern_is_counted_in_the_rates(
    box: Box, client: Machine, pattern: str, writer: str, row: int
) -> None:
    with mounted(client, writer) as where, seen.watching(box) as lines:
        client.run(f"dd if={pattern} of={where}/by-{writer} bs=1M conv=fsync status=none", seconds=900)
        # the counters of smbd are a second old, and the last line may be cut
        seen.more_lines(box, 3)
    assert seen.written(lines, row) == pytest.approx(PATTERN_MIB * MIB, rel=0.3)
    if writer == "smb" or latency_is_counted(box):
        assert any(line["protocols"][row]["latency_seconds"] for line in lines)
    # a client is counted by its addresses, and the channels of SMB use both
    assert 1 <= max(line["protocols"][row]["clients"] for line in lines) <= (2 if writer == "smb" else 1)


@pytest.mark.parametrize("reader", PROTOCOLS)
def test_files_of_other_protocols_are_read_byte_for_byte(client: Machine, pattern: str, reader: str) -> None:
    with mounted(client, reader) as where:
        # SMB has no lease on a file that NFS could change: each read of the reader goes over the wire by itself
        same = {
            writer: client.run(
                f"dd if={where}/by-{writer} bs=4M status=none | cmp {pattern} -", seconds=900, check=False
            )
            for writer in PROTOCOLS
            if writer != reader
        }
    assert {writer: result.out + result.err for writer, result in same.items() if result.status != 0} == {}


def test_data_was_carried_by_rdma(client: Machine) -> None:
    sent, received = (
        int(client.run(f"cat /sys/class/infiniband/rxe0/ports/1/hw_counters/{name}").out)
        for name in ("sent_pkts", "rcvd_pkts")
    )
    # one file written and two read; the largest RoCE packet below this MTU has 4 KiB of data
    packets = PATTERN_MIB * MIB // 4096
    assert sent > packets
    assert received > 2 * packets


def test_root_of_a_client_is_mapped_to_nobody(box: Box, client: Machine) -> None:
    with mounted(client, "nfs-tcp") as where:
        client.run(f"touch {where}/whose")
    assert box.say(f"stat -c %U {EXPORT}/whose") == "nobody"


def test_export_is_for_the_client_network_only(box: Box) -> None:
    table = box.say("exportfs -s")
    assert "10.77.0.0/24" in table
    assert "*" not in table
    assert "10.0.2." not in table
