# SPDX-License-Identifier: Apache-2.0
"""Servers for the health checks: one that is well, to be hurt by the tests."""

import json
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from millrace.inventory.model import Inventory
from millrace.lifecycle.keep.model import KeepStatus
from millrace.observe.health.host import Host, Probes
from millrace.observe.health.model import HealthFinding
from millrace.plan.settings import SettingsFile, planned_settings
from millrace.serve.certificate import files, pem
from millrace.storage.drive.smart import DriveSmart, SmartReport
from millrace.storage.record.scrub_record import FilesystemScrub, change, stamp
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.heartbeat import Heartbeat
from millrace.system.run import Result
from millrace.system.web_probe import WebReply
from millrace.tune.settings import record
from tests.fakes import firewall
from tests.fakes.certificates import certify
from tests.fakes.mounts import mount
from tests.fakes.samples import Tools, plan, pool
from tests.fakes.sockets import listen
from tests.unit.plan import servers_hw
from tests.unit.tune.fake_sysfs import (
    add_array,
    add_drive,
    add_member,
    add_nfsd,
    add_nfsd_threads,
    add_node,
    add_serial,
)

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
    **{line: Result(0, text, "") for line, text in firewall.PRINTED.items()},
    "systemctl is-system-running": Result(0, "running\n", ""),
    "systemctl list-units --state=failed": Result(0, "[]\n", ""),
    "systemctl show --property=ActiveState": Result(0, "active\n", ""),
}


MOUNTED = "rw,nosuid,nodev,noexec,noatime"
ANSWERING = Probes(lambda address: None, lambda address: None, lambda address: WebReply(None, shown()))


def well(root: Path) -> None:
    """A 1U12 that serves."""
    for number in range(12):
        add_drive(root, f"nvme{number}n1")
        add_serial(root, f"nvme{number}n1", serial(number))
    add_array(root, "data", "md127", [f"nvme{number}n1p1" for number in range(2, 12)], parity=True)
    add_array(root, "log", "md126", ["nvme0n1p1", "nvme1n1p1"], parity=False)
    for device in ("md126", "md127"):
        set_md(root, device, array_state="clean", degraded="0", sync_action="idle", sync_completed="none")
    for number in range(12):
        add_member(root, "md127" if number >= 2 else "md126", f"nvme{number}n1p1", slot=str(number))
    (root / "proc/1").mkdir(parents=True)
    mount(root, "/dev/vda3", "/", "ext4")
    mount(root, "/dev/md127", "/srv/pool", "xfs", MOUNTED)
    (root / "srv/pool/data").mkdir(parents=True)
    add_nfsd(root, 16, ["tcp 2049", "tcp 2049"])
    for node, cpus in enumerate(("0-1", "2-3")):
        add_node(root, node, cpus)
        add_nfsd_threads(root, *[cpus] * 8, first=100 + 8 * node)
    (root / "etc/exports.d").mkdir(parents=True)
    firewall.load(root)
    (root / "etc/exports.d/millrace.exports").write_text("# why\n/srv/pool/data 10.0.0.0/24(rw)\n")
    (root / "run/millrace/nfs").mkdir(parents=True)
    (root / "run/millrace/nfs/etab").write_text("/srv/pool/data\t10.0.0.0/24(rw,sync)\n")
    (root / "sys/class/net/enp1s0/device").mkdir(parents=True)
    (root / "sys/class/net/enp1s0/carrier").write_text("1\n")
    listen(root, "0.0.0.0:2049", "10.0.0.2:445")
    (root / "etc/millrace").mkdir(parents=True)
    (root / "etc/millrace/policy.toml").write_text('[nfs]\nnetworks = ["10.0.0.0/24"]\n')
    write_model(paths.pool_file(), pool())
    record(SettingsFile(release="0.1.0", at="2026-11-20T12:00:00+00:00", settings=planned_settings(plan())))
    write_model(paths.inventory_file(), servers_hw.one_u_12())
    certify(addresses=["10.0.0.2"])
    beats(40)
    keeps()
    xfs_checked(0)
    says([drive_smart(number) for number in range(12)])


def keeps() -> None:
    """The state of this server is on the pool."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    about = {"directory": "/srv/pool/.millrace/keep", "generation": 1, "written": now, "verified": now}
    write_model(paths.keep_file(), KeepStatus.model_validate(about))


def xfs_checked(days: float, problem: str | None = None) -> None:
    """XFS was checked so many days ago."""
    at = stamp(datetime.now(UTC) - timedelta(days=days))
    last = FilesystemScrub(started=at, ended=at, seconds=60, problem=problem)
    change(lambda old: old.model_copy(update={"filesystem": last}))


def serial(number: int) -> str:
    """The serials of the pool of tests.fakes.samples: two drives of the log, then ten of data."""
    return f"L{number}" if number < 2 else f"D{number - 2}"


def place(root: Path, number: int, bay: str) -> None:
    """Drive `number` was in this bay when the server was started."""
    inventory = read_model(paths.inventory_file(), Inventory)
    here = [one.model_copy(update={"serial": serial(number), "bay": bay, "slot": None}) for one in inventory.drives[:1]]
    write_model(paths.inventory_file(), inventory.model_copy(update={"drives": [*inventory.drives[1:], *here]}))


def beats(percent: int = 40, **changes: object) -> None:
    """What the last heartbeat found: a 100 TB file system that is `percent` full."""
    size = 100 * 10**12
    used = size * percent // 100
    found = {"uptime": time.monotonic(), "problem": None, "error": None, "size": size, "used": used}
    found["records_free"] = 27 << 20
    write_model(paths.heartbeat_file(), Heartbeat.model_validate({**found, "free": size - used, **changes}))


def drive_smart(number: int, **changes: object) -> DriveSmart:
    """What a drive that is well says."""
    well = {"temperature": 40, "wear": 3, "critical_warning": 0, "available_spare": 100, "spare_threshold": 10}
    about = {"name": f"nvme{number}n1", "serial": serial(number), "transport": "nvme", "boot": False, "known": True}
    return DriveSmart.model_validate({**about, **well, "media_errors": 0, **changes})


def says(drives: list[DriveSmart], age: float = 0) -> None:
    """What SMART was read so many seconds ago."""
    write_model(paths.smart_file(), SmartReport(uptime=time.monotonic() - age, drives=drives))


def set_md(root: Path, device: str, **attributes: str) -> None:
    for name, text in attributes.items():
        (root / "sys/class/block" / device / "md" / name).write_text(f"{text}\n")


def host(uptime: float = 60, **answers: Result) -> Host:
    """`host(show=Result(…))` replaces the answer of systemctl show, and so on; `uptime` in seconds."""
    names = {
        "running": "systemctl is-system-running",
        "why": "journalctl --boot",
        "failed": "systemctl list-units --state=failed",
        "show": "systemctl show --property=ActiveState",
        "mount": "systemctl show --property=ActiveState --value srv-pool.mount",
        "smbd": "systemctl show --property=ActiveState --value smbd.service",
        "tlshd": "systemctl show --property=ActiveState --value tlshd.service",
        "mountd": "systemctl show --property=ActiveState --value nfs-mountd.service",
        "xfs_scrub": "systemctl show --property=ActiveState --value millrace-xfs-scrub.service",
        "since": "systemctl show --property=InactiveExitTimestamp",
        "heartbeat": "systemctl start millrace-heartbeat.service",
    }
    tools = Tools({**WELL, **{names[key]: answer for key, answer in answers.items()}})
    return Host(tools, ANSWERING, lambda: uptime)


def deaf(nfs: str | None = None, smb: str | None = None) -> Host:
    """A server whose NFS or SMB does not answer, for this reason."""
    return Host(Tools(WELL), Probes(lambda address: nfs, lambda address: smb, ANSWERING.web))


def shown() -> bytes:
    """The certificate of this server, which its web console shows."""
    chain = files.current() / files.CHAIN
    return pem.first_der(chain.read_text()) if chain.exists() else b""


def sentences(findings: list[HealthFinding]) -> str:
    return "\n".join(f"{one.level}: {one.sentence} [{one.todo or ''}]" for one in findings)


def filled(percent: int) -> Callable[[Path], os.statvfs_result]:
    """A statvfs of a 100 TB file system that is `percent` full."""
    blocks = 100 * 10**12 // 4096
    free = blocks * (100 - percent) // 100
    return lambda path: os.statvfs_result((4096, 4096, blocks, free, free, 0, 0, 0, 0, 255))
