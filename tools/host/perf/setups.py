# SPDX-License-Identifier: Apache-2.0
"""How a pool is built: by the planner and the provisioner of the appliance, or by the defaults of the tools.

The planner sees a 1U12 with ten data drives and two small ones; its drives are as small as the emulated ones.
"""

import re
import uuid
from collections.abc import Sequence
from dataclasses import replace

from host.perf.guest.job import Setup
from millrace.inventory.model import Drive, DriveState, Inventory, Nic, NumaNode, PcieLink
from millrace.plan.labels import array_link, array_path
from millrace.plan.model import Plan, Role
from millrace.plan.policy.model import Policy
from millrace.plan.propose import propose
from millrace.storage.provision.create_array import create_command
from millrace.storage.provision.filesystem import mkfs_command
from millrace.storage.record.model import ArrayRecord

MIB, GIB = 1 << 20, 1 << 30
DATA_DRIVES, LOG_DRIVES = 10, 2
# KiB of a leg; a raid0 over legs has a chunk of its own
CHUNK = re.compile(r"--level=raid[56] .*--chunk=(\d+)K")
DATA_MIB, LOG_MIB = 512, 128
# A data partition fills an emulated drive; on a real one a log partition and room for a smaller replacement are beside
# it.
PARTITIONED_MIB = 96 + 16
CORES, MEMORY = 32, 128 * GIB
SPACE = uuid.UUID("4d2f8a4e-6c0b-4c63-9c52-6f7269726163")
# Memory full of zeroes is in sync; a resync would run into the measurement.
IN_SYNC = "--assume-clean"


def inventory(drives: int = DATA_DRIVES) -> Inventory:
    """Return the 1U12 as the appliance would find it, with so many data drives."""
    sizes = [DATA_MIB + PARTITIONED_MIB] * drives + [LOG_MIB] * LOG_DRIVES
    port = Nic(
        name="port0",
        driver="mlx5_core",
        pci_address="0000:80:00.0",
        numa_node=0,
        speed=400_000,
        carrier=True,
        queues=CORES,
        rdma_device=None,
        link=None,
    )
    return Inventory(
        kernel="",
        cpu_model="",
        sockets=1,
        nodes=[NumaNode(id=0, cpus=list(range(CORES)), cores=CORES, memory=MEMORY, socket=0)],
        memory=MEMORY,
        drives=[_drive(number, size * MIB) for number, size in enumerate(sizes)],
        nics=[port],
    )


def _drive(number: int, size: int) -> Drive:
    link = PcieLink(speed=32.0, width=4, max_speed=32.0, max_width=4)
    return Drive(
        name=f"nullb{number}",
        serial=f"D{number:03}",
        wwid=f"eui.{number:016x}",
        model=f"memory {size}",
        firmware="1",
        transport="nvme",
        size=size,
        logical_block=4096,
        physical_block=4096,
        rotational=False,
        removable=False,
        pci_address=f"0000:{number + 1:02x}:00.0",
        numa_node=0,
        link=link,
        state=DriveState.BLANK,
        evidence=[],
    )


def planned(name: str, policy: Policy | None = None, drives: int = DATA_DRIVES) -> Setup:
    """Return what Millrace builds on the 1U12, by the policy of an owner."""
    server = inventory(drives)
    plan = propose(server, policy or Policy())
    if not isinstance(plan, Plan):
        raise AssertionError(f"no plan for the emulated server: {plan.obstacles}")
    devices = {drive.serial: f"/dev/{drive.name}" for drive in server.drives}
    parity = [array.name for array in plan.arrays if array.level in ("raid5", "raid6")]
    knobs = {
        "group_thread_cnt": str(plan.md.group_thread_cnt),
        "stripe_cache_size": str(plan.md.stripe_cache_size),
        "sync_speed_max": str(plan.md.sync_speed_max),
    }
    return Setup(
        name=name,
        arrays=[_create(record, devices) for record in _records(plan)],
        md={array_link(array): knobs for array in parity},
        read_ahead=plan.md.read_ahead,
        mkfs=mkfs_command(plan.filesystem, str(_identity("filesystem")), force=True),
        mount=",".join(plan.filesystem.mount_options),
        sysctl=plan.sysctl,
        nfsd={
            "threads_min": plan.nfsd.threads_min,
            "threads_max": plan.nfsd.threads_max,
            "max_block_size": plan.nfsd.max_block_size,
        },
        export="rw,sync,no_wdelay,no_subtree_check,no_root_squash,insecure,fsid=1",
    )


def _identity(what: str) -> uuid.UUID:
    """The same in every run: a measurement is repeated with the same bytes."""
    return uuid.uuid5(SPACE, what)


def _records(plan: Plan) -> list[ArrayRecord]:
    return [ArrayRecord(array=array, uuid=_digits(array.name), members=[]) for array in plan.arrays]


def _digits(name: str) -> str:
    digits = _identity(name).hex
    return ":".join(digits[at : at + 8] for at in range(0, 32, 8))


def _create(record: ArrayRecord, devices: dict[str, str]) -> list[str]:
    array = record.array
    members = [array_path(name) if array.over_arrays else devices[name] for name in array.members]
    # The emulated drives carry no partitions: the one whose log partition is a hot spare is wholly a data drive here.
    spares = [] if array.role is Role.LOG else [devices[name] for name in array.spares]
    command = create_command(record, members, spares)
    return [*command, IN_SYNC] if array.level != "raid0" else command


def stock() -> Setup:
    """Return what mdadm, mkfs.xfs, mount and nfsd make of the ten drives when only the level is given.

    The internal bitmap is a default too: mdadm adds it by itself to members of 100 GB and more.
    """
    members = [f"/dev/nullb{number}" for number in range(DATA_DRIVES)]
    create = ["mdadm", "--create", array_path("data"), "--run", "--level=6", f"--raid-devices={DATA_DRIVES}"]
    return Setup(
        name="stock",
        arrays=[[*create, "--bitmap=internal", *members, IN_SYNC]],
        md={},
        read_ahead=None,
        mkfs=["mkfs.xfs", "-f", array_path("data")],
        mount="",
        sysctl={"vm.dirty_background_ratio": "10", "vm.dirty_ratio": "20"},
        nfsd=None,
        export="rw,sync,no_subtree_check,no_root_squash,insecure,fsid=1",
    )


def with_log_on(setup: Setup, name: str, drives: Sequence[int]) -> Setup:
    """Return the same setup with the log on other drives."""
    old = [f"/dev/nullb{DATA_DRIVES + number}" for number in range(LOG_DRIVES)]
    new = [f"/dev/nullb{number}" for number in drives]
    swap = dict(zip(old, new, strict=True))
    return replace(setup, name=name, arrays=[[swap.get(word, word) for word in argv] for argv in setup.arrays])


def by_chunk(setup: Setup, name: str) -> Setup:
    """Return the same setup with the chunk as stripe unit of XFS, as pools of one array were made at first."""
    (chunk,) = {int(found[1]) << 10 for argv in setup.arrays if (found := CHUNK.search(" ".join(argv)))}

    def word(given: str) -> str:
        found = re.fullmatch(r"su=(\d+),sw=(\d+),(agsize=\d+)", given)
        return f"su={chunk},sw={int(found[1]) // chunk * int(found[2])},{found[3]}" if found else given

    return replace(setup, name=name, mkfs=[word(given) for given in setup.mkfs])


def metadata_on_log_drives(setup: Setup, name: str, extent: int | None = None) -> Setup:
    """Return the same drives with the data device of XFS on the mirror of the log, and the RAID as realtime device.

    `extent` is the size of its extents in bytes, None for blocks: the kernel clones no larger ones.
    """
    shared = "metadir=1,rmapbt=1" if extent is None else "metadir=1,rmapbt=1,reflink=0"
    realtime = f"rtdev={array_path('data')}" + (f",extsize={extent}" if extent else "")
    return replace(
        setup,
        name=name,
        mkfs=[
            *("mkfs.xfs", "-f", "-m", shared, "-d", "rtinherit=1", "-l", f"internal,size={LOG_MIB // 2}m"),
            *("-r", realtime, array_path("log")),
        ],
        mount=",".join(
            word if not word.startswith("logdev=") else f"rtdev={array_path('data')}" for word in setup.mount.split(",")
        ),
        device=array_path("log"),
        realtime=True,
    )


def without_bitmap(setup: Setup, name: str) -> Setup:
    """Return the same setup without write-intent bitmaps."""

    def plain(argv: list[str]) -> list[str]:
        return ["--bitmap=none" if word == "--bitmap=internal" else word for word in argv]

    return replace(setup, name=name, arrays=[plain(argv) for argv in setup.arrays])


def with_journal(setup: Setup, name: str, mode: str) -> Setup:
    """Return the same setup with md's journal on a mirror of two more drives, `write-through` or `write-back`.

    With `write-back` md acknowledges what is in the journal, and writes data and parity later (kernel 7.2,
    Documentation/admin-guide/md.rst, raid5-cache). A journal takes the place of the bitmap.
    """
    first = DATA_DRIVES + LOG_DRIVES
    members = [f"/dev/nullb{number}" for number in range(first, first + LOG_DRIVES)]
    journal = array_path("journal")
    mirror = ["mdadm", "--create", journal, "--run", "--level=1", f"--raid-devices={LOG_DRIVES}", "--bitmap=none"]

    def journalled(argv: list[str]) -> list[str]:
        if array_path("data") not in argv:
            return argv
        return [word for word in argv if not word.startswith("--bitmap")] + ["--write-journal", journal]

    arrays = [[*mirror, *members, IN_SYNC], *map(journalled, setup.arrays)]
    return replace(with_md(setup, name, journal_mode=mode), arrays=arrays)


def with_md(setup: Setup, name: str, **attributes: str) -> Setup:
    """Return the same setup with other attributes of its parity arrays."""
    return replace(setup, name=name, md={array: {**given, **attributes} for array, given in setup.md.items()})
