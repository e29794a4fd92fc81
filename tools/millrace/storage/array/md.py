# SPDX-License-Identifier: Apache-2.0
"""Our md arrays, identified by UUID alone. An array with another UUID is never stopped, started or written."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from millrace.plan.labels import array_link, array_path
from millrace.plan.model import MdArray
from millrace.storage.array.machine import System
from millrace.storage.array.signature import exported
from millrace.storage.record.model import ArrayRecord
from millrace.system import paths
from millrace.system.errors import Failed
from millrace.system.files import write_text
from millrace.system.run import must

HOMEHOST = "millrace"
LOST_MEMBERS = {"raid0": 0, "raid5": 1, "raid6": 2}
LINK_SECONDS = 60
"""An array's link comes within a second; emulated, on a busy host, within some."""
MODULES = ("raid0", "raid1", "raid456")


@dataclass(frozen=True)
class Active:
    """An array that the kernel has: its md device, and whether it runs or only collects members."""

    device: str
    running: bool
    level: str
    members: int


def title(array: MdArray) -> str:
    """Return the name of an array for readers: RAID6 data."""
    return f"{array.level.upper()} {array.name}"


def count(members: int, spares: int) -> str:
    """Return `9 members and 1 hot spare`."""
    words = f"{members} member{'s' * (members > 1)}"
    return words + (f" and {spares} hot spare{'s' * (spares > 1)}" if spares else "")


def needed(array: MdArray) -> int:
    """Return how many members the array needs to start."""
    members = len(array.members)
    return 1 if array.level == "raid1" else members - LOST_MEMBERS[array.level]


def same_uuid(one: str, other: str) -> bool:
    """Whether two UUIDs are equal: mdadm groups the digits with colons, libblkid with dashes."""
    return _digits(one) == _digits(other)


def find(system: System, uuid: str) -> Active | None:
    """Return the array with this UUID under any name; None if the kernel does not have it."""
    for device in system.md_devices():
        detail = exported(system.attempt(["mdadm", "--detail", "--export", f"/dev/{device}"]).out)
        if same_uuid(detail.get("MD_UUID", ""), uuid):
            running = system.md_state(device) not in ("clear", "inactive")
            return Active(device, running, detail.get("MD_LEVEL", ""), int(detail.get("MD_DEVICES", "0")))
    return None


def in_sync_slots(system: System, active: Active) -> set[int]:
    """Return the slots of a running array whose member is in sync."""
    return {one.slot for one in system.md_members(active.device) if one.in_sync and one.slot is not None}


def broken(system: System, record: ArrayRecord, active: Active) -> bool:
    """Whether a running array has lost more members than it survives: the kernel fails every write with EIO.

    array_state is `broken` only while nothing waits to be written (md.c array_state_show).
    """
    return system.md_state(active.device) == "broken" or len(in_sync_slots(system, active)) < needed(record.array)


def works(system: System, record: ArrayRecord) -> bool:
    """Whether an array runs with enough members."""
    active = find(system, record.uuid)
    return active is not None and active.running and not broken(system, record, active)


def degraded_reads_switch() -> Path:
    """Return the switch of direct reads of degraded arrays, which the running raid456 has if it is the rebuilt one."""
    return paths.ROOT / "sys/module/raid456/parameters/direct_degraded_reads"


def load_modules(system: System) -> None:
    """Load the modules of all levels, which mdadm does not do before it assembles. Failed: modprobe fails."""
    must(system.attempt, ["modprobe", "--all", *MODULES])


def assemble(
    system: System,
    record: ArrayRecord,
    devices: Sequence[str],
    force: bool = False,
    read_only: Callable[[], None] = lambda: None,
    update: str | None = None,
) -> None:
    """Start an array from these members, also degraded. Failed: mdadm fails, with its reason.

    `force` starts one that was written when the power failed although it cannot be made consistent first. It is started
    read-only: mdadm then asks for a repair of a RAID6 that lacks one member (Assemble.c), which would compute again the
    parity that tells torn rows, and md drops what is asked of a read-only array. `read_only` is called then, before md
    fills any member. `update` is what mdadm corrects in the superblocks before the start.
    """
    stop_inactive(system, record)
    mark = _mark(record)
    mark.unlink(missing_ok=True)
    if force:
        # an array that stays down is worse than one that stays read-only after a kill
        with suppress(OSError):
            write_text(mark, "")
    try:
        must(
            system.attempt,
            [
                *("mdadm", "--assemble", array_path(record.array.name), "--run"),
                *(["--force", "--readonly"] if force else []),
                *([f"--update={update}"] if update else []),
                *(f"--uuid={record.uuid}", f"--homehost={HOMEHOST}"),
                *devices,
            ],
        )
    except Failed:
        active = find(system, record.uuid)
        if active is None or not active.running:
            mark.unlink(missing_ok=True)
        raise
    if force:
        read_only()
    make_writable(system, record)


def make_writable(system: System, record: ArrayRecord) -> bool:
    """Let a running array be written that Millrace started read-only, also by a start that was interrupted.

    Return whether it can be written: an administrator may have started it read-only, to copy data from it. Failed:
    mdadm fails.
    """
    active, mark = find(system, record.uuid), _mark(record)
    if active is None or not is_read_only(system, active):
        return True
    if not mark.exists():
        return False
    must(system.attempt, ["mdadm", "--readwrite", f"/dev/{active.device}"])
    mark.unlink(missing_ok=True)
    return True


def is_read_only(system: System, active: Active) -> bool:
    """Whether an array was started read-only, or made so by an administrator; md adds no member to it then."""
    return system.md_state(active.device) == "readonly"


def _mark(record: ArrayRecord) -> Path:
    """There from a forced start in this boot until the array can be written."""
    return paths.run_dir() / "forced" / _digits(record.uuid)


def stop_inactive(system: System, record: ArrayRecord) -> None:
    """Stop the array where udev has collected members and not started it: they are busy until then."""
    active = find(system, record.uuid)
    if active is not None and not active.running:
        must(system.attempt, ["mdadm", "--stop", f"/dev/{active.device}"])


def stop(system: System, record: ArrayRecord) -> None:
    """Stop a running array. Failed: it is in use."""
    active = find(system, record.uuid)
    if active is not None:
        must(system.attempt, ["mdadm", "--stop", f"/dev/{active.device}"])


def linked(system: System, record: ArrayRecord, active: Active) -> bool:
    """Whether /dev/md/NAME, which everything else uses, leads to this array."""
    return system.md_link(array_link(record.array.name)) == active.device


def ensure_link(system: System, record: ArrayRecord) -> None:
    """Wait for udev's link after a start, and request it once more. Failed: it does not appear."""
    active = find(system, record.uuid)
    if active is None or not active.running:
        raise Failed(f"{title(record.array)} is not running; see `journalctl -k` for the reason")
    # For this link, not for the end of udev's queue: a drive that hangs and is not ours must not hold back the pool.
    system.attempt(["udevadm", "wait", f"--timeout={LINK_SECONDS}", array_path(record.array.name)])
    if linked(system, record, active):
        return
    must(system.attempt, ["udevadm", "trigger", "--settle", "--action=change", f"/dev/{active.device}"])
    if not linked(system, record, active):
        raise Failed(
            f"{title(record.array)} runs as {active.device} but {array_path(record.array.name)} is missing; reboot"
        )


def _digits(uuid: str) -> str:
    return uuid.replace(":", "").replace("-", "").lower()
