# SPDX-License-Identifier: Apache-2.0
"""A 1U12 made of files, in every state that the pages show: what its verbs print is what the pages are tested with.

It has the hardware under /sys that an `Appliance` lacks; its tools print one text each and change nothing.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import patch

from millrace.inventory.collect import collect as inventory
from millrace.inventory.model import Inventory
from millrace.inventory.surface import surface
from millrace.lifecycle.keep.model import KeepStatus
from millrace.observe.health.collect import collect
from millrace.observe.live import latency
from millrace.plan.model import Plan, Role
from millrace.plan.policy.policy_file import load_policy
from millrace.plan.propose import plan_file, propose
from millrace.serve.config.model import Config, DesiredShare, Group, User
from millrace.serve.config.protocols import Nfs, NfsClient, Smb
from millrace.serve.config.store import change, read
from millrace.serve.share.usage import Usage
from millrace.storage.drive import smart
from millrace.storage.record.change_journal import ChangeJournal, step_names
from millrace.storage.record.drive_change import ChangedDrive, DrivePlan, NewPartition
from millrace.storage.record.identity import new_transaction
from millrace.storage.record.model import Pool, Transaction
from millrace.storage.record.scrub_record import (
    ArrayScrub,
    FileSearch,
    LocatedBlocks,
    MismatchRange,
    Scrubbed,
    ScrubRecord,
)
from millrace.storage.scrub.scrub_due import arrays
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.heartbeat import Heartbeat
from millrace.tune import settings
from tests.fakes import firewall
from tests.fakes.certificates import certify
from tests.fakes.files import tools
from tests.fakes.files.trees import Tree, booted, nothing_found
from tests.fakes.mounts import mount
from tests.fakes.sockets import listen

DATA, LOG = 7_681_501_126_656, 960_197_124_096
LOG_PARTITION = 4 << 30
NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
POLICY = '[nfs]\nnetworks = ["10.77.0.0/24", "10.77.1.0/24"]\n'
SLOW_DRIVE = 6
NAMES, ADDRESSES = ["millrace", "millrace.local"], ["10.77.0.1", "10.77.1.1"]


@dataclass(frozen=True)
class Shape:
    """How many drives a server has for data and for the log, dealt out to two nodes, and the node of each port."""

    data: int = 10
    log: int = 2
    ports: tuple[int, ...] = (0, 1)

    def is_log(self, number: int) -> bool:
        """Whether the drive is one of the smaller ones."""
        return self.data <= number < self.data + self.log


FULL = Shape()
EMPTY = Shape(0, 0)
FAR_PORTS = Shape(18, 2, (1, 1))


class Box:
    """The files of a server below `root`."""

    def __init__(self, root: Path, shape: Shape = Shape()) -> None:
        self.root = root
        self.shape = shape
        self.tree: Tree = booted(root)
        self.tree.cpus(("0-7", ["0-1", "0-1", "2-3", "2-3", "4-5", "4-5", "6-7", "6-7"]), ("8-15", ["8"] * 8))
        self.tree.memory(256 << 20)
        self.tree.write("usr/lib/os-release", "IMAGE_VERSION=0.1.0\n")
        self.tree.write("etc/millrace/policy.toml", POLICY)
        firewall.load(root)
        certify(NAMES, host=NAMES[0], addresses=ADDRESSES, end=datetime(2126, 11, 20, tzinfo=UTC))
        for number in range(shape.data + shape.log):
            self._drive(number, number % 2, "16.0" if number == SLOW_DRIVE else "32.0")
        for number, node in enumerate(shape.ports):
            self._port(number, node)
        write_model(paths.inventory_file(), _looked_at(root, shape))
        self.proposal = propose(read_model(paths.inventory_file(), Inventory), load_policy())
        write_model(paths.plan_file(), plan_file(self.proposal))

    def begin(self, done: int) -> Transaction:
        """Provisioning under way, with so many steps done."""
        assert isinstance(self.proposal, Plan)
        made = new_transaction(self.proposal, NOW.isoformat())
        states = ["done"] * done + ["started"] + ["pending"] * len(made.steps)
        steps = [one.model_copy(update={"state": state}) for one, state in zip(made.steps, states, strict=False)]
        write_model(paths.transaction_file(), made.model_copy(update={"steps": steps}))
        return made

    def provision(self) -> Pool:
        """The pool of the plan, with arrays that run, a file system that is mounted and servers that serve."""
        plan, made = self.proposal, self.begin(0)
        assert isinstance(plan, Plan)
        paths.transaction_file().unlink()
        pool = Pool(
            plan_sha256=plan.digest(),
            created="2026-11-20T10:00:00+00:00",
            drives=made.drives,
            arrays=made.arrays,
            filesystem=plan.filesystem,
            filesystem_uuid=made.filesystem_uuid,
        )
        write_model(paths.approved_plan_file(), plan)
        write_model(paths.pool_file(), pool)
        settings.record(settings.update(settings.current(pool)))
        drives = range(self.shape.data + self.shape.log)
        names = {serial(number, self.shape): f"nvme{number}n1" for number in drives}
        made_of = {
            part.partuuid: self.tree.partition(names[drive.serial], number, part.label, part.partuuid)
            for drive in pool.drives
            for number, part in enumerate(drive.partitions, start=1)
        }
        for number, record in enumerate(pool.arrays):
            partitions = [made_of[member.partuuid] for member in record.members]
            legs = [self._array_dir(leg).name for leg in record.array.members] if record.array.over_arrays else []
            spares = [made_of[spare.partuuid] for spare in record.spares]
            self._array(f"md{127 - number}", record.array.name, [*partitions, *legs], spares, bool(legs))
        options = ",".join(["rw", *plan.filesystem.mount_options])
        mount(self.tree.root, "/dev/md127", plan.filesystem.mountpoint, "xfs", options)
        (self.root / "srv/pool/data").mkdir(parents=True)
        self._serve(plan)
        at = NOW.isoformat(timespec="seconds")
        kept = KeepStatus(directory="/srv/pool/.millrace/keep", generation=1, written=at, verified=at)
        write_model(paths.keep_file(), kept)
        write_model(paths.heartbeat_file(), Heartbeat(uptime=0, problem=None, error=None, **SPACE))
        return pool

    def shares(self) -> None:
        """What an engineer has set up in the first week."""
        change("admin", "group create research", lambda old: old.model_copy(update={"groups": GROUPS}))
        change("admin", "user create anna", lambda old: old.model_copy(update={"users": USERS}))
        change("admin", "share create models", _with_shares)
        for share in read().config.shares:
            (self.root / "srv/pool" / share.name).mkdir(exist_ok=True)
        at = NOW.isoformat(timespec="seconds")
        write_model(paths.usage_file(), Usage(at=at, used=tools.USED))

    def scrub(self) -> None:
        """Every array was checked last Sunday; some parity of the data did not match."""
        started, ended = "2026-11-15T01:00:00+00:00", "2026-11-15T06:58:00+00:00"
        kept = []
        for record in arrays(read_model(paths.pool_file(), Pool)):
            read = (DATA if record.array.name == "data" else LOG_PARTITION) * len(record.members)
            mismatches = 16 if record.array.name == "data" else 0
            last = Scrubbed(started=started, ended=ended, bytes=read, seconds=21480, mismatches=mismatches, bad_areas=0)
            if mismatches:
                place = MismatchRange(begin=7_340_032, end=7_340_048, sectors=mismatches)
                digests = ["6d8f2a2f1b0c9e47", "0c5fb1a7a4d23e90"]
                wrong = LocatedBlocks(
                    begin=place.begin, end=place.end, serial=record.members[3].serial, data=2, digests=digests
                )
                located = [wrong] if record.array.level == "raid6" else []
                why = "" if located else "only RAID6 has two parities, which locate a wrong block"
                last = last.model_copy(update={"ranges": [place], "located": located, "unlocated": why})
            kept.append(ArrayScrub(array=record.array.name, uuid=record.uuid, last=last))
        names = ["data/corpus/shard-0007.tar", "data/models/seven.safetensors"]
        files = FileSearch(at="2026-11-15T07:01:00+00:00", count=len(names), names=names, complete=True)
        write_model(paths.scrub_file(), ScrubRecord(arrays=kept, files=files))

    def look(self) -> None:
        """What millrace-health.service leaves behind."""
        # its drives are files, which know no events
        with patch("os.geteuid", lambda: 0), patch("millrace.storage.drive.smart_events.enable_all", lambda *_: None):
            smart.write()
            write_model(paths.health_file(), collect())

    def md(self, array: str, **attributes: str) -> None:
        """Change what md says of an array."""
        for name, text in attributes.items():
            self.tree.write(self._array_dir(array) / "md" / name, f"{text}\n")

    def pull(self, array: str, number: int) -> None:
        """A data drive leaves: md drops its member, the kernel its block device."""
        member = self._array_dir(array) / f"md/dev-nvme{number}n1p2"
        for entry in member.iterdir():
            entry.unlink()
        member.rmdir()
        (self._array_dir(array) / f"slaves/nvme{number}n1p2").unlink()
        (self.root / f"sys/block/nvme{number}n1").unlink()
        self.md(array, degraded="1")

    def replace(self, array: str, number: int, new: int) -> None:
        """Another drive is put into the same bay and rebuilt onto."""
        self.pull(array, number)
        self._drive(new, number % 2, "32.0", bay=number + 1)
        self._member(array, self.tree.partition(f"nvme{new}n1", 1, "millrace-data-12"), "spare", str(number))
        sectors = DATA // 512
        self.md(array, sync_action="recover", sync_completed=f"{sectors // 4} / {sectors}", sync_speed="1500000")

    def change(self, number: int, new: int) -> ChangeJournal:
        """The change of drives that did this is not finished: md fills the new drive, which has its partitions."""
        old = next(
            drive for drive in read_model(paths.pool_file(), Pool).drives if drive.serial == serial(number, self.shape)
        )
        into = ChangedDrive(serial=serial(new), wwid="", bay=str(number + 1), model="ACME 7T68", size=DATA)
        partitions = [
            NewPartition(role=partition.role, size=partition.size, label=partition.label, array="data", copies=False)
            for partition in old.partitions
            if partition.role is Role.DATA
        ]
        gone = ChangedDrive(serial=old.serial, wwid=old.wwid, bay=str(number + 1), model="ACME 7T68", size=DATA)
        plan = DrivePlan(verb="replace", old=gone, new=into, partitions=partitions, leaves=[])
        journal = ChangeJournal.open(plan, "admin", NOW.isoformat())
        for name in step_names(plan)[:2]:
            journal.start(name)
            journal.done(name)
        return journal

    def count(self, second: int) -> None:
        """The counters of the kernel after so many seconds of steady work."""
        read, written = 9_000_000_000 * second, 2_500_000_000 * second
        self.tree.write("proc/net/rpc/nfsd", f"io {read} {written}\nrpc {11_000 * second} 0 0 0 0\n")
        reads, writes = f"{9000 * second} 0 {read // 5120} {720 * second}", f"{3000 * second} 0 {written // 5120} 60"
        for drive in self.root.glob("sys/class/block/nvme*n1"):
            (drive / "stat").write_text(f"{reads} {writes} 0 0 0\n")
        for node in range(2):
            statistics = f"sys/class/net/ens{node + 1}np0/statistics"
            self.tree.write(f"{statistics}/rx_bytes", f"{written // 2}\n")
            self.tree.write(f"{statistics}/tx_bytes", f"{read // 2}\n")
        if os.geteuid() == 0:
            hist = f"# trigger info: x\n{{ common_cpu: 1 }} hitcount: {11_000 * second} execute: {4_400_000 * second}\n"
            self.tree.write(f"{latency.EVENT}/trigger", f"{latency.TRIGGER}\n")
            self.tree.write(f"{latency.EVENT}/hist", hist)

    def _drive(self, number: int, node: int, speed: str, bay: int | None = None) -> None:
        size = LOG if self.shape.is_log(number) else DATA
        self.tree.nvme(number, serial(number, self.shape), size=size, numa_node=node)
        controller = (self.root / f"sys/class/nvme/nvme{number}").resolve()
        self.tree.write(controller.parent.parent / "current_link_speed", f"{speed} GT/s PCIe\n")
        # The slots of the board are the bays of this server.
        self.tree.write(f"sys/bus/pci/slots/{bay or number + 1}/address", f"0000:{number + 1:02x}:00\n")

    def _port(self, number: int, node: int) -> None:
        name, address = f"ens{number + 1}np0", f"0000:{0x81 + number:02x}:00.0"
        function = self.root / f"sys/devices/pci0000:80/0000:80:0{number + 1}.0/{address}"
        attributes = {"current_link_speed": "32.0 GT/s PCIe", "max_link_speed": "32.0 GT/s PCIe", "numa_node": node}
        for attribute, value in {**attributes, "current_link_width": 16, "max_link_width": 16}.items():
            self.tree.write(function / attribute, f"{value}\n")
        net = function / "net" / name
        for attribute, text in (("carrier", "1"), ("speed", "100000")):
            self.tree.write(net / attribute, f"{text}\n")
        for queue in range(4):
            (net / f"queues/rx-{queue}").mkdir(parents=True)
            irq = 40 + 4 * number + queue
            self.tree.write(function / f"msi_irqs/{irq}", "msix\n")
            self.tree.write(f"proc/irq/{irq}/smp_affinity_list", f"{8 * node + 2 * queue}\n")
            (self.root / f"proc/irq/{irq}/mlx5_comp{queue}@pci:{address}").mkdir()
        (net / "device").symlink_to("../..")
        (self.root / f"sys/class/net/{name}").symlink_to(net)
        rdma, of_class = function / "infiniband" / f"mlx5_{number}", self.root / "sys/class/infiniband"
        rdma.mkdir(parents=True)
        (rdma / "device").symlink_to("../..")
        of_class.mkdir(parents=True, exist_ok=True)
        (of_class / rdma.name).symlink_to(rdma)
        driver = self.root / "sys/bus/pci/drivers/mlx5_core"
        driver.mkdir(parents=True, exist_ok=True)
        (function / "driver").symlink_to(driver)

    def _array(self, device: str, name: str, members: Sequence[str], spares: Sequence[str], over_arrays: bool) -> None:
        self.tree.over(device, *members, *spares)
        link = self.root / f"dev/md/millrace-{name}"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(f"../{device}")
        size = 8 * DATA if name == "data" else LOG_PARTITION
        self.tree.write(f"sys/devices/virtual/block/{device}/size", f"{size // 512}\n")
        self.md(name, array_state="clean")
        # a raid0 has no redundancy to lose: the kernel has no such files for it
        if not over_arrays:
            self.md(name, degraded="0", sync_action="idle", sync_completed="none", sync_speed="none")
        for slot, member in enumerate(members):
            self._member(name, member, "in_sync", str(slot))
        for spare in spares:
            self._member(name, spare, "spare", "none")

    def _member(self, array: str, member: str, state: str, slot: str) -> None:
        self.md(array, **{f"dev-{member}/state": state, f"dev-{member}/slot": slot, f"dev-{member}/errors": "0"})

    def _array_dir(self, array: str) -> Path:
        return self.root / "sys/devices/virtual/block" / Path(os.readlink(self.root / f"dev/md/millrace-{array}")).name

    def _serve(self, plan: Plan) -> None:
        nfsd = "proc/fs/nfsd"
        self.tree.write(f"{nfsd}/threads", f"{plan.nfsd.threads_max}\n")
        self.tree.write(f"{nfsd}/portlist", "rdma 20049\ntcp 2049\n")
        for number in range(16):
            cpus = "0-7" if number < 8 else "8-15"
            self.tree.write(f"proc/{300 + number}/comm", "nfsd\n")
            self.tree.write(f"proc/{300 + number}/status", f"Name:\tnfsd\nPPid:\t2\nCpus_allowed_list:\t{cpus}\n")
        for number, host in enumerate(tools.NFS_CLIENTS):
            self.tree.write(f"{nfsd}/clients/{number}/info", tools.NFS_INFO.format(host=host, number=number))
            self.tree.write(f"{nfsd}/clients/{number}/states", tools.NFS_STATES)
        self.tree.write("etc/exports.d/millrace.exports", "/srv/pool/data 10.77.0.0/24(rw)\n")
        self.tree.write("run/millrace/nfs/etab", "/srv/pool/data\t10.77.0.0/24(rw,sync)\n")
        self.tree.write("run/samba/smbd.pid", "900\n")
        listen(self.root, "0.0.0.0:445", "0.0.0.0:2049", established=tools.CONNECTIONS)


# Looking at terabytes of nothing takes its time, and it is the same nothing in every state.
_inventories: dict[Shape, Inventory] = {}


def _looked_at(root: Path, shape: Shape) -> Inventory:
    if shape not in _inventories:
        _inventories[shape] = inventory(root, nothing_found, surface)
    return _inventories[shape]


SPACE = {
    "size": 15_000_000_000 << 12,
    "used": 1_620_000_000 << 12,
    "free": 13_380_000_000 << 12,
    "records_free": 27 << 20,
}
GROUPS = [Group(name="research", gid=2000)]
USERS = [User(name="anna", uid=2001, groups=["research"]), User(name="ben", uid=2002)]


def _with_shares(old: Config) -> Config:
    models = DesiredShare(
        name="models",
        type="training",
        comment="Weights and checkpoints",
        size=10 << 40,
        soft_size=9 << 40,
        project=1002,
        nfs=Nfs(clients=[NfsClient(client="10.77.0.0/24"), NfsClient(client="10.77.1.0/24", access="ro")]),
        smb=Smb(users=["anna"], groups=["research"]),
    )
    dataset = DesiredShare(name="imagenet", type="dataset-ro", project=1003, smb=Smb(enabled=False))
    return old.model_copy(update={"shares": [*old.shares, models, dataset]})


def serial(number: int, shape: Shape = Shape()) -> str:
    """Serials of the drives in the order of the bays."""
    return f"MR{'L' if shape.is_log(number) else 'D'}{number + 1:011}"
