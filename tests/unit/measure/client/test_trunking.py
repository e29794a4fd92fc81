# SPDX-License-Identifier: Apache-2.0
"""Trunking: one mount for use, a lane for each further address, one host name with all of them."""

from dataclasses import replace
from ipaddress import ip_interface

from millrace.measure.client.trunking import zone
from tests.unit.measure.client.servers import TRAIN, recipe

EIGHT = [ip_interface(f"10.0.{port}.{number}/24") for port in (0, 1) for number in (2, 3, 4, 5)]


def test_each_further_address_gets_a_lane_that_comes_with_the_mount() -> None:
    main, lane = recipe(protocol="nfs-tcp-trunked").fstab
    assert main.startswith("10.0.0.2:/srv/pool/train /mnt/train nfs ")
    assert lane.startswith("10.0.1.2:/srv/pool/train /run/millrace/lanes/train/10.0.1.2 nfs ")
    assert "x-systemd.automount" in main and "x-systemd.automount" not in lane
    assert "x-systemd.wanted-by=mnt-train.mount,x-systemd.after=mnt-train.mount" in lane


def test_every_mount_has_the_same_options_because_the_first_one_decides() -> None:
    made = recipe(protocol="nfs-tcp-trunked", served=replace(TRAIN, addresses=EIGHT))
    assert len({line.split()[3].split(",_netdev")[0] for line in made.fstab}) == 1
    assert "nconnect=8,max_connect=16,trunkdiscovery" in made.fstab[0]


def test_the_units_of_the_lanes_follow_the_mount() -> None:
    made = recipe(protocol="nfs-tcp-trunked")
    (lane,) = [one for one in made.units if "lanes" in one.path]
    assert lane.path == "/etc/systemd/system/run-millrace-lanes-train-10.0.1.2.mount"
    assert "After=mnt-train.mount" in lane.text
    assert "WantedBy=mnt-train.mount" in lane.text


def test_the_kernel_adds_one_connection_for_each_further_address() -> None:
    made = recipe(protocol="nfs-tcp-trunked", served=replace(TRAIN, addresses=EIGHT))
    assert made.expect.lanes == 8 + 7
    assert made.expect.lane_addresses == [str(one.ip) for one in EIGHT]


def test_trunk_over_rdma_has_one_connection_for_each_address() -> None:
    made = recipe(protocol="nfs-rdma-trunked", served=replace(TRAIN, rdma=EIGHT))
    assert made.expect.lanes == 8 and made.expect.port == 20049
    assert len({line.split()[3].split(",_netdev")[0] for line in made.fstab}) == 1
    assert "proto=rdma,port=20049,max_connect=16" in made.fstab[0]
    assert "nconnect=" not in made.fstab[0] and "trunkdiscovery" not in made.fstab[0]


def test_with_a_host_name_any_address_may_be_the_first_so_all_have_a_lane() -> None:
    made = recipe(protocol="nfs-tcp-trunked", host="nas.example.com")
    assert made.fstab[0].startswith("nas.example.com:/srv/pool/train /mnt/train ")
    assert [line.split(":")[0] for line in made.fstab[1:]] == ["10.0.0.2", "10.0.1.2"]
    assert made.zone and "nas.example.com. 300 IN A 10.0.1.2" in made.zone


def test_no_more_addresses_than_the_kernel_takes() -> None:
    many = [ip_interface(f"10.0.0.{number}/24") for number in range(2, 22)]
    made = recipe(protocol="nfs-tcp-trunked", served=replace(TRAIN, addresses=many))
    assert len(made.fstab) == 16
    assert any("Skipped addresses of the server: 4" in note.text for note in made.notes)


def test_the_text_has_the_caveat_of_the_talk() -> None:
    words = " ".join(note.text for note in recipe(protocol="nfs-tcp-trunked").notes)
    assert "Ubuntu" in words and "secondary addresses" in words and "one host name" in words


def test_a_zone_has_every_address_of_both_families() -> None:
    made = zone("nas", TRAIN.addresses)
    records = [line for line in made.text.splitlines() if not line.startswith(";")]
    assert records == ["nas 300 IN A 10.0.0.2", "nas 300 IN A 10.0.1.2", "nas 300 IN AAAA fd00:1::2"]


def test_a_complete_name_ends_in_a_dot_in_the_zone() -> None:
    assert "nas.example.com. 300 IN A 10.0.0.2" in zone("nas.example.com", TRAIN.addresses).text
