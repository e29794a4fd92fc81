# SPDX-License-Identifier: Apache-2.0
"""A server without hardware: drives, sfdisk, mdadm, mkfs.xfs as far as provisioning uses them, and a mains switch.

Writes happen in the small parts in which the real tools write, and the power can go before and after each of them.
A write that the real tools would do, but that would hit anything not of the plan, is an AssertionError here.
"""

import json
from collections.abc import Callable, Sequence

from millrace.inventory.model import Drive, DriveState, Evidence, Inventory
from millrace.plan.model import Proposal
from millrace.provision.model import MemberRecord
from millrace.provision.system import LiveMember
from millrace.system.run import Result
from tests.fakes.commands import UnknownCommand, takes
from tests.unit.provision import superblocks
from tests.unit.provision.answers import NOTHING, export, fine, option
from tests.unit.provision.disks import Content, Disk, Running

BY_PARTUUID = "/dev/disk/by-partuuid/"
SILENT = (
    "modprobe --all raid0 raid1 raid456",
    "udevadm settle --timeout=*",
    "udevadm trigger --settle --action=change /dev/md*",
    "udevadm wait --timeout=* /dev/md/*",
    "systemctl daemon-reload",
)


class PowerCut(BaseException):
    """Nobody catches this."""


class World:
    """`writable` are the serials that may be written; `cut_at` is the moment at which the power goes."""

    def __init__(self, disks: list[Disk], proposal: Proposal, writable: set[str]) -> None:
        self.disks = disks
        self.proposal = proposal
        self.writable = writable
        self.arrays: dict[str, Running] = {}
        self.on_arrays: dict[str, Content] = {}
        self.writes: list[list[str]] = []
        self.commands: list[list[str]] = []
        self.unstarted: set[str] = set()
        self.starts_what_never_ran = True
        self.knows_older_mount = False
        self.cut_at: int | None = None
        self.moment = 0
        self.waited = 0.0
        self.connecting = self.without_namespace = False
        self.repaired: list[str] = []
        self.boots = 0
        self.names: dict[str, Disk] = {}
        self.boot()

    def boot(self) -> None:
        """Kernel names are dealt anew in another order, nothing is assembled."""
        self.boots += 1
        turn = self.boots % max(len(self.disks), 1)
        self.names = {f"nvme{n}n1": disk for n, disk in enumerate([*self.disks[turn:], *self.disks[:turn]])}
        self.arrays = {}
        self.cut_at, self.moment = None, 0

    def tick(self) -> None:
        """A moment at which the power may go."""
        self.moment += 1
        if self.moment == self.cut_at:
            raise PowerCut

    # What provisioning asks

    def scan(self) -> Inventory:
        drives = [self._drive(name, disk) for name, disk in self.names.items()]
        return Inventory(kernel="7.2", cpu_model="test", sockets=1, nodes=[], memory=1 << 36, drives=drives, nics=[])

    def propose(self, inventory: Inventory) -> Proposal:
        return self.proposal

    def diskseq(self, name: str) -> str | None:
        disk = self.names.get(name)
        return f"{self.boots}-{disk.serial}" if disk else None

    def in_use(self, name: str) -> str | None:
        return None

    def gpt_ids(self, name: str, block: int) -> frozenset[str]:
        return frozenset(self.names[name].gpt_ids)

    def partition(self, partuuid: str) -> str | None:
        hits = [(name, disk) for name, disk in self.names.items() if disk.table and partuuid in disk.inside]
        return f"{hits[0][0]}p{[*hits[0][1].inside].index(partuuid) + 1}" if hits else None

    def md_superblocks(self) -> dict[str, str]:
        held = {name: self.content(f"/dev/{name}") or {} for name in self._block_devices()}
        return {name: one["UUID"] for name, one in held.items() if one.get("TYPE") == "linux_raid_member"}

    def drives_starting(self, empty: bool) -> bool:
        return self.connecting or (empty and self.without_namespace)

    def identity(self, name: str) -> MemberRecord:
        disk, partuuid = self._place(name)
        label = disk.labels.get(partuuid, "") if partuuid else ""
        return MemberRecord(serial=disk.serial, wwid=disk.wwid, partuuid=partuuid or "", label=label)

    def md_members(self, name: str) -> list[LiveMember]:
        members = self.arrays[name].members
        return [superblocks.live(self.name_of(one), held) for one in members if (held := self.content(one))]

    def md_repair(self, name: str) -> None:
        self.repaired.append(self.arrays[name].name)

    def md_devices(self) -> list[str]:
        return sorted(self.arrays)

    def md_state(self, name: str) -> str:
        return self.arrays[name].state

    def md_link(self, name: str) -> str | None:
        return next((device for device, array in self.arrays.items() if array.name == name), None)

    def installed(self, tool: str) -> bool:
        return True

    def now(self) -> str:
        return "2026-09-01T12:00:00+00:00"

    def wait(self, seconds: float) -> None:
        self.waited += seconds

    def attempt(self, argv: Sequence[str], stdin: str | None = None) -> Result:
        command = list(argv)
        self.commands.append(command)
        self.tick()
        result = self._tool(command)(command, stdin or "")
        self.tick()
        return result

    def _tool(self, command: list[str]) -> Callable[[list[str], str], Result]:
        verb = next((word for word in command[1:] if word.startswith("--")), "")
        name = f"{command[0]} {verb}" if command[0] in ("mdadm", "sfdisk") else command[0]
        name = " ".join(command[:2]) if name == "systemctl" else name
        tools: dict[str, Callable[[list[str], str], Result]] = {
            "blkid": self._blkid,
            "sfdisk --json": self._sfdisk_json,
            "sfdisk --lock": self._sfdisk,
            "mdadm --detail": self._detail,
            "mdadm --create": self._create,
            "mdadm --examine": self._examine,
            "mdadm --re-add": self._re_add,
            "mdadm --assemble": self._assemble,
            "mdadm --stop": self._stop,
            "mdadm --zero-superblock": self._zero,
            "mkfs.xfs": self._mkfs,
            "xfs_db": self._xfs_db,
            "systemctl show": self._systemctl_show,
        }
        if name in tools:
            return tools[name]
        if any(takes(pattern, command) for pattern in SILENT):
            return fine
        raise UnknownCommand(command)

    def _systemctl_show(self, command: list[str], _: str) -> Result:
        assert command[2:4] == ["--property=NeedDaemonReload", "--value"]
        return Result(0, "yes\n" if self.knows_older_mount else "no\n", "")

    # Reading tools

    def _blkid(self, command: list[str], _: str) -> Result:
        if "--offset" in command:
            hidden = self._disk(command[-1]).hidden
            return export({"TYPE": hidden}) if hidden else NOTHING
        held = self.content(command[-1])
        if held is None:
            return Result(2, "", f"error: {command[-1]}: No such file or directory")
        shown = {key: value for key, value in held.items() if key.isupper()}
        # libblkid reports an empty partition by its entry in the table, with status 0.
        entry = {"PART_ENTRY_SCHEME": "gpt"} if command[-1].startswith(BY_PARTUUID) else {}
        return export({"DEVNAME": command[-1], **shown, **entry}) if shown or entry else NOTHING

    def _sfdisk_json(self, command: list[str], _: str) -> Result:
        table = self._disk(command[-1]).table
        return Result(0, json.dumps({"partitiontable": table}), "") if table else Result(1, "", "no table")

    def _detail(self, command: list[str], _: str) -> Result:
        array = self.arrays[command[-1].removeprefix("/dev/")]
        return export({"MD_LEVEL": array.level, "MD_DEVICES": str(array.devices), "MD_UUID": array.uuid})

    def _examine(self, command: list[str], _: str) -> Result:
        held = self.content(command[-1]) or {}
        if held.get("TYPE") != "linux_raid_member":
            return Result(1, "", f"mdadm: No md superblock detected on {command[-1]}.")
        if "--export" in command:
            return export({"MD_UUID": held["UUID"], "MD_EVENTS": held["events"], "MD_UPDATE_TIME": "1795000000"})
        return Result(0, superblocks.examined(command[-1], held), "")

    def _xfs_db(self, command: list[str], _: str) -> Result:
        held = self.content(command[-1]) or {}
        log = command[2:-5]
        assert command[:2] == ["xfs_db", "-r"] and command[-5:-1] == ["-c", "sb 0", "-c", "print"], command
        assert log == [] or log == ["-l", log[1]], command
        shown = ("inprogress", "unit", "width", "agblocks")
        fields = {"uuid": held.get("UUID", "?"), "blocksize": "4096", "sectsize": "4096"}
        fields |= {key: value for key, value in held.items() if key in shown}
        return Result(0, "".join(f"{key} = {value}\n" for key, value in fields.items()), "")

    # Writing tools

    def _sfdisk(self, command: list[str], script: str) -> Result:
        disk = self._disk(command[-1])
        self._writing(command, disk.serial)
        assert disk.foreign is None, f"sfdisk over {disk.foreign} on {disk.serial}"
        header, _, body = script.partition("\n\n")
        label_id = header.split("label-id: ")[1]
        rows = [dict(part.strip().split("=", 1) for part in line.split(",")) for line in body.splitlines()]
        assert disk.gpt_ids <= {label_id, *(row["uuid"] for row in rows)}, f"sfdisk over another's {disk.serial}"
        disk.table = None
        for part in (*(row["uuid"] for row in rows), label_id):
            disk.gpt_ids.add(part)
            self.tick()
        disk.inside = {row["uuid"]: disk.inside.get(row["uuid"], {}) for row in rows}
        disk.labels = {row["uuid"]: row["name"].strip('"') for row in rows}
        disk.table = {"label": "gpt", "id": label_id.upper(), "partitions": [_entry(row, disk) for row in rows]}
        return Result(0, "", "")

    def _create(self, command: list[str], _: str) -> Result:
        assert "--run" in command and "--homehost=millrace" in command and "--assume-clean" not in command
        uuid, level, count = option(command, "uuid"), option(command, "level"), int(option(command, "raid-devices"))
        assert count > 1 or "--force" in command
        spares = [word for word in command if word.startswith("--spare-devices=")]
        devices = command[-count - (int(option(command, "spare-devices")) if spares else 0) :]
        assert not devices[0].startswith("--") and command[-len(devices) - 1].startswith("--")
        assert option(command, "bitmap") == ("none" if level == "raid0" else "internal")
        self._writing(command, *devices)
        self.unstarted.add(uuid)
        for number, device in enumerate(devices):
            held = self.content(device)
            assert held == {}, f"mdadm --create over {held} on {device}"
            held |= superblocks.new(uuid, level, count, number if number < count else None)
            self.tick()
        return self._start(uuid, level, count, option(command, "name"), devices)

    def _assemble(self, command: list[str], _: str) -> Result:
        uuid, name = option(command, "uuid"), command[2].removeprefix("/dev/md/")
        devices = [word for word in command[3:] if word.startswith("/dev/")]
        ours = {d: held for d in devices if (held := self.content(d) or {}).get("UUID") == uuid.replace(":", "")}
        if not ours or (uuid in self.unstarted and not self.starts_what_never_ran):
            return Result(1, "", f"mdadm: failed to RUN_ARRAY {command[2]}: Invalid argument")
        taken = superblocks.start(ours, "--force" in command)
        if isinstance(taken, str):
            return Result(1, "", f"mdadm: {taken}")
        held = ours[taken[0]]
        return self._start(uuid, held["level"], int(held["count"]), name, taken)

    def _re_add(self, command: list[str], _: str) -> Result:
        array, held = self.running(command[1]), self.content(command[-1])
        assert held is not None and held["UUID"] == array.uuid.replace(":", "")
        assert command[-1] not in array.members
        live = [one for member in array.members if (one := self.content(member))]
        if held["bitmap"] != "fits":
            return Result(1, "", f"mdadm: --re-add for {command[-1]} to {command[1]} is not possible")
        array.members.append(command[-1])
        superblocks.join(live, held)
        return Result(0, "", f"mdadm: re-added {command[-1]}")

    def _start(self, uuid: str, level: str, count: int, name: str, devices: list[str]) -> Result:
        self.arrays[f"md{127 - len(self.arrays)}"] = Running(uuid, level, count, name, devices)
        self.unstarted.discard(uuid)
        self.on_arrays.setdefault(uuid, {})
        return Result(0, "", "")

    def _stop(self, command: list[str], _: str) -> Result:
        array = self.arrays[command[-1].removeprefix("/dev/")]
        holders = [one.name for one in self.arrays.values() if f"/dev/md/{array.name}" in one.members]
        if array.in_use or holders:
            return Result(1, "", f"mdadm: Cannot get exclusive access to {command[-1]}")
        self._writing(command, *(member for member in array.members if self.content(member) is not None))
        del self.arrays[command[-1].removeprefix("/dev/")]
        return Result(0, "", "")

    def _zero(self, command: list[str], _: str) -> Result:
        self._writing(command, command[-1])
        held = self.content(command[-1])
        assert held is not None and held["TYPE"] == "linux_raid_member"
        held.clear()
        return Result(0, "", "")

    def _mkfs(self, command: list[str], _: str) -> Result:
        metadata = dict(part.split("=") for part in command[command.index("-m") + 1].split(","))
        assert metadata.keys() == {"uuid", "autofsck"} and metadata["autofsck"] == "check"
        uuid = metadata["uuid"]
        log = next((word.split(",")[0].removeprefix("logdev=") for word in command if word.startswith("logdev=")), None)
        self._writing(command, command[-1], *([log] if log else []))
        data_held, log_held = self.content(command[-1]), self.content(log) if log else {}
        assert data_held is not None and log_held is not None
        if (data_held or log_held) and "-f" not in command:
            return Result(1, "", "mkfs.xfs: Use the -f option to force overwrite.")
        assert data_held.get("UUID", uuid) == uuid and log_held.get("LOGUUID", uuid) == uuid, "mkfs over foreign data"
        stripe = dict(part.partition("=")[::2] for part in command[command.index("-d") + 1].split(","))
        assert ("su" in stripe) != ("noalign" in stripe)
        unit, width = int(stripe.get("su", 0)) // 4096, int(stripe.get("sw", 0))
        data_held |= {"TYPE": "xfs", "UUID": uuid, "inprogress": "1"}
        # xfsprogs 7.2 rounds to the stripe unit without failing
        blocks = int(stripe["agsize"]) // 4096
        blocks += -blocks % (unit or 1)
        data_held |= {"unit": str(unit), "width": str(unit * width), "agblocks": str(blocks)}
        self.tick()
        if log:
            log_held |= {"TYPE": "xfs_external_log", "LOGUUID": uuid}
        self.tick()
        data_held["inprogress"] = "0"
        return Result(0, "", "")

    # Where things are

    def _writing(self, command: list[str], *targets: str) -> None:
        self.writes.append(command)
        for target in targets:
            serials = self.serials(target)
            assert serials <= self.writable, f"{command} writes to {serials - self.writable}"

    def serials(self, target: str) -> set[str]:
        if target.startswith("/dev/md"):
            array = self.running(target)
            return {serial for member in array.members for serial in self.serials(member)}
        if target.startswith(BY_PARTUUID):
            return {disk.serial for disk in self.disks if target.removeprefix(BY_PARTUUID) in disk.inside}
        return {self._place(target.removeprefix("/dev/"))[0].serial} if target.startswith("/dev/") else {target}

    def content(self, device: str) -> Content | None:
        if device.startswith("/dev/md"):
            return self.on_arrays.setdefault(self.running(device).uuid, {})
        if device.startswith(BY_PARTUUID):
            uuid = device.removeprefix(BY_PARTUUID)
            return next((disk.inside[uuid] for disk in self.names.values() if disk.table and uuid in disk.inside), None)
        if (name := device.removeprefix("/dev/")) not in self._block_devices():
            return None
        disk, partuuid = self._place(name)
        return disk.whole if partuuid is None else disk.inside[partuuid]

    def _block_devices(self) -> list[str]:
        """Whole drives and their partitions, by kernel name."""
        parts = [
            f"{name}p{number}"
            for name, disk in self.names.items()
            if disk.table
            for number in range(1, len(disk.inside) + 1)
        ]
        return [*self.names, *parts]

    def _place(self, name: str) -> tuple[Disk, str | None]:
        """The disk and, of a partition, its GUID."""
        drive, _, number = name.partition("p")
        disk = self.names[drive]
        return disk, [*disk.inside][int(number) - 1] if number else None

    def name_of(self, device: str) -> str:
        """The kernel's name of a device, by whatever name mdadm was given it."""
        if device.startswith(BY_PARTUUID):
            return self.partition(device.removeprefix(BY_PARTUUID)) or device
        if device.startswith("/dev/md/"):
            return self.md_link(device.removeprefix("/dev/md/")) or device
        return device.removeprefix("/dev/")

    def running(self, device: str) -> Running:
        name = device.removeprefix("/dev/md/")
        return next(a for d, a in self.arrays.items() if name in (a.name, f"/dev/{d}"))

    def _disk(self, device: str) -> Disk:
        return self.names[device.removeprefix("/dev/")]

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
            state=DriveState.BLANK if disk.blank else DriveState.FOREIGN,
            evidence=[] if disk.blank else [Evidence(probe="blkid", finding=disk.foreign or "GPT partition table")],
        )


def _entry(row: dict[str, str], disk: Disk) -> dict[str, object]:
    """One partition as sfdisk --json shows it."""
    mib = (1 << 20) // disk.block
    return {
        "start": int(row["start"].removesuffix("MiB")) * mib,
        "size": int(row["size"].removesuffix("MiB")) * mib,
        "type": row["type"].upper(),
        "uuid": row["uuid"].upper(),
        "name": row["name"].strip('"'),
    }
