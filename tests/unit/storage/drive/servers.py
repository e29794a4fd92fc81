# SPDX-License-Identifier: Apache-2.0
"""What is known of servers made of a few words: three drives of data, two of the log, one that boots."""

from collections.abc import Mapping, Sequence
from datetime import date

from millrace.inventory.model import Drive, DriveState, Evidence
from millrace.plan.model import Role
from millrace.storage.array.live_model import LiveArray, Member, MemberState
from millrace.storage.drive.drive_history import KnownDrive
from millrace.storage.drive.facts import Contents, ServerFacts
from millrace.storage.drive.smart import DriveSmart
from millrace.storage.record.model import ArrayRecord, DriveRecord, MemberRecord, PartitionRecord, Pool
from millrace.system.text import GIB, MIB
from tests.fakes import samples

TODAY = date(2026, 11, 22)
UUIDS = {"data": "11111111:22222222:33333333:44444444", "log": "55555555:66666666:77777777:88888888"}
# as udev writes the same
ON_DISK = {
    name: f"{uuid[:8]}-{uuid[9:13]}-{uuid[13:17]}-{uuid[18:22]}-{uuid[22:26]}{uuid[27:]}"
    for name, uuid in UUIDS.items()
}
DATA, LOG = 100 * GIB, 10 * GIB
NEEDED = 98 * GIB + 2 * MIB
MEMBERS = {"data": ["D0", "D1", "D2"], "log": ["L0", "L1"]}


def drive(serial: str, state: DriveState = DriveState.UNKNOWN, **changes: object) -> Drive:
    """A drive called after its serial; those of the log are smaller."""
    fields = {
        "name": f"nvme-{serial}",
        "serial": serial,
        "wwid": f"eui.{serial}",
        "model": "ACME",
        "firmware": "1.0",
        "transport": "nvme",
        "size": LOG if serial.startswith("L") else DATA,
        "logical_block": 512,
        "physical_block": 4096,
        "rotational": False,
        "removable": False,
        "pci_address": None,
        "numa_node": 0,
        "link": None,
        "state": state,
        "evidence": [],
        **changes,
    }
    return Drive.model_validate(fields)


def examined(serial: str, state: DriveState, finding: str = "", **changes: object) -> Drive:
    """A drive as the inventory of this boot found it."""
    evidence = [Evidence(probe="blkid", finding=finding)] if finding else []
    return drive(serial, state, evidence=evidence, **changes)


def pool(spares: Sequence[str] = ()) -> Pool:
    """RAID5 of three over 98 GiB of each, a mirror of two for the log."""
    made = samples.pool()
    arrays = []
    for name, level, role in (("data", "raid5", Role.DATA), ("log", "raid1", Role.LOG)):
        array = made.arrays[0].array.model_copy(
            update={"name": name, "level": level, "role": role, "members": MEMBERS[name], "over_arrays": False}
        )
        beside = [record(serial) for serial in spares] if name == "data" else []
        members = [record(serial) for serial in MEMBERS[name]]
        arrays.append(ArrayRecord(array=array, uuid=UUIDS[name], members=members, spares=beside))
    return made.model_copy(
        update={"arrays": arrays, "drives": [parted(serial) for each in MEMBERS.values() for serial in each]}
    )


def record(serial: str) -> MemberRecord:
    return MemberRecord(serial=serial, wwid=f"eui.{serial}", partuuid=f"part-{serial}", label="millrace")


def parted(serial: str) -> DriveRecord:
    role, size = (Role.LOG, 4 * GIB) if serial.startswith("L") else (Role.DATA, 98 * GIB)
    made = PartitionRecord(role=role, size=size, label="millrace", partuuid=f"part-{serial}")
    return DriveRecord(serial=serial, wwid=f"eui.{serial}", disk_label=f"disk-{serial}", partitions=[made])


def live(name: str, states: Mapping[str, MemberState], runs: bool = True) -> LiveArray:
    """An array with these members; of those that are planned, the others are in sync."""
    members = dict.fromkeys(MEMBERS[name], "in-sync") | dict(states)
    return LiveArray(
        name=name,
        level="raid5" if name == "data" else "raid1",
        role=Role(name),
        uuid=UUIDS[name],
        device="md127" if runs else None,
        state="clean" if runs else "missing",
        size=None,
        chunk=None,
        legs=[],
        degraded=None,
        may_fail=None,
        members=[
            Member.model_validate(
                {
                    "serial": serial,
                    "label": "",
                    "bay": None,
                    "device": None,
                    "state": state,
                    "errors": None,
                    "planned": serial in MEMBERS[name],
                }
            )
            for serial, state in members.items()
        ],
        sync=None,
        last_scrub=None,
    )


def server(
    *more: Drive,
    without: Sequence[str] = (),
    states: Mapping[str, MemberState] | None = None,
    contents: Mapping[str, Contents] | None = None,
    at_boot: Sequence[Drive] = (),
    spares: Sequence[str] = (),
    runs: bool = True,
    smart: Sequence[DriveSmart] = (),
    history: Sequence[KnownDrive] = (),
    changing: bool = False,
) -> ServerFacts:
    """The drives of the pool but those `without`, which md misses, a boot drive, and `more`."""
    here = [serial for each in MEMBERS.values() for serial in each if serial not in without]
    lost: dict[str, MemberState] = dict.fromkeys(without, "missing")
    data = {**{serial: state for serial, state in lost.items() if serial in MEMBERS["data"]}, **(states or {})}
    log = {serial: state for serial, state in lost.items() if serial in MEMBERS["log"]}
    boot = examined("BOOT", DriveState.BOOT, "carries /", transport="sata")
    return ServerFacts(
        present=[*(drive(serial) for serial in here), drive("BOOT"), *more],
        contents={f"nvme-{serial}": content for serial, content in (contents or {}).items()},
        examined=[boot, *at_boot],
        pool=pool(spares),
        live=[live("data", data, runs), live("log", log)],
        smart={reading.serial: reading for reading in smart},
        history={known.serial: known for known in history},
        today=TODAY,
        changing=changing,
    )
