# SPDX-License-Identifier: Apache-2.0
"""Facts about the drives, without a command to any of them: sysfs, udev, md, and the records of health check and pool.

No privileges are needed, and a drive that hangs delays no caller.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from millrace.inventory import drive_tests, udev
from millrace.inventory.drive_tests import DriveTest
from millrace.inventory.drives import block_dir
from millrace.inventory.hotplug import without_addresses
from millrace.inventory.model import Drive, Inventory
from millrace.inventory.partitions import are_ours, partitions
from millrace.inventory.present import present
from millrace.inventory.signatures import in_words
from millrace.storage.array.live_arrays import live_arrays
from millrace.storage.array.live_model import LiveArray
from millrace.storage.drive import drive_history, smart
from millrace.storage.drive.drive_history import KnownDrive
from millrace.storage.drive.smart import DriveSmart
from millrace.storage.record import apart_record, change_journal, erasure, removal_record
from millrace.storage.record.apart_record import Apart
from millrace.storage.record.model import Pool
from millrace.storage.record.pool_file import known_pool
from millrace.storage.record.test_order import DriveTestProgress, progress, under_way
from millrace.system import ages, paths
from millrace.system.documents import read_model
from millrace.system.errors import MillraceError


@dataclass(frozen=True)
class Contents:
    """What kernel and udev see on a drive: UUIDs of md arrays, whether it has the partitions of a Millrace pool and no
    others, and what else is there in words, None for nothing that they know.
    """

    arrays: frozenset[str] = frozenset()
    millrace: bool = False
    other: str | None = None


@dataclass(frozen=True)
class ServerFacts:
    """A server. `contents` by kernel name; `examined` as the last inventory found each drive, `history` and `smart` by
    serial; `unfinished` is why a drive whose erasure or test began is not blank, `removed` when one was taken out of
    the pool, `tests` the last test, `testing` how far a test under way is, all by serial; `apart` are members that ran
    without their array. `changing`: a change of drives is not finished and was not stopped by an error, so that another
    one is refused. `unplugged`: the numbers of the empty slots in which hot plug is off.
    """

    present: Sequence[Drive]
    contents: Mapping[str, Contents]
    examined: Sequence[Drive]
    pool: Pool | None
    live: Sequence[LiveArray]
    smart: Mapping[str, DriveSmart]
    history: Mapping[str, KnownDrive]
    today: date
    unfinished: Mapping[str, str] = field(default_factory=dict)
    changing: bool = False
    removed: Mapping[str, str] = field(default_factory=dict)
    apart: Mapping[str, Apart] = field(default_factory=dict)
    unplugged: Collection[str] = ()
    tests: Mapping[str, DriveTest] = field(default_factory=dict)
    testing: Mapping[str, DriveTestProgress] = field(default_factory=dict)


def facts() -> ServerFacts:
    """Read this server. BadInput: neither pool.json nor an older copy can be read."""
    drives, pool, report = present(), known_pool(), smart.last()
    return ServerFacts(
        present=drives,
        contents={drive.name: contents(drive.name) for drive in drives},
        examined=_examined(),
        pool=pool,
        live=live_arrays(pool, {}) if pool else [],
        smart={drive.serial: drive for drive in report.drives} if report else {},
        history={drive.serial: drive for drive in drive_history.load().drives},
        today=datetime.now(UTC).date(),
        unfinished=_unfinished(drives),
        tests=drive_tests.by_serial(),
        testing=under_way(),
        changing=_changing(),
        removed=removal_record.load(),
        apart=apart_record.recorded(),
        unplugged={str(slot.number) for slot in without_addresses(paths.ROOT) if slot.number is not None},
    )


def contents(name: str) -> Contents:
    """Return what is on a drive as far as udev has read it."""
    drive = block_dir(paths.ROOT, name)
    parts = partitions(drive)
    properties = [udev.properties(paths.ROOT, directory) for directory in (drive, *(part.directory for part in parts))]
    kinds = [
        kind for device in properties for kind in (device.get("ID_PART_TABLE_TYPE"), device.get("ID_FS_TYPE")) if kind
    ]
    return Contents(
        arrays=frozenset(
            device.get("ID_FS_UUID", "") for device in properties if device.get("ID_FS_TYPE") == udev.MD_MEMBER
        ),
        millrace=are_ours(parts),
        other=", ".join(dict.fromkeys(map(in_words, kinds))) or ("partitions" if parts else None),
    )


def _unfinished(drives: Sequence[Drive]) -> dict[str, str]:
    """Why drives are not blank although they may read so; an erase ends what a test left.

    A record is of the drive with its wwid: serial numbers are not unique.
    """
    wwids = {drive.serial: drive.wwid for drive in drives}
    others = {record.serial for record in erasure.load() if wwids.get(record.serial, record.wwid) != record.wwid}
    # an erasure of a year to come says nothing of tests; one marks the test before it by itself
    erased = {
        record.serial: record.ended
        for record in erasure.load()
        if record.state == "done" and record.ended and not ages.is_ahead(record.ended, datetime.now(UTC))
    }
    tested = {
        serial: _tested(test)
        for serial, test in drive_tests.not_blank().items()
        if erased.get(serial, "") < (test.ended or test.began) and wwids.get(serial, test.wwid) == test.wwid
    }
    return tested | {serial: why for serial, why in erasure.unfinished().items() if serial not in others}


def _tested(test: DriveTest) -> str:
    """Why a drive that is or was tested is not blank; of one that is being tested how far that is."""
    why = drive_tests.why_not_blank(test)
    now = next((one for one in progress() if one.serial == test.serial), None)
    return f"{why}, {100 * now.done // now.total} %" if why == drive_tests.RUNNING and now and now.total else why


def _changing() -> bool:
    """Whether a change is open; one that cannot be read may be."""
    try:
        return change_journal.running() is not None
    except MillraceError:
        return True


def _examined() -> list[Drive]:
    """The drives of the last inventory; none where there was none in this boot."""
    try:
        return read_model(paths.inventory_file(), Inventory).drives
    except MillraceError:
        return []
