# SPDX-License-Identifier: Apache-2.0
"""A server of drives that provisioning takes for the machine.

It keeps what is on its drives over a power cut, which an `Appliance` and a `Box` have no drives for.
"""

from collections.abc import Sequence

from millrace.inventory.model import Drive, DriveState, Evidence, Inventory
from millrace.plan.model import Proposal
from millrace.storage.array.machine import LiveMember, Report
from millrace.storage.record.model import MemberRecord
from millrace.system.run import Result
from tests.fakes.drives import filling, superblocks
from tests.fakes.drives.disks import Disk
from tests.fakes.drives.tools import Tools


class World(Tools):
    """What provisioning asks of the machine, and `attempt` for its tools.

    `layouts` are the plans of layouts that may be chosen, by name. Where it `rebuilds`,
    every rebuild is over as soon as somebody waits for it.
    """

    def __init__(self, disks: list[Disk], proposal: Proposal, writable: set[str]) -> None:
        super().__init__(disks, writable)
        self.proposal = proposal
        self.layouts: dict[str, Proposal] = {}
        self.waited = 0.0
        self.rebuilds = False
        self.connecting = self.without_namespace = False
        self.without_partitions: set[str] = set()
        self.discard: bool | None = None
        self.refuses_discard: set[str] = set()

    def attempt(self, argv: Sequence[str], stdin: str | None = None) -> Result:
        self.tick()
        result = self(argv, stdin)
        self.tick()
        return result

    def follow(self, argv: Sequence[str], report: Report) -> Result:
        done = self.attempt(argv)
        for line in done.out.splitlines():
            report(line)
        return done

    def scan(self) -> Inventory:
        drives = [self._drive(name, disk) for name, disk in self.names.items()]
        return Inventory(kernel="7.2", cpu_model="test", sockets=1, nodes=[], memory=1 << 36, drives=drives, nics=[])

    def propose(self, inventory: Inventory, layout: str | None = None) -> Proposal:
        return self.proposal if layout is None else self.layouts[layout]

    def diskseq(self, name: str) -> str | None:
        disk = self.names.get(name)
        return f"{self.boots}-{disk.serial}" if disk else None

    def in_use(self, name: str) -> str | None:
        return None

    def gpt_ids(self, name: str, block: int) -> frozenset[str]:
        return frozenset(self.names[name].gpt_ids)

    def md_superblocks(self) -> dict[str, str]:
        held = {name: self.content(f"/dev/{name}") or {} for name in self.block_devices()}
        return {name: one["UUID"] for name, one in held.items() if one.get("TYPE") == "linux_raid_member"}

    def takes_partitions(self, name: str) -> bool:
        return self.names[name].serial not in self.without_partitions

    def pool_partitions(self) -> dict[str, str]:
        held = {name: self.content(f"/dev/{name}") or {} for name in self.block_devices() if self.place(name)[1]}
        return {name: one.get("TYPE", "") for name, one in held.items()}

    def partition_size(self, name: str) -> int:
        if name in self.arrays:
            return self.array_size(self.arrays[name])
        disk, partuuid = self.place(name)
        return disk.sizes.get(partuuid, disk.size) if partuuid else disk.size

    def drives_starting(self, empty: bool) -> bool:
        return self.connecting or (empty and self.without_namespace)

    def identity(self, name: str) -> MemberRecord:
        disk, partuuid = self.place(name)
        label = disk.labels.get(partuuid, "") if partuuid else ""
        return MemberRecord(serial=disk.serial, wwid=disk.wwid, partuuid=partuuid or "", label=label)

    def md_members(self, name: str) -> list[LiveMember]:
        array = self.arrays[name]
        found = ((one, self.content(one)) for one in array.members)
        return [superblocks.live(self.name_of(one), held, one in array.faulty) for one, held in found if held]

    def md_kept_slots(self, name: str) -> set[int]:
        kept = self.arrays[name].kept
        slots = {one.slot for one in self.md_members(name) if one.in_sync and one.slot is not None}
        return slots if kept is None else {*slots, kept}

    def md_discard(self, allowed: bool) -> None:
        self.discard = allowed

    def md_no_discard(self, name: str) -> None:
        self.refuses_discard.add(self.arrays[name].name)

    def md_devices(self) -> list[str]:
        return sorted(self.arrays)

    def md_state(self, name: str) -> str:
        return self.arrays[name].state

    def installed(self, tool: str) -> bool:
        return True

    def now(self) -> str:
        return "2026-09-01T12:00:00+00:00"

    def wait(self, seconds: float) -> None:
        self.waited += seconds
        if self.rebuilds:
            self.tick()
            filling.rebuilt(self)
            self.tick()

    def _drive(self, name: str, disk: Disk) -> Drive:
        return Drive(
            name=name,
            serial=disk.serial,
            wwid=disk.wwid,
            model="TEST",
            firmware="1",
            transport="nvme",
            size=disk.size,
            logical_block=disk.block,
            physical_block=4096,
            rotational=False,
            removable=False,
            pci_address=None,
            numa_node=0,
            link=None,
            bay=disk.bay,
            state=DriveState.BLANK if disk.blank else DriveState.FOREIGN,
            evidence=[] if disk.blank else [Evidence(probe="blkid", finding=disk.foreign or "GPT partition table")],
            critical_warning=disk.critical_warning,
        )
