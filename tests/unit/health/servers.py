# SPDX-License-Identifier: Apache-2.0
"""Servers for the health checks: one that is well, to be hurt by the tests."""

import json
import os
from collections.abc import Callable
from pathlib import Path

from millrace import paths, store
from millrace.command import Result
from millrace.health.host import Host
from millrace.health.model import Finding
from tests.unit.certificate.made import certify
from tests.unit.plan import servers_hw
from tests.unit.share.samples import Tools, listen, plan, pool
from tests.unit.tune.fake_sysfs import add_array, add_drive, add_nfsd, add_nfsd_threads, add_node

# One port with one address, as `ip -j addr` prints it.
ADDRESSES = json.dumps(
    [
        {
            "ifname": "enp1s0",
            "link_type": "ether",
            "address": "52:54:00:00:00:01",
            "addr_info": [{"local": "10.0.0.2", "prefixlen": 24, "scope": "global"}],
        }
    ]
)

WELL = {
    "ip -j addr": Result(0, ADDRESSES, ""),
    "systemctl is-system-running": Result(0, "running\n", ""),
    "systemctl --failed": Result(0, "[]\n", ""),
    "systemctl show --property=ActiveState": Result(0, "active\n", ""),
}


def well(root: Path) -> None:
    """A 1U12 that serves."""
    for number in range(12):
        add_drive(root, f"nvme{number}n1")
    add_array(root, "data", "md127", [f"nvme{number}n1p1" for number in range(2, 12)], parity=True)
    add_array(root, "log", "md126", ["nvme0n1p1", "nvme1n1p1"], parity=False)
    for device in ("md126", "md127"):
        set_md(root, device, array_state="clean", degraded="0", sync_action="idle", sync_completed="none")
    (root / "proc/1").mkdir(parents=True)
    (root / "proc/1/mounts").write_text("/dev/md127 /srv/pool xfs rw,noatime 0 0\n")
    (root / "srv/pool/data").mkdir(parents=True)
    add_nfsd(root, 16, ["tcp 2049", "tcp 2049"])
    for node, cpus in enumerate(("0-1", "2-3")):
        add_node(root, node, cpus)
        add_nfsd_threads(root, *[cpus] * 8, first=100 + 8 * node)
    (root / "etc/exports.d").mkdir(parents=True)
    (root / "etc/exports.d/millrace.exports").write_text("# why\n/srv/pool/data 10.0.0.0/24(rw)\n")
    (root / "sys/class/net/enp1s0/device").mkdir(parents=True)
    (root / "sys/class/net/enp1s0/carrier").write_text("1\n")
    listen(root, "0.0.0.0:2049", "10.0.0.2:445")
    (root / "etc/millrace").mkdir(parents=True)
    (root / "etc/millrace/policy.toml").write_text('[nfs]\nnetworks = ["10.0.0.0/24"]\n')
    store.write_model(paths.pool_file(), pool())
    store.write_model(paths.approved_plan_file(), plan())
    store.write_model(paths.inventory_file(), servers_hw.one_u_12())
    certify(addresses=["10.0.0.2"])


def set_md(root: Path, device: str, **attributes: str) -> None:
    for name, text in attributes.items():
        (root / "sys/class/block" / device / "md" / name).write_text(f"{text}\n")


def host(**answers: Result) -> Host:
    """`host(show=Result(…))` replaces the answer of systemctl show, and so on."""
    names = {
        "running": "systemctl is-system-running",
        "failed": "systemctl --failed",
        "show": "systemctl show --property=ActiveState",
        "since": "systemctl show --property=InactiveExitTimestamp",
    }
    return Host(Tools({**WELL, **{names[key]: answer for key, answer in answers.items()}}))


def sentences(findings: list[Finding]) -> str:
    return "\n".join(f"{one.level}: {one.sentence} [{one.todo or ''}]" for one in findings)


def filled(percent: int) -> Callable[[Path], os.statvfs_result]:
    """A statvfs of a 100 TB file system that is `percent` full."""
    blocks = 100 * 10**12 // 4096
    free = blocks * (100 - percent) // 100
    return lambda path: os.statvfs_result((4096, 4096, blocks, free, free, 0, 0, 0, 0, 255))
