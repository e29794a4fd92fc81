# SPDX-License-Identifier: Apache-2.0
"""Addresses go to the port with the same MAC address, else to the free one with the same name."""

import json
from typing import ClassVar

import pytest

from millrace.lifecycle.adopt.ports import kept_ports, moved, replaced
from millrace.serve.config.model import Config, DesiredPort, first_config
from millrace.system.errors import Failed
from millrace.system.run import Result
from tests.fakes.commands import Commands

HERE = {"eth0": "02:00:00:00:00:01", "eth1": "02:00:00:00:00:02"}


class Ports(Commands):
    """iproute2 of a server with two ports."""

    TAKEN: ClassVar = ("ip -j addr",)

    def _ip(self, words: list[str], _: str) -> Result:
        shown = [{"ifname": name, "link_type": "ether", "address": mac, "mtu": 1500} for name, mac in HERE.items()]
        return Result(0, json.dumps(shown), "")


@pytest.fixture(autouse=True)
def ports_of_this_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millrace.system.net.is_port", lambda name: name in HERE)
    monkeypatch.setattr("millrace.system.net.has_carrier", lambda name: True)


def kept(**macs: str) -> Config:
    ports = [
        DesiredPort(name=name, mac=mac, addresses=[f"10.0.{number}.1/24"])
        for number, (name, mac) in enumerate(macs.items())
    ]
    return first_config().model_copy(update={"ports": ports})


def test_same_card_in_another_slot_keeps_its_addresses() -> None:
    [port] = kept_ports(kept(eth7="02:00:00:00:00:02"), Ports())
    assert (port.name, port.here, port.by) == ("eth7", "eth1", "mac")
    assert replaced([port], Ports()) == {}


def test_another_chassis_gives_them_to_the_port_of_the_same_name() -> None:
    config = kept(eth0="02:ff:00:00:00:01")
    found = kept_ports(config, Ports())
    assert [(port.here, port.by) for port in found] == [("eth0", "name")]
    macs = replaced(found, Ports())
    assert macs == {"02:ff:00:00:00:01": HERE["eth0"]}
    assert [port.mac for port in moved(config, macs).ports] == [HERE["eth0"]]


def test_port_of_the_same_name_that_another_one_is_recognised_as_is_not_free() -> None:
    found = kept_ports(kept(eth0="02:ff:00:00:00:01", eth5=HERE["eth0"]), Ports())
    assert [(port.name, port.here, port.by) for port in found] == [("eth0", None, None), ("eth5", "eth0", "mac")]


def test_state_without_fixed_addresses_asks_for_no_port() -> None:
    ports = Ports()
    assert (kept_ports(first_config(), ports), replaced([], ports), ports.calls) == ([], {}, [])


def test_ports_that_cannot_be_listed_are_a_failure() -> None:
    ports = Ports()
    ports.broken["ip"] = Result(1, "", "no netlink")
    with pytest.raises(Failed, match="no netlink"):
        kept_ports(kept(eth0=HERE["eth0"]), ports)
