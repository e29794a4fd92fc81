# SPDX-License-Identifier: Apache-2.0
"""The second SMB server of a run."""

from collections.abc import Sequence
from ipaddress import ip_interface
from pathlib import Path

import pytest

from millrace.measure.bench.run import loopback
from millrace.plan.defaults import SmbdSettings
from millrace.system.errors import Failed
from millrace.system.net import Interface


def test_the_second_smbd_keeps_everything_in_its_own_place(pool: Path, tmp_path: Path) -> None:
    text = loopback.smbd_configuration(pool / ".millrace-bench", tmp_path / "smb", SmbdSettings(max_credits=512))
    after = text.rpartition("[global]")[2]
    lines: Sequence[str] = after.strip().splitlines()
    own = dict(line.split(" = ", 1) for line in lines)
    for name in loopback.DIRECTORIES:
        assert own[name].startswith(str(tmp_path / "smb")), name
    assert own["log file"] == str(tmp_path / "smb/log.smbd")
    assert own["server role"] == "standalone server"
    assert own["passdb backend"].startswith(f"tdbsam:{tmp_path}/smb")
    assert "hosts allow = 127.0.0.1 ::1\n" in text
    assert "smb2 max credits = 512\n" in text
    assert f"valid users = {loopback.USER} " in text


@pytest.mark.usefixtures("pool")
def test_rdma_is_measured_through_the_first_device_with_an_ipv4_address(monkeypatch: pytest.MonkeyPatch) -> None:
    ports = [
        Interface("eth0", [ip_interface("10.0.0.1/24")], True, 1000),
        Interface("eth1", [ip_interface("fd00::1/64")], True, 1000, rdma=True),
        Interface("eth2", [ip_interface("fd00::2/64"), ip_interface("10.0.2.1/24")], True, 1000, rdma=True),
    ]
    monkeypatch.setattr(loopback.net, "serving", lambda: ports)
    assert loopback.rdma_address() == "10.0.2.1"
    ports.pop()
    with pytest.raises(Failed, match="no RDMA device has an IPv4 address"):
        loopback.rdma_address()
