# SPDX-License-Identifier: Apache-2.0
"""Clients of both protocols, with host, transport, lanes and open files."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from millrace.serve.share.session import ClientSession, sessions
from millrace.system import paths
from millrace.system.run import Result
from tests.fakes.samples import Tools

INFO = """clientid: 0xf6f0c2616a3d1c9e
address: "{address}"
status: confirmed
seconds from last renew: 3
name: "Linux NFSv4.2 gpu-01"
minor version: 2
Implementation domain: "kernel.org"
Implementation name: "Linux 7.2.12+deb14-amd64 #1 SMP (x86_64)"
Implementation time: [0, 0]
callback state: UP
callback address: 10.77.0.2:0
session slots: 64
session target slots: 64
"""
STATES = """- 0x01: { type: open, access: rw, deny: --, superblock: "09:7f:131", filename: "a", owner: "open id:\\x00" }
- 0x02: { type: deleg, access: r, superblock: "09:7f:131", filename: "type: open" }
- 0x03: { type: open, access: r-, deny: --, superblock: "09:7f:131", filename: "b", owner: "x" }
"""
SS = "".join(f"0 0 10.77.0.1:2049 10.77.0.2:{port}\n" for port in range(700, 708))
SS += "0 0 [::ffff:10.77.0.1]:2049 [::ffff:10.77.0.3]:800\n0 0 [fd00::1]:2049 [fd00::2]:801\n"
SMB = {
    "sessions": {
        "1": {
            "server_id": {"pid": "900"},
            "username": "ann",
            "remote_machine": "10.77.0.4",
            "session_dialect": "SMB3_11",
            "encryption": {"cipher": "AES-128-GCM"},
            "channels": {
                str(n): {"remote_address": f"ipv4:10.77.0.4:{n}", "transport": "tcp"} for n in range(1000, 1004)
            },
        },
        "2": {
            "server_id": {"pid": "901"},
            "username": "bob",
            "remote_machine": "10.77.0.5",
            "session_dialect": "SMB3_11",
        },
    },
    "open_files": {
        "/srv/pool/a": {"opens": {"900/1": {"server_id": {"pid": "900"}}, "900/2": {"server_id": {"pid": "900"}}}}
    },
}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    for number, address in enumerate(("10.77.0.2:700", "10.77.0.3:800", "[fd00::2]:801", "10.77.0.9:4791")):
        directory = tmp_path / f"proc/fs/nfsd/clients/{number}"
        directory.mkdir(parents=True)
        (directory / "info").write_text(INFO.format(address=address))
        (directory / "states").write_text(STATES)
    (tmp_path / "proc/fs/nfsd/portlist").write_text("rdma 20049\ntcp 2049\n")
    return tmp_path


def tools(**broken: Result) -> Tools:
    found = {"ss": Result(0, SS, ""), "smbstatus": Result(0, json.dumps(SMB), "")} | broken
    return Tools({"ss -Htn state established sport = :2049": found["ss"], "smbstatus --json": found["smbstatus"]})


def by_host(found: Sequence[ClientSession]) -> dict[str, ClientSession]:
    return {one.host: one for one in found}


def test_nfs_clients_with_their_lanes_slots_and_open_files(server: Path) -> None:
    one = by_host(sessions(tools()).sessions)["10.77.0.2"]
    assert (one.protocol, one.version, one.transport, one.lanes, one.slots) == ("nfs", "4.2", "tcp", 8, 64)
    assert one.name == "Linux NFSv4.2 gpu-01"
    assert one.open_files == 2


def test_addresses_of_every_kind_are_matched(server: Path) -> None:
    found = by_host(sessions(tools()).sessions)
    assert found["10.77.0.3"].lanes == found["fd00::2"].lanes == 1


def test_a_client_without_a_socket_is_on_rdma_where_that_listens(server: Path) -> None:
    assert by_host(sessions(tools()).sessions)["10.77.0.9"].transport == "rdma"
    (server / "proc/fs/nfsd/portlist").write_text("tcp 2049\n")
    assert by_host(sessions(tools()).sessions)["10.77.0.9"].transport == "unknown"


def test_the_lanes_of_the_only_client_come_from_all_its_addresses(server: Path) -> None:
    for number in (1, 2, 3):
        (server / f"proc/fs/nfsd/clients/{number}/info").unlink()
    [one] = [one for one in sessions(tools()).sessions if one.protocol == "nfs"]
    assert (one.host, one.lanes, one.transport) == ("10.77.0.2", 10, "tcp")


def test_lanes_of_unknown_clients_are_reported_as_unknown(server: Path) -> None:
    (server / "proc/fs/nfsd/clients/1/info").unlink()
    found = sessions(tools())
    assert by_host(found.sessions)["10.77.0.2"].lanes == 8
    assert found.warnings == [
        "further NFS connections that the kernel does not attribute to a client: 1 from 10.77.0.3"
    ]


def test_smb_sessions_with_their_channels(server: Path) -> None:
    found = by_host(sessions(tools()).sessions)
    ann, bob = found["10.77.0.4"], found["10.77.0.5"]
    assert (ann.protocol, ann.name, ann.lanes, ann.open_files) == ("smb", "ann", 4, 2)
    assert ann.encryption == "AES-128-GCM" and bob.encryption is None
    assert (bob.lanes, bob.open_files) == (None, 0)


def test_a_client_that_leaves_while_we_look_is_left_out(server: Path) -> None:
    (server / "proc/fs/nfsd/clients/0/states").unlink()
    assert "10.77.0.2" not in by_host(sessions(tools()).sessions)


def test_a_server_that_does_not_answer_is_said_and_the_other_is_listed(server: Path) -> None:
    found = sessions(tools(smbstatus=Result(1, "", "lock failed\n")))
    assert len(found.sessions) == 4 and found.warnings == ["smbstatus does not list SMB sessions: lock failed"]


def test_server_that_does_not_serve_has_no_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    assert sessions(tools(smbstatus=Result(127, "", ""))).sessions == []


def test_listing_clients_requires_root(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    found = sessions(tools(smbstatus=Result(1, '{"version": "4.25.1"}', "smbstatus only works as root!\n")))
    assert found.sessions == []
    assert found.warnings == [f"listing {one} clients requires root" for one in ("NFS", "SMB")]
