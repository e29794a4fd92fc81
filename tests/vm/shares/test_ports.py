# SPDX-License-Identifier: Apache-2.0
"""Several addresses on a port: given by one command, served on both protocols, in the zone file, or taken back."""

import pytest

from tests.vm.box import CLIENT_ADDRESSES, SERVER_ADDRESSES, Box
from tests.vm.shares.words import MORE_ADDRESSES
from vm.machine import Machine
from vm.qemu import FORWARDED_FROM

MANAGEMENT = "52:54:00:4d:00:00"

pytestmark = pytest.mark.usefixtures("models")


def test_port_with_several_addresses_is_served_on_each(box: Box, client: Machine, trunk: list[str]) -> None:
    assert any(line.startswith("NFS listens on") for line in trunk)
    assert any(line.startswith("SMB listens on") for line in trunk)
    for address in MORE_ADDRESSES:
        client.run(f"mount -t nfs4 -o vers=4.2 {address}:/srv/pool/models /mnt && umount /mnt", seconds=300)
    listed = client.run(f"smbclient -A /run/anna //{MORE_ADDRESSES[-1]}/models -c ls", check=False, seconds=300)
    assert listed.status == 0, listed.err
    zone = box.shown("client zone --host nas.example.org --json")
    assert {*SERVER_ADDRESSES, *MORE_ADDRESSES} <= set(zone["addresses"])
    assert f"nas.example.org. 300 IN A {MORE_ADDRESSES[0]}" in zone["text"]


def test_address_of_another_host_is_rolled_back_with_the_reason(box: Box, trunk: list[str]) -> None:
    port = box.link(MORE_ADDRESSES[0])
    wanted = f"--address {SERVER_ADDRESSES[0]}/24 --address {CLIENT_ADDRESSES[0]}/24"
    said = box.millrace(f"network set {port['name']} {wanted}", check=False, seconds=600)
    assert said.status == 1
    assert f"{CLIENT_ADDRESSES[0]}/24 did not come up" in said.err and "nothing was changed" in said.err
    for address in port["addresses"]:
        there = f"ip -4 -o addr show dev {port['name']} to {address.partition('/')[0]} | grep -q ."
        box.machine.wait_command(there, f"{address} again", 120)
    after = box.link(port["name"])
    assert sorted(after["addresses"]) == sorted(port["addresses"])
    assert after["fixed"] == port["fixed"]


def test_management_port_serves_no_client(box: Box, trunk: list[str]) -> None:
    port = box.link(MANAGEMENT)
    (address,) = [address.partition("/")[0] for address in port["addresses"] if ":" not in address]
    listens = f"ss -Hltn src {address}:445 | grep -q ."
    box.machine.run(listens)
    assert FORWARDED_FROM in {network["network"] for network in box.shown("share networks list --json")["found"]}
    box.change_network(f"set {port['name']} --management")
    try:
        box.machine.wait_command(f"! {listens}", "SMB to leave the management port", 120)
        assert FORWARDED_FROM not in {
            network["network"] for network in box.shown("share networks list --json")["found"]
        }
        assert address not in box.shown("client zone --host nas.example.org --json")["addresses"]
    finally:
        box.change_network(f"set {port['name']} --no-management")
    box.machine.wait_command(listens, "SMB on the port again", 120)


BAD = [
    ["nothere", "--address", "10.77.0.9/24"],
    ["PORT"],
    ["PORT", "--gateway", "10.77.0.2"],
    ["PORT", "--address", "10.77.0.9"],
    ["PORT", "--address", "10.77.0.255/24"],
    ["PORT", "--address", "10.77.0.9/24\nDHCP=yes"],
    ["PORT", "--address", f"{SERVER_ADDRESSES[1]}/24"],
    ["PORT", "--address", "10.77.0.9/24", "--gateway", "192.0.2.1"],
]


def test_bad_addresses_are_refused_in_one_sentence_and_change_nothing(box: Box, trunk: list[str]) -> None:
    name = box.say(f"ip -o -4 address show to {SERVER_ADDRESSES[0]} | awk '{{print $2}}'")
    state = "sha256sum /var/lib/millrace/config.json /etc/systemd/network/*; ip -4 -br addr"
    before = box.say(state)
    for words in BAD:
        said = box.millrace(["network", "set", *(name if one == "PORT" else one for one in words)], check=False)
        assert said.status in {1, 2}, said
        assert len(said.err.strip().splitlines()) == 1, said
    assert box.say(state) == before
