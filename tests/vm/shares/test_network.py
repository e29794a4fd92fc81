# SPDX-License-Identifier: Apache-2.0
"""The network is changed on trial: confirmed, rolled back after a minute, by hand and by a power cut.

The second port gets a VLAN, an MTU and is bonded; nothing on the other end of its cable speaks LACP.
"""

from collections.abc import Iterator

import pytest

from tests.vm.box import CLIENT_ADDRESSES, MTU, SERVER_ADDRESSES, Box
from tests.vm.shares.words import HOST
from vm.client import data_nics
from vm.machine import Machine

VLAN, SERVER_VLAN, CLIENT_VLAN = 100, "10.78.0.1", "10.78.0.2"
FILES = "ls /etc/systemd/network | grep millrace; true"
# Seconds, after which a change that nobody confirms has gone back; emulated, putting back takes its time, too.
MINUTE = 60


@pytest.fixture
def port(box: Box) -> Iterator[str]:
    """The name of the second port, which has what its credential says before and after."""
    name = str(box.link(SERVER_ADDRESSES[1])["name"])
    yield name
    trial = box.shown("network show --json")["trial"]
    if trial and trial["state"] == "waiting":
        box.millrace("network rollback", seconds=600)
    for made in ("vlan100", "bond0"):
        if any(link["name"] == made for link in box.shown("network show --json")["links"]):
            box.change_network(f"remove {made}")
    assert (
        SERVER_ADDRESSES[1]
        in box.machine.wait_command(
            f"ip -4 -o addr show dev {name} | grep -w {SERVER_ADDRESSES[1]}", "the address of the port", 120
        ).out
    )


# by hand: it takes more minutes than CI has
@pytest.mark.soak
def test_change_that_nobody_confirms_is_rolled_back(box: Box, port: str) -> None:
    said = box.millrace(f"network set {port} --address {SERVER_ADDRESSES[1]}/24 --address 10.77.1.11/24", seconds=600)
    assert "Rolled back in 60 s unless confirmed: millrace network confirm" in said.out
    assert box.shown("network show --json")["trial"]["state"] == "waiting"
    box.machine.wait_command(f"! ip -4 -o addr show dev {port} | grep -w 10.77.1.11", "the rollback", 5 * MINUTE)
    box.machine.wait_command("! systemctl is-active -q millrace-network-trial.service", "its end", MINUTE)
    trial = box.shown("network show --json")["trial"]
    assert trial["state"] == "rolled-back" and "nobody confirmed it within 60 s" in trial["problem"]
    late = box.millrace("network confirm", check=False)
    assert late.status == 1 and "nobody confirmed it" in late.err
    assert f"{port} " not in box.say(FILES)


# by hand until a row of soak has seen it
@pytest.mark.soak
def test_vlan_with_a_large_mtu_reaches_a_client(box: Box, client: Machine, port: str) -> None:
    said = box.change_network(f"vlan {port} {VLAN} --address {SERVER_VLAN}/24 --mtu {MTU}").out
    assert f"vlan{VLAN} has {SERVER_VLAN}/24" in said and f"NFS listens on {SERVER_VLAN}" in said
    other = data_nics(client)[1]
    client.run(f"modprobe 8021q; ip link add link {other} name v100 type vlan id {VLAN}")
    try:
        client.run(f"ip link set v100 mtu {MTU} up && ip address add {CLIENT_VLAN}/24 dev v100")
        path = box.shown(f"network path-mtu {CLIENT_VLAN} --json")
        assert (path["link"], path["configured"], path["carried"]) == (f"vlan{VLAN}", MTU, MTU)
        # a virtual port takes what is larger than its MTU: a policer on the client's side stands for a switch
        client.run("tc qdisc add dev v100 clsact")
        client.run("tc filter add dev v100 ingress matchall action police rate 10gbit burst 1m mtu 1600 drop")
        smaller = box.shown(f"network path-mtu {CLIENT_VLAN} --json")
        assert smaller["carried"] is None or smaller["carried"] < MTU
        # the configuration of Samba has the new address, as multichannel announces it
        assert f"vlan{VLAN}" in box.say("testparm -s --parameter-name=interfaces 2> /dev/null")
    finally:
        client.run("ip link delete v100")
    box.change_network(f"remove vlan{VLAN}")
    assert "vlan" not in box.say("ip -br link") and box.say(FILES).count("vlan") == 0


# by hand until a row of soak has seen it
@pytest.mark.soak
def test_bond_without_a_partner_is_rolled_back_and_active_backup_is_served(box: Box, port: str) -> None:
    words = f"network bond bond0 {port} --address {SERVER_ADDRESSES[1]}/24"
    # a virtual port has no speed, until it is given one
    refused = box.millrace(words, check=False, seconds=600)
    assert refused.status == 1 and f"the speed of {port} is not known" in refused.err
    box.say(f"ethtool -s {port} speed 10000 duplex full")
    refused = box.millrace(words, check=False, seconds=600)
    assert refused.status == 1 and f"no LACP partner responds on {port}" in refused.err
    assert "nothing was changed" in refused.err and "bond0" not in box.say("ip -br link")
    words = f"bond bond0 {port} --mode active-backup --address {SERVER_ADDRESSES[1]}/24 --mtu {MTU}"
    said = box.change_network(words).out
    assert f"bond0 uses {port}" in said and f"NFS listens on {SERVER_ADDRESSES[1]}" in said
    bond = box.link("bond0")
    assert (bond["mode"], bond["members"], bond["mtu"]) == ("active-backup", [port], MTU)
    path = box.shown(f"network path-mtu {CLIENT_ADDRESSES[1]} --json")
    assert path["link"] == "bond0" and path["carried"] == MTU
    box.say(f"ip link set {port} down")
    try:
        findings = [each for each in box.shown("health --json")["findings"] if each["check"] == "ports"]
        assert "No port of bond0 carries data" in str(findings)
    finally:
        box.say(f"ip link set {port} up")


# by hand until a row of soak has seen it
@pytest.mark.soak
def test_dns_and_ntp_servers_are_used_and_a_silent_one_is_a_warning(box: Box, port: str) -> None:
    silent = box.millrace(f"network dns {CLIENT_ADDRESSES[0]} --search example.org", seconds=300)
    assert f"the DNS server {CLIENT_ADDRESSES[0]} does not respond" in silent.err
    assert CLIENT_ADDRESSES[0] in box.say("resolvectl dns")
    box.millrace("network rollback", seconds=300)
    assert CLIENT_ADDRESSES[0] not in box.say("resolvectl dns")
    box.change_network(f"ntp {CLIENT_ADDRESSES[0]}")
    try:
        assert CLIENT_ADDRESSES[0] in box.say("timedatectl show-timesync -p SystemNTPServers")
    finally:
        box.change_network("ntp")


BAD = [
    ("vlan PORT 4095 --address 10.78.0.1/24", "the VLAN ID 4095 is out of range"),
    ("vlan PORT 0 --address 10.78.0.1/24", "the VLAN ID 0 is out of range"),
    ("vlan PORT 7 --address 10.77.0.77/24", "would both be in 10.77.0.0/24"),
    ("set PORT --mtu 65536", "the MTU 65536 is out of range"),
    ("set PORT --mtu 12", "the MTU 12 is out of range"),
    ("set nothere --mtu 1500", "there is no link"),
    ("routes 10.99.0.0/16=192.0.2.1", "is in no network of a fixed address"),
    ("dns not.an.address", "is not an address"),
    ("remove PORT", "there is no bond or VLAN"),
    ("hostname nas_1", "is not a host name"),
    ("path-mtu 127.0.0.1", "is not the address of a client"),
    ("confirm", "no change of the network waits"),
]


# by hand until a row of soak has seen it
@pytest.mark.soak
def test_bad_input_is_one_sentence_and_changes_nothing(box: Box, port: str) -> None:
    state = "sha256sum /var/lib/millrace/config.json; ip -br addr; cat /etc/hostname"
    before = box.say(state)
    for words, sentence in BAD:
        said = box.millrace(f"network {words.replace('PORT', port)}", check=False, seconds=300)
        assert said.status in {1, 2} and len(said.err.strip().splitlines()) == 1, said
        assert sentence in said.err
    assert box.say(state) == before


@pytest.mark.soak
def test_power_cut_in_the_minute_forgets_the_change(box: Box, port: str) -> None:
    box.millrace(f"network vlan {port} {VLAN} --address {SERVER_VLAN}/24", seconds=600)
    box.machine.power_cut()
    box.machine.start()
    box.machine.wait_agent()
    box.wait_serving()
    assert "vlan" not in box.say("ip -br link")
    assert box.shown("network show --json")["trial"] is None
    assert HOST in box.say("ip -4 -br addr")


# by hand until a row of soak has seen it
@pytest.mark.soak
def test_network_of_an_earlier_state_waits_for_its_confirmation(box: Box, port: str) -> None:
    number = max(change["number"] for change in box.shown("config history --json")["changes"])
    box.change_network(f"set {port} --address {SERVER_ADDRESSES[1]}/24 --address 10.77.1.11/24")
    added = f"ip -4 -o addr show dev {port} | grep -w 10.77.1.11"
    said = box.millrace(f"config rollback {number}", seconds=900)
    assert "the network differs: it is in force for 60 s" in said.out + said.err
    assert box.machine.run(added, check=False).status != 0
    box.machine.wait_command(added, "the network that nobody replaced for good", 5 * MINUTE)
    box.machine.wait_command("! systemctl is-active -q millrace-network-trial.service", "its end", MINUTE)
    box.millrace(f"config rollback {number}", seconds=900)
    box.millrace("network confirm", seconds=600)
    assert box.machine.run(added, check=False).status != 0
    assert box.shown("network show --json")["trial"]["state"] == "confirmed"
