# SPDX-License-Identifier: Apache-2.0
"""The tools that write and read drives, as far as provisioning uses them: sfdisk, mdadm, mkfs.xfs, xfs_db, blkid.

Writes happen in the small parts in which the real tools write, and the power can go before and after each of them.
A write that the real tools would do, but that would hit anything not of the plan, is an AssertionError here.
"""

import json
from collections.abc import Iterable
from typing import Any, ClassVar, cast

from millrace.system.jobs.kinds import ALL
from millrace.system.run import Result
from tests.fakes.commands import GOOD, Commands
from tests.fakes.drives import filling, superblocks
from tests.fakes.drives.answers import NOTHING, export, option
from tests.fakes.drives.disks import Content, Disk, Running
from tests.fakes.drives.hardware import BY_PARTUUID, Hardware
from tests.fakes.jobs import asks_states, shown

# tried with mkfs.xfs 7.2.0
FEATURES = (
    "-m uuid=*,autofsck=check,crc=1,finobt=1,inobtcount=1,rmapbt=1,reflink=1,bigtime=1,metadir=0"
    " -i size=512,sparse=1,nrext64=1,exchange=1 -n version=2,ftype=1,parent=1"
)
# as xfs_db shows the superblock of its result
SUPERBLOCK = {"versionnum": "0xb4a5", "features_ro_compat": "0xf", "features_incompat": "0xeb"}


# md_p.h: a superblock of metadata 1.2 lies 4 KiB behind the start of its member
SUPERBLOCK_END = 8 << 10
# what mdadm keeps in front of the data of large members
MD_KEEPS = 129 << 20
UNITS = {kind.unit for kind in ALL}


class Tools(Hardware, Commands):
    """`unstarted` are arrays that were created and never ran, `made_otherwise` fields that mkfs.xfs writes instead.

    `jobs` are states of the units of jobs, which are inactive otherwise.
    """

    TAKEN: ClassVar[Iterable[str]] = (
        "mdadm --detail --export /dev/md*",
        "blkid -p -o export --offset * --size * /dev/*",
        "blkid -p -o export /dev/*",
        "sfdisk --json /dev/nvme*",
        "udevadm settle --timeout=*",
        "sfdisk --lock --wipe=never --wipe-partitions=never /dev/nvme*",
        "sfdisk --lock --no-reread --no-tell-kernel --force --wipe=never --wipe-partitions=never /dev/nvme*",
        "partx --update --nr * /dev/nvme*",
        "mdadm --grow /dev/md/millrace-* --size=*",
        "xfs_growfs -d /srv/pool",
        "xfs_growfs -n /srv/pool",
        "udevadm wait --timeout=* /dev/md/millrace-*",
        "mdadm --examine [--export] /dev/nvme*",
        "mdadm --examine /dev/md*",
        "modprobe --all raid0 raid1 raid456",
        "xfs_db -r [-l] [/dev/md/millrace-log] -c sb?0 -c print /dev/md/millrace-data",
        "systemctl show --property=NeedDaemonReload --value srv-pool.mount",
        "mdadm --create /dev/md/millrace-* --run --metadata=1.2 --homehost=millrace --name=millrace-* --uuid=*"
        " --level=* --raid-devices=* [--spare-devices=*] [--chunk=*K] --bitmap=* [--bitmap-chunk=*K] [--force]"
        " /dev/*...",
        "mdadm --assemble /dev/md/millrace-* --run [--force] [--readonly] [--update=*] --uuid=* --homehost=millrace"
        " /dev/*...",
        "mdadm --readwrite /dev/md*",
        "mdadm /dev/md/millrace-* --re-add /dev/disk/by-partuuid/*",
        "mdadm /dev/md/millrace-* --re-add /dev/nvme*",
        "mdadm /dev/md/millrace-* --add /dev/disk/by-partuuid/*",
        "mdadm /dev/md/millrace-* --add /dev/nvme*",
        "mdadm /dev/md/millrace-* --replace /dev/nvme* --with /dev/nvme*",
        "mdadm /dev/md/millrace-* --remove /dev/nvme*",
        "mdadm --stop /dev/md*",
        "mdadm --zero-superblock /dev/*",
        "blkdiscard --zeroout --offset=* --length=* /dev/nvme*",
        "sync /dev/nvme*",
        "blockdev --rereadpt /dev/nvme*",
        "udevadm trigger --action=change /dev/nvme*",
        f"mkfs.xfs -K [-f] -L millrace {FEATURES} -b size=* -s size=* -d * [-l] [*] /dev/md/millrace-data",
        f"mkfs.xfs -K [-f] -L millrace {FEATURES} -b size=* -s size=* -d * [-l] [*] /dev/disk/by-partuuid/*",
        "xfs_db -r [-l] [/dev/disk/by-partuuid/*] -c sb?0 -c print /dev/disk/by-partuuid/*",
        "udevadm trigger --settle --action=change /dev/md*",
        "systemctl daemon-reload",
        "systemctl stop millrace-scrub.service",
        "systemctl --no-block start millrace-pool-change@revive.service",
        "systemctl --no-block start millrace-readd.service",
        "systemctl --no-block start millrace-drive.service",
        "systemctl start --no-block millrace-unclean.service",
        "systemctl show --property=ActiveState,Job millrace-assemble.service",
        "systemctl show --property=ActiveState,Job millrace-pool-change@revive.service",
        "systemctl --no-block restart millrace-assemble.service",
        "systemctl reset-failed millrace-drive.service",
        "systemctl start --no-block millrace-drive.service",
        "systemctl show --property=ActiveState,Job millrace-drive.service",
        "systemctl reset-failed millrace-provision.service",
        "systemctl start --no-block millrace-provision.service",
        "systemctl show --property=ActiveState,Job millrace-provision.service",
        "journalctl --unit millrace-provision.service --identifier=millrace --lines=1 --output=cat",
        "systemctl show --property=Id,ActiveState,Job millrace-*.service...",
    )

    def __init__(self, disks: list[Disk], writable: set[str]) -> None:
        Commands.__init__(self)
        self.unstarted: set[str] = set()
        self.starts_what_never_ran = True
        self.knows_older_mount = False
        self.refuse_force = False
        self.made_otherwise: dict[str, str] = {}
        self.activating: set[str] = set()
        self.jobs: dict[str, str] = {}
        self.grown_to: int | None = None
        self.filesystem: int | None = None
        Hardware.__init__(self, disks, writable)

    def _systemctl(self, words: list[str], _: str) -> Result:
        if asks_states(words) and words[-1] in UNITS:
            return shown(words[2:], dict.fromkeys(self.activating, "activating") | self.jobs)
        if "--property=ActiveState,Job" in words:
            return Result(0, f"ActiveState={'activating' if words[-1] in self.activating else 'active'}\nJob=\n", "")
        return (
            GOOD
            if words[0] in ("daemon-reload", "stop", "--no-block", "reset-failed", "start")
            else Result(0, "yes\n" if self.knows_older_mount else "no\n", "")
        )

    # Reading tools

    def _blkid(self, command: list[str], _: str) -> Result:
        if "--offset" in command:
            hidden = self.disk(command[-1]).hidden
            return export({"TYPE": hidden}) if hidden else NOTHING
        held = self.content(command[-1])
        if held is None:
            return Result(2, "", f"error: {command[-1]}: No such file or directory")
        shown = {key: value for key, value in held.items() if key.isupper()}
        # libblkid reports an empty partition by its entry in the table, with status 0.
        entry = {"PART_ENTRY_SCHEME": "gpt"} if command[-1].startswith(BY_PARTUUID) else {}
        return export({"DEVNAME": command[-1], **shown, **entry}) if shown or entry else NOTHING

    def _table(self, device: str) -> Result:
        table = self.disk(device).table
        return Result(0, json.dumps({"partitiontable": table}), "") if table else Result(1, "", "no table")

    def _detail(self, command: list[str]) -> Result:
        array = self.arrays[command[-1].removeprefix("/dev/")]
        return export({"MD_LEVEL": array.level, "MD_DEVICES": str(array.devices), "MD_UUID": array.uuid})

    def _examine(self, command: list[str]) -> Result:
        held = self.content(command[-1]) or {}
        if held.get("TYPE") != "linux_raid_member":
            return Result(1, "", f"mdadm: No md superblock detected on {command[-1]}.")
        if "--export" in command:
            return export({"MD_UUID": held["UUID"], "MD_EVENTS": held["events"], "MD_UPDATE_TIME": "1795000000"})
        return Result(0, superblocks.examined(command[-1], held), "")

    def _xfs_db(self, words: list[str], _: str) -> Result:
        held = self.content(words[-1]) or {}
        shown = ("inprogress", "unit", "width", "agblocks")
        fields = {"uuid": held.get("UUID", "?"), "blocksize": "4096", "sectsize": "4096"}
        fields |= {key: value for key, value in held.items() if key in (*shown, *SUPERBLOCK)}
        return Result(0, "".join(f"{key} = {value}\n" for key, value in fields.items()), "")

    def _mdadm(self, words: list[str], _: str) -> Result:
        verbs = {
            "--detail": self._detail,
            "--create": self._create,
            "--examine": self._examine,
            "--re-add": self._re_add,
            "--add": self._add,
            "--replace": self._replace,
            "--remove": self._remove,
            "--assemble": self._assemble,
            "--readwrite": self._readwrite,
            "--stop": self._stop,
            "--grow": self._grow,
            "--zero-superblock": self._zero,
        }
        return verbs[next(word for word in words if word in verbs)](["mdadm", *words])

    # Writing tools

    def _sfdisk(self, words: list[str], script: str) -> Result:
        if "--json" in words:
            return self._table(words[-1])
        disk = self.disk(words[-1])
        self.writing(["sfdisk", *words], disk.serial)
        assert disk.foreign is None, f"sfdisk over {disk.foreign} on {disk.serial}"
        header, _, body = script.partition("\n\n")
        label_id = header.split("label-id: ")[1]
        rows = [dict(part.strip().split("=", 1) for part in line.split(",")) for line in body.splitlines()]
        assert disk.gpt_ids <= {label_id, *(row["uuid"] for row in rows)}, f"sfdisk over another's {disk.serial}"
        in_use = {partuuid for _, partuuid in self.members()}
        assert "--force" in words or not in_use & set(disk.inside), f"sfdisk over members of {disk.serial}"
        kept = disk.sizes if "--no-tell-kernel" in words else {}
        if "--force" in words:
            # of the two copies of a table one is whole at each moment
            assert [*disk.placed.values()] == [int(row["start"].removesuffix("MiB")) << 20 for row in rows]
            self.tick()
        else:
            disk.table = None
        for part in (*(row["uuid"] for row in rows), label_id):
            disk.gpt_ids.add(part)
            self.tick()
        disk.inside = {row["uuid"]: disk.inside.get(row["uuid"], {}) for row in rows}
        disk.labels = {row["uuid"]: row["name"].strip('"') for row in rows}
        disk.placed = {row["uuid"]: int(row["start"].removesuffix("MiB")) << 20 for row in rows}
        disk.zeroed = set()
        disk.sizes = {row["uuid"]: int(row["size"].removesuffix("MiB")) << 20 for row in rows} | kept
        disk.table = {"label": "gpt", "id": label_id.upper(), "partitions": [_entry(row, disk) for row in rows]}
        return Result(0, "", "")

    def _create(self, command: list[str]) -> Result:
        assert "--run" in command and "--homehost=millrace" in command and "--assume-clean" not in command
        uuid, level, count = option(command, "uuid"), option(command, "level"), int(option(command, "raid-devices"))
        assert count > 1 or "--force" in command
        spares = [word for word in command if word.startswith("--spare-devices=")]
        devices = command[-count - (int(option(command, "spare-devices")) if spares else 0) :]
        assert not devices[0].startswith("--") and command[-len(devices) - 1].startswith("--")
        assert option(command, "bitmap") == ("none" if level == "raid0" else "internal")
        self.writing(command, *devices)
        self.unstarted.add(uuid)
        for device in devices:
            if device.startswith(BY_PARTUUID):
                made, partuuid = self.place(self.name_of(device))
                made.made[partuuid or ""] = made.sizes[partuuid or ""]
        for number, device in enumerate(devices):
            held = self.content(device)
            assert held == {}, f"mdadm --create over {held} on {device}"
            held |= superblocks.new(uuid, level, count, number if number < count else None)
            if level == "raid0":
                held["data"] = str(self._leg_data(device))
            self.tick()
        return self._start(uuid, level, count, option(command, "name"), devices)

    def _assemble(self, command: list[str]) -> Result:
        uuid, name = option(command, "uuid"), command[2].removeprefix("/dev/md/")
        devices = [word for word in command[3:] if word.startswith("/dev/")]
        ours = {d: held for d in devices if (held := self.content(d) or {}).get("UUID") == uuid.replace(":", "")}
        if self.refuse_force and "--force" in command:
            return Result(1, "", f"mdadm: failed to RUN_ARRAY {command[2]}: Input/output error")
        if not ours or (uuid in self.unstarted and not self.starts_what_never_ran):
            return Result(1, "", f"mdadm: failed to RUN_ARRAY {command[2]}: Invalid argument")
        # mdadm would have a RAID6 repaired that lacks one member
        assert ("--readonly" in command) == ("--force" in command)
        updates = [word.partition("=")[2] for word in command if word.startswith("--update=")]
        if updates:
            self._update(command, updates[0], ours)
        taken = superblocks.start(ours, "--force" in command)
        if isinstance(taken, str):
            return Result(1, "", f"mdadm: {taken}")
        held = ours[taken[0]]
        done = self._start(uuid, held["level"], int(held["count"]), name, taken)
        if "--readonly" in command:
            next(array for array in self.arrays.values() if array.uuid == uuid).state = "readonly"
        return done

    def _update(self, command: list[str], what: str, legs: dict[str, Content]) -> None:
        """mdadm writes one superblock after the other, before it starts the array."""
        self.writing(command, *legs)
        for device, held in legs.items():
            assert held["level"] == "raid0" and what == "devicesize"
            held["data"] = str(self._leg_data(device))
            self.tick()

    def _leg_data(self, device: str) -> int:
        return self.array_size(self.running(device)) - MD_KEEPS

    def _readwrite(self, command: list[str]) -> Result:
        array = self.arrays[command[-1].removeprefix("/dev/")]
        assert array.state == "readonly"
        array.state = "active"
        return Result(0, "", "")

    def _re_add(self, command: list[str]) -> Result:
        array, held = self.running(command[1]), self.content(command[-1])
        assert held is not None and held["UUID"] == array.uuid.replace(":", "")
        assert self.name_of(command[-1]) not in map(self.name_of, array.members) and array.state != "readonly"
        live = [one for member in array.members if (one := self.content(member))]
        if held["bitmap"] != "fits":
            return Result(1, "", f"mdadm: --re-add for {command[-1]} to {command[1]} is not possible")
        array.members.append(command[-1])
        superblocks.join(live, held)
        return Result(0, "", f"mdadm: re-added {command[-1]}")

    def _add(self, command: list[str]) -> Result:
        array, device = self.running(command[1]), command[-1]
        held = self.content(device)
        assert held is not None and self.name_of(device) not in map(self.name_of, array.members)
        is_ours = bool(held) and held["UUID"] == array.uuid.replace(":", "")
        # one that fits is re-added, whatever was asked for (mdadm(8), --add)
        assert held == {} or (is_ours and (held["role"] == "spare" or held["bitmap"] != "fits")), (
            f"mdadm --add of {device}, which holds {held}"
        )
        self.writing(command, device)
        held |= superblocks.new(array.uuid, array.level, array.devices, None)
        self.tick()
        array.members.append(device)
        filling.settle(self, array)
        return Result(0, "", f"mdadm: added {device}")

    def _replace(self, command: list[str]) -> Result:
        array = self.running(command[1])
        old, new = self._member(array, command[3]), self._member(array, command[5])
        one, other = self.content(old), self.content(new)
        assert one is not None and other is not None and old not in array.faulty
        assert other["role"] == "spare" and "recovering" not in one, f"{command} of {one} with {other}"
        self.writing(command, old, new)
        other.update(role=one["role"], recovering="1", replacement="1")
        return Result(0, "", "")

    def _remove(self, command: list[str]) -> Result:
        array = self.running(command[1])
        device = self._member(array, command[-1])
        held = self.content(device)
        if device not in array.faulty and held and held["role"] != "spare":
            return Result(1, "", f"mdadm: hot remove failed for {command[-1]}: Device or resource busy")
        array.members.remove(device)
        array.faulty.discard(device)
        return Result(0, "", f"mdadm: hot removed {command[-1]} from {command[1]}")

    def _member(self, array: Running, device: str) -> str:
        """The member with this device, by the name that mdadm was given."""
        return next(one for one in array.members if self.name_of(one) == self.name_of(device))

    def _start(self, uuid: str, level: str, count: int, name: str, devices: list[str]) -> Result:
        free = next(one for number in range(127, -1, -1) if (one := f"md{number}") not in self.arrays)
        self.arrays[free] = Running(uuid, level, count, name, devices)
        self.unstarted.discard(uuid)
        self.on_arrays.setdefault(uuid, {})
        return Result(0, "", "")

    def _stop(self, command: list[str]) -> Result:
        array = self.arrays[command[-1].removeprefix("/dev/")]
        holders = [one.name for one in self.arrays.values() if f"/dev/md/{array.name}" in one.members]
        if array.in_use or holders:
            return Result(1, "", f"mdadm: Cannot get exclusive access to {command[-1]}")
        self.writing(command, *(member for member in array.members if self.content(member) is not None))
        del self.arrays[command[-1].removeprefix("/dev/")]
        return Result(0, "", "")

    def _zero(self, command: list[str]) -> Result:
        self.writing(command, command[-1])
        held = self.content(command[-1])
        assert held is not None and held["TYPE"] == "linux_raid_member"
        held.clear()
        return Result(0, "", "")

    def members(self) -> list[tuple[Disk, str | None]]:
        """The members of all arrays that run: the disk and, of a partition, its GUID."""
        names = [self.name_of(member) for array in self.arrays.values() for member in array.members]
        return [self.place(name) for name in names if name in self.block_devices()]

    def _partx(self, words: list[str], _: str) -> Result:
        disk = self.disk(words[-1])
        assert disk.table is not None
        entries = cast("list[dict[str, Any]]", disk.table["partitions"])
        entry = entries[int(words[2]) - 1]
        disk.sizes[entry["uuid"].lower()] = entry["size"] * disk.block
        return GOOD

    def _grow(self, command: list[str]) -> Result:
        array = self.running(command[2])
        held = [self.content(member) for member in array.members]
        in_sync = [full for full in held if full and full["role"] != "spare" and "recovering" not in full]
        assert len(in_sync) == array.devices, "mdadm --grow of an array that lacks a member"
        self.writing(command, *array.members)
        for member in array.members:
            disk, partuuid = self.place(self.name_of(member))
            content = self.content(member)
            assert content is not None and partuuid is not None
            room = disk.sizes[partuuid] - MD_KEEPS
            wanted = option(command, "size")
            assert wanted == "max" or int(wanted) << 10 <= room, f"{command} of {room} bytes"
            content["size"] = str(room if wanted == "max" else int(wanted) << 10)
            self.tick()
        return GOOD

    def _xfs_growfs(self, words: list[str], _: str) -> Result:
        assert words[-1] == "/srv/pool"
        data = self.running("/dev/md/millrace-data")
        if "-n" in words:
            # without a size of its own it fills its array
            blocks = (self.grown_to or self.filesystem or self.array_size(data)) // 4096
            return Result(0, f"data     =                       bsize=4096   blocks={blocks}, imaxpct=5\n", "")
        if data.level == "raid0":
            assert len({(self.content(leg) or {})["data"] for leg in data.members}) == 1, "XFS grows into a second zone"
        self.grown_to = self.array_size(data)
        return GOOD

    def array_size(self, array: Running) -> int:
        """What md makes of the smallest member that it was told the size of; a RAID0 uses all of each."""
        if array.level == "raid0":
            return sum(int((self.content(leg) or {})["data"]) for leg in array.members)
        sizes = []
        for member in array.members:
            disk, partuuid = self.place(self.name_of(member))
            content = self.content(member) or {}
            sizes.append(int(content.get("size", disk.made.get(partuuid or "", disk.size) - MD_KEEPS)))
        data = {"raid1": 1, "raid5": array.devices - 1, "raid6": array.devices - 2}[array.level]
        return data * min(sizes)

    def _blkdiscard(self, words: list[str], _: str) -> Result:
        command = ["blkdiscard", *words]
        offset, length = int(option(command, "offset")), int(option(command, "length"))
        disk = self.disk(command[-1])
        used = {
            self.place(self.name_of(member))[0].serial for array in self.arrays.values() for member in array.members
        }
        if disk.serial in used:
            return Result(1, "", f"blkdiscard: {command[-1]}: failed to open: Device or resource busy")
        self.writing(command, disk.serial)
        assert disk.foreign is None, f"zeros over {disk.foreign} on {disk.serial}"
        for partuuid, start in disk.starts().items():
            if offset <= start and start + SUPERBLOCK_END <= offset + length:
                disk.inside[partuuid].clear()
            self.tick()
        if offset == 0:
            disk.table = None
            if length > disk.block:
                disk.zeroed.add("head")
                disk.whole.clear()
        if offset + length >= disk.size:
            disk.zeroed.add("tail")
        self.tick()
        if disk.zeroed == {"head", "tail"}:
            assert not any(disk.inside.values()), f"{disk.serial} has no table any more, and still superblocks"
            disk.gpt_ids, disk.inside, disk.labels = set(), {}, {}
        return Result(0, "", "")

    def _mkfs_xfs(self, words: list[str], _: str) -> Result:
        command = ["mkfs.xfs", *words]
        metadata = dict(part.split("=") for part in command[command.index("-m") + 1].split(","))
        uuid = metadata["uuid"]
        log = next((word.split(",")[0].removeprefix("logdev=") for word in command if word.startswith("logdev=")), None)
        self.writing(command, command[-1], *([log] if log else []))
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
        data_held |= SUPERBLOCK | self.made_otherwise
        data_held |= {"unit": str(unit), "width": str(unit * width), "agblocks": str(blocks)}
        self.tick()
        if log:
            log_held |= {"TYPE": "xfs_external_log", "LOGUUID": uuid}
        self.tick()
        data_held["inprogress"] = "0"
        return Result(0, "", "")


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
