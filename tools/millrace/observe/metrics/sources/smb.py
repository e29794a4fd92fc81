# SPDX-License-Identifier: Apache-2.0
"""smbd's own counters and sessions; smbd shows them to root alone."""

from dataclasses import asdict

from millrace.observe.live import counters
from millrace.observe.live.counters import ProtocolCounters
from millrace.observe.metrics.family import Family, counter, gauge
from millrace.serve.share.session import smb_sessions
from millrace.system import paths, sysfs
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import Failed, MillraceError
from millrace.system.listeners import SMB_PORT
from millrace.system.run import quickly


class Idle(Contract):
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


def families() -> list[Family]:
    """Return the metrics of smbd; none where it does not run. Failed: it does not show them."""
    # No process for nothing: smbstatus would find no profile.
    pid = sysfs.number(paths.ROOT / "run/samba/smbd.pid")
    if pid is None:
        return []
    before = _ended(pid)
    clients = counters.tcp_clients(SMB_PORT)
    counts, why = (_counted(before) if clients == 0 else None), None
    if counts is None:
        counts, why = counters.smb(quickly)
        if counts and before and clients == 0:
            write_model(paths.smbd_idle_file(), Idle(**before, **asdict(counts)), mode=0o600)
    # smbstatus is half of what a collection costs, and a session ends with its connection.
    sessions = [] if clients == 0 else smb_sessions(quickly)[0]
    if counts is None:
        raise Failed(why or "smbd has no SMB statistics")
    return [
        counter("smbd_read_bytes", "Bytes that SMB clients read, headers included.", (counts.read, {})),
        counter("smbd_written_bytes", "Bytes that SMB clients wrote, headers included.", (counts.written, {})),
        counter("smbd_requests", "SMB2 requests.", (counts.operations, {})),
        counter("smbd_request_seconds", "Time in SMB2 requests that do not wait for an event.", (counts.busy, {})),
        gauge("smbd_clients", "Hosts with a connection to smbd.", (clients, {})),
        gauge("smbd_sessions", "SMB sessions.", (len(sessions), {})),
        gauge(
            "smbd_open_files",
            "Files that SMB clients have open.",
            (sum(session.open_files or 0 for session in sessions), {}),
        ),
    ]


def _ended(pid: int) -> dict[str, int] | None:
    """What changes where a process of smbd has ended, or smbd was started again (proc_pid_stat(5)); None without it."""
    # the name of the program may have blanks
    words = (sysfs.text(paths.ROOT / f"proc/{pid}/stat") or "").rpartition(")")[2].split()
    return {"pid": pid, "started": int(words[19]), "faults": int(words[8])} if len(words) > 19 else None


def _counted(now: dict[str, int] | None) -> ProtocolCounters | None:
    """What smbd had counted when nobody was connected, if none of its processes has ended since."""
    try:
        kept = read_model(paths.smbd_idle_file(), Idle).model_dump() if now else {}
    except MillraceError:
        return None
    if not now or any(kept.pop(name) != value for name, value in now.items()):
        return None
    return ProtocolCounters(**kept)
