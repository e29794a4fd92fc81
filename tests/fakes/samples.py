# SPDX-License-Identifier: Apache-2.0
"""A 1U12's plan and pool as the rooms after provisioning see them, and tools that only remember being called."""

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_interface
from pathlib import Path
from typing import ClassVar
from uuid import UUID

from millrace.lifecycle.adopt.model import FoundArray, FoundPool, KeptState
from millrace.plan.model import Filesystem, MdArray, MdSettings, Nfsd, Plan, Role
from millrace.serve.config.model import Config, first_config
from millrace.serve.share.desired import ServerContext, resolve
from millrace.serve.share.model import Share
from millrace.storage.record.model import ArrayRecord, DriveRecord, MemberRecord, PartitionRecord, Pool
from millrace.system.net import Interface
from millrace.system.run import Result
from tests.fakes import samba
from tests.fakes.commands import Commands, UnknownCommand, takes

# What a server does with its services when a share, a port or a membership changed.
SERVING = (
    "systemctl start *.service",
    "systemctl stop *.service ...",
    "systemctl restart *.service",
    "systemctl restart --no-block --job-mode=ignore-dependencies *.service",
    "systemctl is-active --quiet *.service",
    "exportfs -ra",
    "smbcontrol smbd close-share *",
    "smbcontrol smbd reload-config",
    "testparm -s *",
    *samba.TAKEN,
)
# What tells how a server is. None of these succeeds silently: a test says what it prints.
READING = (
    "journalctl --boot --unit=*.service --identifier=millrace --lines=1 --output=cat",
    "journalctl --quiet --no-pager --output=json --output-fields=MESSAGE [--since=*] MESSAGE_ID=* _TRANSPORT=driver",
    "journalctl --quiet --no-pager --output=json --all --lines=* --output-fields=MESSAGE *=smbd_audit _GID=0",
    "ethtool -i *",
    "ip -j addr",
    "mdadm --detail --export /dev/*",
    "nft --stateless --terse list ruleset",
    "nft list set inet millrace *",
    "pdbedit -s /dev/null -L -w",
    "smbstatus --json",
    "ss -Htn state established sport = :2049",
    "systemctl list-units --state=failed,auto-restart --output=json",
    "systemctl is-system-running",
    "systemctl show --property=ActiveState --value *",
    "systemctl show --property=InactiveExitTimestamp --property=InactiveExitTimestampMonotonic srv-pool.mount",
    "timedatectl show --property=NTP --property=NTPSynchronized",
    "xfs_quota -x -c report?-p?-n?-N?-b /srv/pool",
)


class Tools(Commands):
    """Tools of a server that serves, with answers by the beginning of a command line."""

    TAKEN: ClassVar[Iterable[str]] = (*READING, *SERVING)

    def __init__(self, answers: Mapping[str, Result] | None = None) -> None:
        super().__init__()
        self.samba = samba.SambaSids(lambda: "POOL")
        self.broken.update(answers or {})

    def _tdbdump(self, words: list[str], stdin: str) -> Result:
        self.samba.sids.setdefault(words[1].rpartition("/")[2], samba.FIRST)
        return self.samba.tdbdump(words)

    def works(self, words: Sequence[str], stdin: str) -> Result:
        if any(takes(pattern, words) for pattern in READING):
            raise UnknownCommand(words)
        return super().works(words, stdin)


def array(name: str, level: str, members: list[str]) -> MdArray:
    return MdArray.model_validate(
        {
            "name": name,
            "level": level,
            "members": members,
            "over_arrays": level == "raid0",
            "role": Role.LOG if name == "log" else Role.DATA,
            "chunk": None if level == "raid1" else 131072,
            "data_members": 1 if level == "raid1" else len(members) - 2,
            "bitmap": "none" if level == "raid0" else "internal",
            "bitmap_chunk": None,
        }
    )


DATA = array("data", "raid6", [f"D{number}" for number in range(10)])
LOG = array("log", "raid1", ["L0", "L1"])

NFSD = Nfsd(threads_min=8, threads_max=64, pool_mode="pernode", max_block_size=1048576, lease_time=45, grace_time=45)

FILESYSTEM = Filesystem(
    label="millrace",
    mountpoint="/srv/pool",
    device="/dev/md/millrace-data",
    log_device="/dev/md/millrace-log",
    log_size=2136997888,
    stripe_unit=131072,
    stripe_width=8,
    allocation_groups=32,
    sector=4096,
    mount_options=["noatime"],
)


def plan(arrays: Sequence[MdArray] = (DATA, LOG)) -> Plan:
    return Plan(
        title="RAID6 of 10 drives",
        capacity=8 * 10**12,
        drives=[],
        arrays=list(arrays),
        filesystem=FILESYSTEM,
        nfsd=NFSD,
        md=MdSettings(group_thread_cnt=4, stripe_cache_size=8192, sync_speed_max=2000000, read_ahead=16384),
        sysctl={"vm.dirty_bytes": "1073741824", "net.ipv4.tcp_wmem": "4096 65536 16777216"},
        decisions=[],
        warnings=[],
    )


def pool(arrays: Sequence[MdArray] = (DATA, LOG)) -> Pool:
    return Pool(
        plan_sha256="a" * 64,
        created="2026-11-20T04:00:00+00:00",
        arrays=[
            ArrayRecord(
                array=raid,
                uuid="00000000:00000000:00000000:00000001",
                members=[MemberRecord(serial=name, wwid="", partuuid="", label="") for name in raid.members],
            )
            for raid in arrays
        ],
        filesystem=FILESYSTEM,
        filesystem_uuid="5f0c2d43-8a86-4d9e-9d51-0f3d0f4f7a11",
    )


EXTERNAL = ("5d1b2f3c-7a66-4c0e-9a53-0b6f1c2d3e4f", "0c9d7a52-53b1-4f0e-8a71-2d5f0f0f6a10")
"""The GUIDs of the partitions on the external devices of the data and of the log."""


def external_pool(*serials: str) -> Pool:
    """The pool on one external device without arrays, with a second serial its log on another one."""
    drives = [
        DriveRecord(
            serial=serial,
            wwid="",
            disk_label=f"disk-{serial}",
            partitions=[PartitionRecord(role=role, size=1 << 40, label=f"millrace-{role}-00", partuuid=partuuid)],
            discard=True,
        )
        for serial, role, partuuid in zip(serials, (Role.DATA, Role.LOG), EXTERNAL, strict=False)
    ]
    filesystem = FILESYSTEM.model_copy(
        update={"device": f"/dev/disk/by-partuuid/{EXTERNAL[0]}", "log_device": None, "stripe_unit": 1 << 20}
    )
    update = {"backend": "external", "arrays": [], "drives": drives, "filesystem": filesystem}
    return pool().model_copy(update=update)


def add_external(root: Path, name: str, partuuid: str = EXTERNAL[0], linked: bool = True) -> Path:
    """A partition (`vda1`) of an external device in sysfs, with udev's link; return its directory."""
    there = root / "sys/devices" / name[:-1] / name
    (there.parent / "queue").mkdir(parents=True, exist_ok=True)
    there.mkdir()
    (there / "partition").write_text("1\n")
    (there / "uevent").write_text(f"PARTN=1\nPARTUUID={partuuid}\n")
    names = root / "sys/class/block"
    names.mkdir(parents=True, exist_ok=True)
    for directory in (there.parent, there):
        (names / directory.name).symlink_to(directory)
    link = root / "dev/disk/by-partuuid" / partuuid
    link.parent.mkdir(parents=True, exist_ok=True)
    if linked:
        link.symlink_to(f"../../{name}")
    return there


def found_pool(
    uuid: str | None = None,
    arrays: Sequence[FoundArray] = (),
    missing: int = 0,
    kept: KeptState | None = None,
    problem: str | None = None,
) -> FoundPool:
    """A pool that the drives of this server carry, the one of `pool()` where no other is named."""
    return FoundPool(
        uuid=uuid or pool().filesystem_uuid, arrays=list(arrays), missing=missing, kept=kept, problem=problem
    )


def port(name: str, *addresses: str, speed: int | None = 100000, carrier: bool = True) -> Interface:
    return Interface(name, [ip_interface(text) for text in addresses], carrier, speed)


def surroundings(networks: Sequence[str] = ("10.0.0.0/24",), of: Pool | None = None) -> ServerContext:
    return ServerContext("/srv/pool", UUID((of or pool()).filesystem_uuid), list(networks), True)


def default_share(of: Pool, named: Sequence[str], privileged: bool, ports: Sequence[Interface]) -> Share:
    """The share `data` of a server on which nobody decided anything yet."""
    context = ServerContext("/srv/pool", UUID(of.filesystem_uuid), list(named), privileged, ports)
    return resolve(first_config().shares[0], first_config(), context)


def resolved(config: Config, networks: Sequence[str] = ("10.0.0.0/24",)) -> dict[str, Share]:
    """All shares of a desired state, by name."""
    return {one.name: resolve(one, config, surroundings(networks)) for one in config.shares}
