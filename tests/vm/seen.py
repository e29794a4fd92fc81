# SPDX-License-Identifier: Apache-2.0
"""What the web console is told must be what the kernel says."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from tests.vm.box import Box, node_of


def pool_is_as_the_kernel_has_it(box: Box) -> None:
    shown = box.shown("pool show --json")
    spares = {array["name"]: array["spares"] for array in box.plan["arrays"]}
    for array in shown["arrays"]:
        name = array["name"]
        assert array["uuid"] == box.array_detail(name)["MD_UUID"]
        assert array["degraded"] == int(box.array_sysfs(name, "md/degraded"))
        assert array["size"] == 512 * int(box.array_sysfs(name, "size"))
        there = [member for member in array["members"] if member["state"] != "missing"]
        assert {member["serial"] for member in there} == box.members_by_serial(name)
        states = {member["serial"]: "spare" if member["serial"] in spares[name] else "in-sync" for member in there}
        assert {member["serial"]: member["state"] for member in there} == states
    filesystem = shown["filesystem"]
    size, free = map(int, box.say("stat -f -c '%b %a' /srv/pool").split())
    block = int(box.say("stat -f -c %S /srv/pool"))
    assert (filesystem["mounted"], filesystem["size"]) == (True, size * block)
    assert abs(filesystem["free"] - free * block) < size * block // 100
    assert shown["notes"] == []


def topology_is_as_the_kernel_has_it(box: Box) -> None:
    topology = box.shown("topology --json")
    nodes = {node["node"]: node for node in topology["nodes"] if node["node"] is not None}
    for number, node in nodes.items():
        assert node["cpus"] == box.say(f"cat /sys/devices/system/node/node{number}/cpulist")
        for drive in node["drives"]:
            if drive["state"] == "boot" or not drive["present"]:
                continue
            where = f"/sys/block/{drive['name']}"
            assert box.say(f"cat {where}/device/serial") == drive["serial"]
            assert set(box.say(node_of(where)).split()) == {str(number)}
        for port in node["ports"]:
            assert box.say(f"cat /sys/class/net/{port['name']}/carrier") == str(int(port["link"]))
            assert {address.partition("/")[0] for address in port["addresses"]} <= set(
                box.say(f"ip -br addr show {port['name']} | tr '/ ' '\\n\\n'").split()
            )
    threads = topology["nfsd"]["threads"] + sum(node["nfsd"]["threads"] for node in topology["nodes"])
    assert threads == int(box.say("pgrep -cx nfsd"))
    roles = {drive["serial"]: drive["role"] for drive in box.plan["drives"]}
    seen = {drive["serial"]: drive["role"] for node in topology["nodes"] for drive in node["drives"] if drive["serial"]}
    assert {serial: seen[serial] for serial in roles if serial} == {serial: roles[serial] for serial in roles if serial}


def status_is_as_the_box_is(box: Box) -> None:
    status = box.shown("status --json")
    assert (status["product"], status["hostname"]) == ("Millrace", box.say("hostname"))
    assert f"IMAGE_VERSION={status['version']}" in box.say("cat /etc/os-release").replace('"', "")
    assert status["health"]["level"] == box.shown("health --json")["level"]
    assert {one["address"] for one in status["addresses"]} <= set(box.say("hostname -I").split())
    assert status["pool"]["filesystem_uuid"] == box.pool["filesystem_uuid"]
    assert status["as_root"]


def watched(box: Box, lines: int, user: str = "root") -> list[dict[str, Any]]:
    """So many lines of `millrace watch`, asked by a user."""
    said = box.say(f"setpriv --reuid {user} --regid {user} --init-groups millrace watch --json | head -n {lines}")
    return [json.loads(line) for line in said.splitlines()]


def written(lines: list[dict[str, Any]], row: int) -> float:
    """The bytes that the rates of a protocol add up to."""
    rates = [(line["time"], line["protocols"][row]["write_bytes_per_second"]) for line in lines]
    return sum(rate * (now - before) for (before, _), (now, rate) in pairwise(rates) if rate is not None)


def more_lines(box: Box, number: int) -> None:
    """Wait until who watches was told so many lines more."""
    there = int(box.say("wc -l < /run/watched"))
    box.machine.wait_command(f"test $(wc -l < /run/watched) -ge {there + number}", f"{number} more lines", 120)


@contextmanager
def watching(box: Box) -> Iterator[list[dict[str, Any]]]:
    """Watch while something happens; afterwards the list has the lines."""
    lines: list[dict[str, Any]] = []
    box.say("rm -f /run/watched; systemd-run --unit=watching sh -c 'exec millrace watch --json > /run/watched'")
    box.machine.wait_command("test $(wc -l < /run/watched) -ge 2", "two lines", 120)
    try:
        yield lines
    finally:
        box.say("systemctl stop watching")
    # the last line may be cut
    lines += [json.loads(line) for line in box.say("head -n -1 /run/watched").splitlines()]
