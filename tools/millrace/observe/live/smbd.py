# SPDX-License-Identifier: Apache-2.0
"""The counters of smbd, not read again while nobody is connected: smbstatus is a process, and half of a collection."""

from dataclasses import asdict

from millrace.observe.live import counters
from millrace.observe.live.counters import ProtocolCounters
from millrace.system import paths, sysfs
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import MillraceError
from millrace.system.run import Runner


class IdleCounts(Contract):
    """What smbd had counted when nobody was connected.

    It counts nothing more until one of its processes has ended: `pid` is the first one, `started` the time at which it
    began, in ticks since the boot, and `faults` are the page faults of all that ended.
    """

    pid: int
    started: int
    faults: int
    read: int
    written: int
    operations: int
    timed: int | None
    busy: float | None


def counts(clients: int | None, run: Runner) -> tuple[ProtocolCounters | None, str | None]:
    """Return what smbd, which runs, has counted, or why that is not known; `clients` are connected now."""
    before = _ended(sysfs.number(paths.ROOT / "run/samba/smbd.pid"))
    known = _counted(before) if clients == 0 else None
    if known is not None:
        return known, None
    new, why = counters.smb(run)
    if new and before and clients == 0:
        write_model(paths.smbd_idle_file(), IdleCounts(**before, **asdict(new)), mode=0o600)
    return new, why


def _ended(pid: int | None) -> dict[str, int] | None:
    """What changes where a process of smbd has ended, or smbd was started again (proc_pid_stat(5)); None without it."""
    if pid is None:
        return None
    # the name of the program may have blanks
    words = (sysfs.text(paths.ROOT / f"proc/{pid}/stat") or "").rpartition(")")[2].split()
    return {"pid": pid, "started": int(words[19]), "faults": int(words[8])} if len(words) > 19 else None


def _counted(now: dict[str, int] | None) -> ProtocolCounters | None:
    """What smbd had counted when nobody was connected, if none of its processes has ended since."""
    try:
        kept = read_model(paths.smbd_idle_file(), IdleCounts).model_dump() if now else {}
    except MillraceError:
        return None
    if not now or any(kept.pop(name) != value for name, value in now.items()):
        return None
    return ProtocolCounters(**kept)
