# SPDX-License-Identifier: Apache-2.0
"""Subsystems are connected now and at each boot, over every path, or the reason is named and nothing is recorded."""

import errno
import os
import stat

import pytest

from millrace.storage.assemble import external_device
from millrace.storage.fabrics import connect, connection_store, nvme_host
from millrace.storage.fabrics.fabrics_model import ConnectionReport, FabricsConnection
from millrace.system import paths
from millrace.system.errors import BadInput, Failed, Refused
from tests.fakes.samples import external_pool
from tests.unit.storage.fabrics.conftest import HOST, NQN, REFUSED, SECRET, Kernel

TWO = ("10.0.0.1", "10.0.1.1")


def made(kernel: Kernel, *addresses: str, secret: str | None = None) -> ConnectionReport:
    one = connect.wanted(NQN, "tcp", 4420, addresses or TWO[:1], secret)
    return connect.connect(one, secret, kernel)


def test_subsystem_is_connected_and_recorded(kernel: Kernel) -> None:
    report = made(kernel)
    assert report.done == f"{NQN} is connected, now and at each boot." and report.warnings == []
    assert report.connection is not None
    assert [(path.address, path.state) for path in report.connection.paths] == [("10.0.0.1", "live")]
    # a path that multipath hides and a partition are no devices of their own
    assert [(each.device, each.size) for each in report.connection.namespaces] == [
        ("/dev/disk/by-id/nvme-uuid.0f1e", 1 << 20)
    ]
    assert kernel.lines == [
        f"nqn={NQN},transport=tcp,traddr=10.0.0.1,trsvcid=4420,hostnqn={HOST},"
        "hostid=11111111-2222-3333-4444-555555555555,ctrl_loss_tmo=-1,reconnect_delay=2"
    ]
    listing = connect.connection_list()
    assert (listing.host_nqn, [connection.nqn for connection in listing.connections]) == (HOST, [NQN])


def test_secret_is_in_no_command_and_readable_by_root_alone(kernel: Kernel) -> None:
    report = made(kernel, secret=SECRET)
    assert kernel.lines[0].endswith(f",dhchap_secret={SECRET}")
    assert SECRET not in str(kernel.calls) and SECRET not in report.model_dump_json()
    assert SECRET not in paths.connections_file().read_text()
    shown = [
        path for path in (paths.ROOT / "sys/class/nvme").rglob("*") if path.is_file() and SECRET in path.read_text()
    ]
    assert shown and all(path.stat().st_mode & 0o777 == 0o600 for path in shown)
    assert stat.S_IMODE(paths.connection_secrets_file().stat().st_mode) == 0o600
    connect.disconnect(NQN)
    assert not paths.connection_secrets_file().exists() and not paths.connections_file().exists()


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (REFUSED, "10.0.0.1 port 4420: nothing listens on this port there"),
        (errno.EKEYREJECTED, "10.0.0.1 port 4420: the target asks for a secret, or for another one"),
        (errno.EIO, "it has no such subsystem, or does not allow this host"),
        (errno.ENOSPC, "10.0.0.1 port 4420: No space left on device"),
    ],
)
def test_target_that_cannot_be_connected_is_named_and_not_recorded(kernel: Kernel, number: int, said: str) -> None:
    kernel.away["10.0.0.1"] = number
    with pytest.raises(Failed) as failed:
        made(kernel, secret=SECRET)
    assert said in str(failed.value) and SECRET not in str(failed.value)
    assert not paths.connections_file().exists() and not paths.connection_secrets_file().exists()


def test_path_that_does_not_connect_is_tried_again(kernel: Kernel) -> None:
    kernel.away["10.0.1.1"] = errno.ETIMEDOUT
    report = made(kernel, *TWO)
    assert report.warnings == ["10.0.1.1 port 4420: nothing answers there; it is tried again until it connects"]
    assert kernel.calls[-1] == ["systemctl", "restart", "--no-block", "millrace-backend.service"]
    assert connect.connect_all(kernel) == ["10.0.1.1 port 4420: nothing answers there"]
    kernel.away.clear()
    assert connect.connect_all(kernel) == []
    assert len(kernel.lines) == 2
    # everything is there: no line more
    assert connect.connect_all(kernel) == [] and len(kernel.lines) == 2


def test_each_boot_connects_what_is_recorded_with_its_secret(kernel: Kernel) -> None:
    connection_store.save([connect.wanted(NQN, "rdma", 4421, TWO, SECRET)], {NQN: SECRET})
    assert connect.connect_all(kernel) == []
    assert [line.split(",")[2] for line in kernel.lines] == ["traddr=10.0.0.1", "traddr=10.0.1.1"]
    assert all(line.endswith(SECRET) for line in kernel.lines)
    assert kernel.calls == [["modprobe", "nvme-rdma"]]


def test_connected_twice_is_refused(kernel: Kernel) -> None:
    made(kernel)
    with pytest.raises(Refused, match="is connected already"):
        made(kernel, "10.0.0.7")
    paths.connections_file().unlink()
    with pytest.raises(Refused, match="was connected by hand: first nvme disconnect"):
        made(kernel)


def test_disconnected_is_away_now_and_at_the_next_boot(kernel: Kernel) -> None:
    made(kernel, *TWO)
    assert connect.disconnect(NQN).done == f"{NQN} is disconnected, now and at each boot."
    assert kernel.deleted() == ["nvme0", "nvme1"]
    assert connection_store.connections() == []
    with pytest.raises(Refused, match="is not connected by Millrace"):
        connect.disconnect(NQN)


def test_device_in_use_is_not_disconnected(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    made(kernel)
    kernel.used.add("nvme0n1")
    with pytest.raises(Refused, match="/dev/nvme0n1 is in use"):
        connect.disconnect(NQN)
    pool = external_pool("VOL")
    monkeypatch.setattr(connect, "known_pool", lambda: pool)
    monkeypatch.setattr(external_device, "devices", lambda partuuid: ["nvme0n1p1"])
    with pytest.raises(Refused, match="the pool lies on /dev/nvme0n1"):
        connect.disconnect(NQN)
    assert kernel.deleted() == [] and len(connection_store.connections()) == 1


def test_shutdown_disconnects_and_the_next_boot_connects_again(kernel: Kernel) -> None:
    made(kernel, *TWO)
    assert connect.release() == []
    assert kernel.deleted() == ["nvme0", "nvme1"]
    assert [one.addresses for one in connection_store.connections()] == [list(TWO)]


def test_shutdown_leaves_a_device_that_is_still_in_use(kernel: Kernel) -> None:
    made(kernel)
    kernel.used.add("nvme0n1")
    assert connect.release() == [f"{NQN}: /dev/nvme0n1 is in use"]
    assert kernel.deleted() == []


def test_shutdown_disconnects_the_other_paths_where_the_kernel_keeps_one(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(kernel, *TWO)
    detach = nvme_host.detach

    def kept(name: str) -> None:
        if name == "nvme0":
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        detach(name)

    monkeypatch.setattr(nvme_host, "detach", kept)
    assert connect.release() == ["10.0.0.1 port 4420 was not disconnected: Device or resource busy"]
    assert kernel.deleted() == ["nvme1"]


def test_shutdown_leaves_what_was_connected_by_hand(kernel: Kernel) -> None:
    kernel.send(f"nqn={NQN},transport=tcp,traddr=10.0.0.1,trsvcid=4420")
    assert connect.release() == []
    assert kernel.deleted() == []


@pytest.mark.parametrize(
    ("nqn", "address", "secret", "said"),
    [
        ("tank", "10.0.0.1", None, "'tank' is not an NQN"),
        (f"{NQN},traddr=10.0.0.9", "10.0.0.1", None, "is not an NQN"),
        (f"nqn.2014-08.org:{'x' * 300}", "10.0.0.1", None, "at most 223 characters"),
        (NQN, "nas", None, "'nas' is not an address"),
        (NQN, "0.0.0.0", None, "is not the address of a target"),
        (NQN, "10.0.0.1,ctrl_loss_tmo=0", None, "is not an address"),
        (NQN, "10.0.0.1", "hunter2", "a DH-HMAC-CHAP secret is one line like DHHC-1:00"),
    ],
)
def test_what_is_malformed_is_refused_before_anything_is_done(
    kernel: Kernel, nqn: str, address: str, secret: str | None, said: str
) -> None:
    with pytest.raises(BadInput) as bad:
        connect.wanted(nqn, "tcp", 4420, (address,), secret)
    assert said in str(bad.value) and "hunter2" not in str(bad.value)


def test_server_without_an_identity_is_told_how_to_get_one(kernel: Kernel) -> None:
    (kernel.root / "etc/nvme/hostnqn").write_text("")
    with pytest.raises(Failed, match="systemctl start millrace-nvme-hostid"):
        made(kernel)
    assert connect.connection_list().host_nqn == ""


def test_target_goes_on_to_know_the_server_by_the_name_that_it_allows(kernel: Kernel) -> None:
    made(kernel)
    (kernel.root / "etc/nvme/hostnqn").write_text("nqn.2014-08.org.nvmexpress:uuid:adopted\n")
    (found,) = connect.connection_list().connections
    assert found.host_nqn == HOST
    (kernel.root / "sys/class/nvme/nvme0/transport").unlink()
    assert connect.connect_all(kernel) == []
    assert f",hostnqn={HOST}," in kernel.lines[-1]


def test_controllers_of_drives_are_no_paths(kernel: Kernel) -> None:
    assert nvme_host.controllers() == []
    assert (
        nvme_host.row(FabricsConnection(nqn=NQN, host_nqn=HOST, transport="tcp", port=4420, addresses=["10.0.0.1"]))
        .paths[0]
        .state
        == "missing"
    )
