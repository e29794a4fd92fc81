# SPDX-License-Identifier: Apache-2.0
"""Ports that units open while the server runs stay open when the firewall is loaded again."""

import re
from uuid import UUID

import pytest

from host.layout import REPO
from millrace.serve.volume.model import Exports, VolumeExport
from millrace.serve.volume.serve import firewall
from tests.unit.boot.units import unit

OPENED = "/run/millrace/nftables"
SHIPPED = "/usr/lib/millrace/nftables"


def test_firewall_includes_what_units_have_opened() -> None:
    rules = (REPO / "mkosi.extra/etc/nftables.conf").read_text()
    assert rules.rstrip().endswith(f'include "{OPENED}/*.nft"'), "after the table that it adds to"


@pytest.mark.parametrize(
    ("name", "setting", "file", "port"),
    [
        ("ssh.service", "ExecStartPost", "ssh.nft", "22"),
        ("millrace-firewall@roce.service", "ExecStart", "roce.nft", "4791"),
        ("millrace-firewall@metrics.service", "ExecStart", "metrics.nft", "19100"),
    ],
)
def test_unit_opens_its_port_by_the_file_that_a_reload_includes(name: str, setting: str, file: str, port: str) -> None:
    commands = unit(name)[setting]
    assert f"/usr/bin/cp {SHIPPED}/{file} {OPENED}/" in commands
    assert commands[-1] == f"/usr/sbin/nft -f {OPENED}/{file}"
    added = (REPO / f"mkosi.extra{SHIPPED}/{file}").read_text()
    (which,) = re.findall(rf"^add element inet millrace (\w+) {{ {port} }}$", added, re.MULTILINE)
    assert f"set {which} {{" in (REPO / "mkosi.extra/etc/nftables.conf").read_text()


@pytest.mark.parametrize(
    ("name", "setting", "file", "port"),
    [
        ("ssh.service", "ExecStopPost", "ssh.nft", "22"),
        ("millrace-firewall@metrics.service", "ExecStop", "metrics.nft", "19100"),
    ],
)
def test_unit_that_stops_closes_its_port_now_and_for_the_next_load(
    name: str, setting: str, file: str, port: str
) -> None:
    assert unit(name)[setting] == [
        f"-/usr/bin/rm -f {OPENED}/{file}",
        f"-/usr/sbin/nft delete element inet millrace tcp_services {{ {port} }}",
    ]


def test_ports_of_volumes_are_open_to_client_networks_alone() -> None:
    rules = (REPO / "mkosi.extra/etc/nftables.conf").read_text()
    lines = [line.strip() for line in rules.splitlines() if "@volume_ports" in line and line.strip().endswith("accept")]
    assert lines == [
        "tcp dport @volume_ports ip saddr @volume_clients4 accept",
        "tcp dport @volume_ports ip6 saddr @volume_clients6 accept",
    ]
    written = firewall(
        Exports(volumes={UUID(int=1): VolumeExport(transport="tcp", port=4421, hosts=["nqn.2014-08.org.example:one"])}),
        ["10.0.0.0/24", "fd00:1::/64"],
    )
    for name in re.findall(r"^(?:flush set|add element) inet millrace (\w+)", written, re.MULTILINE):
        assert f"set {name} {{" in rules
    assert written.splitlines()[-3:] == [
        "add element inet millrace volume_ports { 4421 }",
        "add element inet millrace volume_clients4 { 10.0.0.0/24 }",
        "add element inet millrace volume_clients6 { fd00:1::/64 }",
    ]


def test_directory_of_opened_ports_is_of_root_alone() -> None:
    lines = (REPO / "mkosi.extra/usr/lib/tmpfiles.d/millrace.conf").read_text().splitlines()
    assert ["d", OPENED, "0755", "root", "root", "-"] in [line.split() for line in lines]
