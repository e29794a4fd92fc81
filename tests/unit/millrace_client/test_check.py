# SPDX-License-Identifier: Apache-2.0
"""A running mount against its recipe: green where it is as it should be, else what is wrong and the fix."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from millrace_client import check, this_client
from millrace_client.finding import OK, WARN, Finding
from tests.unit.measure.client.servers import FAST, Client, expectation, nfs_client, smb_client

NFS, SMB = "/mnt/train", "/mnt/smb"


def wrong(client: Client, expect: dict[str, Any], where: str = NFS) -> dict[str, Finding]:
    return {one.check: one for one in check.examine(where, expect, client) if one.status != OK}


# Green


@pytest.mark.parametrize(
    ("protocol", "sample"),
    [("nfs-tcp", "mountstats-training"), ("nfs-rdma", "mountstats-rdma"), ("nfs-tcp-trunked", "mountstats-trunked")],
)
def test_a_mount_as_in_the_recipe_is_green(tmp_path: Path, protocol: str, sample: str) -> None:
    assert wrong(nfs_client(tmp_path, sample), expectation("training", protocol)) == {}


def test_an_smb_mount_as_in_the_recipe_is_green(tmp_path: Path) -> None:
    assert wrong(smb_client(tmp_path), expectation("checkpoint", "smb-multichannel"), SMB) == {}


def test_a_client_that_does_more_than_the_recipe_is_green(tmp_path: Path) -> None:
    client = nfs_client(tmp_path, "mountstats-training")
    client.parameters("nfs", {"max_session_slots": 512})
    assert wrong(client, {**expectation(), "lanes": 8}) == {}


def test_every_connection_is_woken_before_it_is_counted(tmp_path: Path) -> None:
    client = nfs_client(tmp_path, "mountstats-training")
    check.examine(NFS, expectation(), client)
    ((where, times),) = client.asked
    assert where == NFS and times >= 16


# What is mounted


def test_nothing_mounted(tmp_path: Path) -> None:
    client = nfs_client(tmp_path, "mountstats-training")
    found = wrong(client, expectation(), "/mnt/nothing")["mount"]
    assert "nothing from a server" in found.text
    assert "millrace client recipe --workload training --protocol nfs-tcp" in found.fix


def test_another_share_is_mounted(tmp_path: Path) -> None:
    client = nfs_client(tmp_path, "mountstats-training")
    found = wrong(client, {**expectation(), "source": "/srv/pool/other", "share": "other"})
    assert list(found) == ["mount"] and "not the share other" in found["mount"].text


def test_the_other_protocol_is_mounted(tmp_path: Path) -> None:
    assert "cifs, not nfs" in wrong(smb_client(tmp_path), expectation(), SMB)["mount"].text


def test_a_server_that_is_gone_is_said_so_instead_of_waiting_for_it(tmp_path: Path) -> None:
    client = nfs_client(tmp_path, "mountstats-training")
    client.answers = False
    assert "does not answer" in wrong(client, expectation())["answer"].text


def test_a_hanging_mount_does_not_hang_the_check(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from threading import Event

    server = Event()
    monkeypatch.setattr(this_client.os, "statvfs", lambda where: server.wait())
    monkeypatch.setattr(this_client, "ANSWER_WAIT", 0.01)
    assert this_client.System(str(tmp_path)).touch("/mnt/train", 4) is False
    server.set()


# NFS options and lanes


def test_defaults_of_an_old_client_are_named_one_by_one(tmp_path: Path) -> None:
    found = wrong(nfs_client(tmp_path, "mountstats-defaults-of-old"), expectation("dataloader"))
    assert {"vers", "nconnect", "hard", "rsize", "wsize", "lookupcache", "lanes"} <= set(found)
    assert found["vers"].text == "vers is 4.1, should be 4.2"
    assert "put vers=4.2 into the options" in found["vers"].fix
    assert "the server allows no more" in found["rsize"].fix


@pytest.mark.parametrize(("where", "protocol"), [(NFS, "nfs-tcp"), (SMB, "smb-multichannel")])
@pytest.mark.parametrize("option", ["nosuid", "nodev"])
def test_mount_that_honours_setuid_or_device_files_is_named_with_the_fix(
    tmp_path: Path, where: str, protocol: str, option: str
) -> None:
    client = nfs_client(tmp_path, "mountstats-training") if where == NFS else smb_client(tmp_path)
    mounts = client.read("proc/self/mounts") or ""
    assert option in mounts
    client.write("proc/self/mounts", mounts.replace(f",{option}", ""))
    workload = "training" if where == NFS else "checkpoint"
    findings = wrong(client, expectation(workload, protocol), where)
    assert set(findings) == {option}
    assert f"put {option} into the options" in findings[option].fix


def test_an_earlier_mount_that_decided_nconnect_is_blamed(tmp_path: Path) -> None:
    found = wrong(nfs_client(tmp_path, "mountstats-four-of-sixteen"), expectation())
    assert set(found) == {"nconnect", "lanes"}
    assert found["lanes"].text == "4 of 16 connections"
    assert "mount this one first" in found["nconnect"].fix


def test_connections_that_were_asked_for_and_never_made_do_not_count(tmp_path: Path) -> None:
    found = wrong(nfs_client(tmp_path, "mountstats-not-connected"), expectation())
    assert found["lanes"].text == "11 of 16 connections"


def test_trunk_without_its_lanes_is_found(tmp_path: Path) -> None:
    expect = expectation("training", "nfs-tcp-trunked")
    client = nfs_client(tmp_path, "mountstats-trunked")
    for number, address in enumerate(["10.0.0.2"] * 8 + ["10.0.7.7"]):
        client.write(f"sys/kernel/sunrpc/xprt-switches/switch-3/xprt-{number}-tcp/dstaddr", f"{address}\n")
    found = wrong(client, expect)["lanes"]
    assert "none to 10.0.1.2" in found.text and "/run/millrace/lanes" in found.fix
    client.write("sys/kernel/sunrpc/xprt-switches/switch-3/xprt-8-tcp/dstaddr", "10.0.1.2\n")
    assert wrong(client, expect) == {}


def test_lanes_that_are_mounted_late_are_waited_for(tmp_path: Path) -> None:
    client = nfs_client(tmp_path, "mountstats-four-of-sixteen")
    complete = nfs_client(tmp_path / "complete", "mountstats-trunked").read("proc/self/mountstats") or ""
    client.while_waiting = lambda: client.write("proc/self/mountstats", complete)
    assert wrong(client, expectation("training", "nfs-tcp-trunked")) == {}
    assert client.waited == 1.0


def test_without_lanes_nothing_is_waited_for(tmp_path: Path) -> None:
    client = nfs_client(tmp_path, "mountstats-four-of-sixteen")
    assert wrong(client, expectation())
    assert client.waited == 0.0


# SMB channels and encryption


def test_a_channel_that_is_down_does_not_count(tmp_path: Path) -> None:
    client = smb_client(tmp_path, "DebugData-one-channel-down")
    found = wrong(client, expectation("checkpoint", "smb-multichannel"), SMB)
    assert found["lanes"].text == "7 of 8 channels"
    assert "dmesg" in found["lanes"].fix


def test_a_session_without_encryption_is_found(tmp_path: Path) -> None:
    client = smb_client(tmp_path, "DebugData-one-channel")
    found = wrong(client, expectation("checkpoint", "smb-multichannel"), SMB)
    assert set(found) == {"lanes", "encryption"}
    assert "seal" in found["encryption"].fix


def test_channels_that_open_late_are_waited_for(tmp_path: Path) -> None:
    client = smb_client(tmp_path, "DebugData-one-channel")
    complete = smb_client(tmp_path / "complete").read("proc/fs/cifs/DebugData") or ""
    client.while_waiting = lambda: client.write("proc/fs/cifs/DebugData", complete)
    assert wrong(client, expectation("checkpoint", "smb-multichannel"), SMB) == {}
    assert client.waited == 1.0


def test_smb_caching_of_another_profile_is_found(tmp_path: Path) -> None:
    found = wrong(smb_client(tmp_path), expectation("training", "smb-multichannel"), SMB)
    assert found["actimeo"].text == "actimeo is 0, should be 60"


# Modules


def test_module_options_that_were_not_loaded_are_found(tmp_path: Path) -> None:
    client = nfs_client(tmp_path, "mountstats-training")
    client.parameters("nfs", {"max_session_slots": 64})
    found = wrong(client, expectation())
    assert set(found) == {"max_session_slots"}
    assert "options nfs max_session_slots=256" in found["max_session_slots"].fix


def test_options_that_only_brake_are_found(tmp_path: Path) -> None:
    client = nfs_client(tmp_path, "mountstats-training")
    client.parameters("sunrpc", {"tcp_max_slot_table_entries": 128})
    client.parameters("nfs", {"nfs_access_max_cachesize": 262144, "nfs4_disable_idmapping": "N"})
    found = wrong(client, expectation())
    assert set(found) == {"tcp_max_slot_table_entries", "nfs_access_max_cachesize", "nfs4_disable_idmapping"}
    assert all(one.status == WARN and one.fix for one in found.values())


# The way to the server


@pytest.mark.parametrize(
    ("route", "name", "words"),
    [
        (FAST._replace(mtu=1500, path_mtu=1500), "mtu", "1500 bytes over enp1s0, the server has 9000"),
        (FAST._replace(path_mtu=1500), "mtu", "1500"),
        (FAST._replace(mtu=None, path_mtu=None), "mtu", "could not be read"),
        (FAST._replace(speed=1000), "link", "1 Gbit/s"),
        (FAST._replace(round_trip=40000), "rtt", "40 ms: 256 requests in flight fill only 53.7 Gbit/s"),
        (FAST._replace(round_trip=None), "rtt", "no connection to measure"),
    ],
)
def test_a_way_that_is_too_narrow_or_too_long(tmp_path: Path, route: this_client.Route, name: str, words: str) -> None:
    client = nfs_client(tmp_path, "mountstats-training")
    client.way = route
    found = wrong(client, expectation())
    assert list(found) == [name]
    assert words in found[name].text and found[name].fix


def test_a_virtual_port_without_a_speed_and_a_slow_emulator_are_no_fault(tmp_path: Path) -> None:
    client = nfs_client(tmp_path, "mountstats-training")
    client.way = FAST._replace(speed=None, round_trip=9000)
    assert wrong(client, expectation()) == {}


def test_figures_of_tcp_are_read_where_the_kernel_puts_them() -> None:
    data = bytearray(104)
    data[60:64] = (9000).to_bytes(4, sys.byteorder)
    data[68:72] = (173).to_bytes(4, sys.byteorder)
    assert this_client.parse_tcp_info(bytes(data)) == (9000, 173)
    assert this_client.parse_tcp_info(b"") == (None, None)


def test_a_real_connection_is_measured() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        path_mtu, round_trip = this_client._measure("127.0.0.1", server.getsockname()[1])
    assert path_mtu and path_mtu >= 1280
    assert round_trip is not None and 0 < round_trip < 10_000_000


# The report


def run(client: Client, expect: object, tmp_path: Path, *more: str) -> int:
    file = tmp_path / "expect.json"
    file.write_text(json.dumps(expect))
    return check.main([NFS, "--expect", str(file), *more], client)


def test_green_is_exit_0_and_says_what_was_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(nfs_client(tmp_path, "mountstats-training"), expectation(), tmp_path) == 0
    out = capsys.readouterr().out
    assert "OK      lanes: 16 of 16 connections" in out
    assert "FAIL" not in out and "fix:" not in out


def test_not_green_is_exit_1_with_the_fix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(nfs_client(tmp_path, "mountstats-four-of-sixteen"), expectation(), tmp_path) == 1
    out = capsys.readouterr().out
    assert "FAIL    lanes: 4 of 16 connections\n        fix: umount every mount" in out


def test_the_json_has_everything_and_takes_the_whole_recipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    client = nfs_client(tmp_path, "mountstats-training")
    assert run(client, {"share": "train", "expect": expectation()}, tmp_path, "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["schema_version"] == 1 and report["green"] is True
    assert {"mount", "vers", "proto", "rsize", "wsize", "lanes", "mtu", "link", "rtt"} <= {
        one["check"] for one in report["findings"]
    }


@pytest.mark.parametrize("document", [{}, [], {"schema_version": 2}, {**expectation(), "schema_version": 2}])
def test_what_is_no_expectation_is_wrong_usage(
    tmp_path: Path, document: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(nfs_client(tmp_path, "mountstats-training"), document, tmp_path) == 2
    assert "is not an expectation" in capsys.readouterr().err


def test_wrong_usage_is_exit_2(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as end:
        check.main(["--expect"])
    assert end.value.code == 2
    assert check.main([NFS, "--expect", str(tmp_path / "none")]) == 2
