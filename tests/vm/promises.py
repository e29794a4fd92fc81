# SPDX-License-Identifier: Apache-2.0
"""What the kernel says must be what the plan said, whatever the shape of the server."""

import json
from collections.abc import Sequence
from typing import Any

from tests.vm.box import Box


def arrays_equal_the_plan(box: Box) -> None:
    records = {record["array"]["name"]: record for record in box.pool["arrays"]}
    assert records and records.keys() == {array["name"] for array in box.plan["arrays"]}
    for array in box.plan["arrays"]:
        name = array["name"]
        detail = box.array_detail(name)
        assert detail["MD_LEVEL"] == array["level"]
        assert int(detail["MD_DEVICES"]) == len(array["members"])
        assert detail["MD_UUID"] == records[name]["uuid"]
        if array["over_arrays"]:
            continue
        assert box.members_by_serial(name) == {*array["members"], *array["spares"]}
        if array["chunk"]:
            assert int(box.array_sysfs(name, "md/chunk_size")) == array["chunk"]
        assert box.array_sysfs(name, "md/bitmap/location").startswith("+") == (array["bitmap"] == "internal")
        assert box.array_sysfs(name, "md/degraded") == "0"


def file_system_equals_the_plan(box: Box) -> None:
    filesystem = box.plan["filesystem"]
    geometry = box.xfs_geometry()
    assert geometry["data.sunit"] * geometry["data.bsize"] == filesystem["stripe_unit"]
    assert geometry["data.swidth"] == geometry["data.sunit"] * filesystem["stripe_width"]
    assert geometry["meta-data.agcount"] == filesystem["allocation_groups"]
    assert geometry["meta-data.agsize"] * geometry["data.bsize"] == filesystem["allocation_group_size"]
    assert box.say("xfs_property /srv/pool get autofsck") == f"autofsck={filesystem['autofsck']}"
    made = {name.rpartition(".")[2]: value for name, value in geometry.items()}
    assert {"crc", "rmapbt", "reflink", "exchange", "parent"} <= set(filesystem["features"])
    assert [feature for feature in filesystem["features"] if made[feature] != 1] == []
    assert made["metadir"] == 0
    # the same by the flags that the heartbeat has read
    findings = box.shown("health --json")["findings"]
    assert [finding for finding in findings if finding["key"] == "filesystem/features"] == []
    assert json.loads(box.say("cat /run/millrace/heartbeat.json"))["features"] & 1 << 25
    assert geometry["meta-data.sectsz"] == filesystem["sector"] == 4096
    assert set(filesystem["mount_options"]) <= box.mount_options()
    assert "not mounted as planned" not in box.millrace("pool verify").err
    if filesystem["log_device"]:
        assert geometry["log.blocks"] * geometry["log.bsize"] == filesystem["log_size"]
        (log,) = (option.split("=")[1] for option in box.mount_options() if option.startswith("logdev="))
        assert box.say(f"readlink -f {log}") == box.say(f"readlink -f {filesystem['log_device']}")


def nfsd_equals_the_plan(box: Box) -> None:
    nfsd = box.plan["nfsd"]
    assert box.say("cat /sys/module/sunrpc/parameters/pool_mode") == nfsd["pool_mode"]
    assert int(box.say("cat /proc/fs/nfsd/max_block_size")) == nfsd["max_block_size"]
    assert int(box.say("cat /proc/fs/nfsd/nfsv4leasetime")) == nfsd["lease_time"]
    assert int(box.say("cat /proc/fs/nfsd/nfsv4gracetime")) == nfsd["grace_time"]
    versions = box.say("cat /proc/fs/nfsd/versions").split()
    assert "+4.2" in versions
    assert "-3" in versions
    # kernel 7.2: these are the most that each pool may have, not what runs now
    assert sum(int(count) for count in box.say("cat /proc/fs/nfsd/pool_threads").split()) == nfsd["threads_max"]
    threads = box.say("nfsdctl threads").splitlines()
    assert f"min-threads: {nfsd['threads_min']}" in threads
    # the pool's, and not the host's name, whoever set the threads last
    assert f"scope: millrace-{box.pool['filesystem_uuid'][:8]}" in threads
    assert "tcp 2049" in box.say("cat /proc/fs/nfsd/portlist")


def md_equals_the_plan(box: Box) -> None:
    plan: dict[str, Any] = box.plan
    md = plan["md"]
    for array in plan["arrays"]:
        if array["level"] in {"raid5", "raid6"}:
            assert int(box.array_sysfs(array["name"], "md/group_thread_cnt")) == md["group_thread_cnt"]
            assert int(box.array_sysfs(array["name"], "md/stripe_cache_size")) == md["stripe_cache_size"]
            assert box.array_sysfs(array["name"], "md/sync_speed_max").split()[0] == str(md["sync_speed_max"])
    assert int(box.array_sysfs("data", "queue/read_ahead_kb")) == md["read_ahead"]
    assert set(box.say("cat /sys/block/nvme*n1/queue/wbt_lat_usec").split()) == {"0"}
    for key, value in plan["sysctl"].items():
        assert box.say(f"sysctl -n {key}").split() == value.split()


# Prints for each queue of each port on a node: port, CPUs of the node, CPUs that its interrupt may go to.
QUEUES = """
import os
def read(path):
    with open(path) as file:
        return file.read().strip()
for port in sorted(os.listdir("/sys/class/net")):
    device = os.path.realpath(f"/sys/class/net/{port}/device")
    card = os.path.dirname(device)
    if not os.path.isdir(f"{card}/msi_irqs") or read(f"{card}/numa_node") == "-1":
        continue
    node = read(f"/sys/devices/system/node/node{read(card + '/numa_node')}/cpulist")
    for irq in os.listdir(f"{card}/msi_irqs"):
        if any("put." in name or "-rx-" in name for name in os.listdir(f"/proc/irq/{irq}")):
            print(port, node, read(f"/proc/irq/{irq}/smp_affinity_list"))
"""


def ports_are_served_by_their_own_node(box: Box) -> None:
    """The interrupt of every queue of a data port goes to one CPU of the port's node."""
    lines = box.machine.run(["python3", "-c", QUEUES]).out.splitlines()
    assert lines
    for line in lines:
        _, local, affinity = line.split()
        first, _, last = local.partition("-")
        assert affinity.isdigit(), line
        assert int(first) <= int(affinity) <= int(last or first), line


def tuning_again_changes_nothing(box: Box, warned: Sequence[str] = ()) -> None:
    """Each warning has its text of `warned`, and there is no other."""
    report = box.shown("tune --diff --json")
    assert report["drift"] == []
    assert len(report["warnings"]) == len(warned), report["warnings"]
    for warning, text in zip(report["warnings"], warned, strict=True):
        assert text in warning


def everything(box: Box, warned: Sequence[str] = ()) -> None:
    """All of the above; `warned` is what tuning warns of."""
    arrays_equal_the_plan(box)
    file_system_equals_the_plan(box)
    nfsd_equals_the_plan(box)
    md_equals_the_plan(box)
    ports_are_served_by_their_own_node(box)
    tuning_again_changes_nothing(box, warned)
