# SPDX-License-Identifier: Apache-2.0
"""smbd's own counters and sessions; smbd shows them to root alone."""

from millrace.observe.live import counters, smbd
from millrace.observe.metrics.family import Family, counter, gauge
from millrace.serve.share.session import smb_sessions
from millrace.system import paths, sysfs
from millrace.system.errors import Failed
from millrace.system.listeners import SMB_PORT
from millrace.system.run import quickly


def families() -> list[Family]:
    """Return the metrics of smbd; none where it does not run. Failed: it does not show them."""
    # No process for nothing: smbstatus would find no profile.
    if sysfs.number(paths.ROOT / "run/samba/smbd.pid") is None:
        return []
    clients = counters.tcp_clients(SMB_PORT)
    counts, why = smbd.counts(clients, quickly)
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
