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


def rules() -> list[str]:
    return [line.strip() for line in (REPO / "mkosi.extra/etc/nftables.conf").read_text().splitlines()]


def test_port_of_a_volume_is_open_to_the_addresses_of_its_hosts_alone() -> None:
    assert [line for line in rules() if "volume" in line and line.endswith("accept")] == [
        "ip saddr . tcp dport @volume_hosts4 accept",
        "ip6 saddr . tcp dport @volume_hosts6 accept",
    ]
    hosts = ["nqn.2014-08.org.example:one"]
    # the networks of the second overlap; one of the third is no client network any more
    named = [[], ["10.0.0.9/32", "10.0.0.8/31"], ["10.0.0.7/32", "10.9.0.0/24"]]
    written = firewall(
        Exports(
            volumes={
                UUID(int=number): VolumeExport(transport="tcp", port=4420 + number, hosts=hosts, addresses=addresses)
                for number, addresses in enumerate(named)
            }
        ),
        ["10.0.0.0/24", "fd00:1::/64"],
    )
    for name in re.findall(r"^(?:flush set|add element) inet millrace (\w+)", written, re.MULTILINE):
        assert f"set {name} {{" in rules()
    assert written.splitlines()[-3:] == [
        "add element inet millrace volume_ports { 4420, 4421, 4422 }",
        "add element inet millrace volume_hosts4 { 10.0.0.0/24 . 4420, 10.0.0.8/31 . 4421, 10.0.0.7/32 . 4422 }",
        "add element inet millrace volume_hosts6 { fd00:1::/64 . 4420 }",
    ]


def test_loopback_is_no_way_to_files_and_volumes_for_users_of_this_server() -> None:
    output = rules()[rules().index("chain output {") :]
    before = output[: output.index("oif lo accept")]
    assert [line for line in before if line.startswith("oif lo")] == [
        "oif lo meta skuid != 0 tcp dport { 2049, 20049 } reject with tcp reset",
        "oif lo meta skuid != 0 tcp dport @volume_ports reject with tcp reset",
    ]


def test_directory_of_opened_ports_is_of_root_alone() -> None:
    lines = (REPO / "mkosi.extra/usr/lib/tmpfiles.d/millrace.conf").read_text().splitlines()
    assert ["d", OPENED, "0755", "root", "root", "-"] in [line.split() for line in lines]
