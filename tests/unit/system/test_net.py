# SPDX-License-Identifier: Apache-2.0
"""Interfaces come from one reader of iproute2 and from sysfs."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from millrace.system import net, paths
from millrace.system.errors import Failed
from millrace.system.run import Result


def iproute(status: int, out: str) -> list[net.Entry]:
    def run(argv: Sequence[str], stdin: str | None = None) -> Result:
        assert argv == ["ip", "-j", "addr"]
        return Result(status, out, "no such device")

    return net.entries(run)


def test_every_interface_is_listed() -> None:
    assert iproute(0, '[{"ifname": "lo"}]') == [{"ifname": "lo"}]


def test_list_that_is_no_json_is_a_failure_not_an_empty_list() -> None:
    with pytest.raises(Failed, match="not JSON"):
        iproute(0, 'Object "addr" is unknown')


def test_list_that_iproute2_refuses_is_a_failure_not_an_empty_list() -> None:
    with pytest.raises(Failed, match="ip -j addr failed with status 1: no such device"):
        iproute(1, "[]")


@pytest.mark.parametrize(("text", "known"), [("100000\n", 100000), ("-1\n", None), ("0\n", None), ("", None)])
def test_speed_that_the_driver_does_not_know_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, known: int | None
) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    net.directory("enp1s0").mkdir(parents=True)
    (net.directory("enp1s0") / "speed").write_text(text)
    assert net.speed("enp1s0") == known
    assert net.speed("enp2s0") is None


def test_port_of_a_bond_keeps_its_own_mac() -> None:
    assert net.own_mac({"address": "aa:aa:aa:aa:aa:aa", "permaddr": "52:54:00:00:00:01"}) == "52:54:00:00:00:01"
    assert net.own_mac({"address": "52:54:00:00:00:02"}) == "52:54:00:00:00:02"


def test_interface_knows_whether_an_rdma_device_carries_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    names = ["of_card", "soft", "by_gid", "plain", "vlan"]
    for name in names[:4]:
        (net.directory(name) / "device").mkdir(parents=True)
    (net.directory("vlan") / "lower_soft").mkdir(parents=True)
    devices = tmp_path / "sys/class/infiniband"
    (devices / "irdma0/device/net/of_card").mkdir(parents=True)
    (devices / "rxe0").mkdir()
    (devices / "rxe0/parent").write_text("soft\n")
    (devices / "mlx5_0/ports/1/gid_attrs/ndevs").mkdir(parents=True)
    (devices / "mlx5_0/ports/1/gid_attrs/ndevs/3").write_text("by_gid\n")
    (devices / "mlx5_0/ports/1/gid_attrs/ndevs/4").write_text("")
    entries = [
        {"ifname": name, "addr_info": [{"local": f"10.0.0.{number}", "prefixlen": 24, "scope": "global"}]}
        for number, name in enumerate(names, 1)
    ]
    assert {interface.name: interface.rdma for interface in net.serving(entries)} == {
        name: name != "plain" for name in names
    }
