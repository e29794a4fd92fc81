# SPDX-License-Identifier: Apache-2.0
"""smbd's own counters and sessions; smbd shows them to root alone."""

from millrace import paths
from millrace.errors import Failed
from millrace.metrics.family import Family, counter, gauge
from millrace.share.session import smb_sessions
from millrace.system import sysfs
from millrace.system.listeners import SMB_PORT
from millrace.system.run import quickly
from millrace.watch import counters


def families() -> list[Family]:
    """Return the metrics of smbd; none where it does not run. Failed: it does not show them."""
    # No process for nothing: smbstatus would find no profile.
    if sysfs.number(paths.ROOT / "run/samba/smbd.pid") is None:
        return []
    found, why = counters.smb(quickly)
    clients = counters.tcp_clients(SMB_PORT)
    # smbstatus is half of what a collection costs, and a session ends with its connection.
    sessions = [] if clients == 0 else smb_sessions(quickly)[0]
    if found is None:
        raise Failed(why or "smbd has no SMB statistics")
    return [
        counter("smbd_read_bytes", "Bytes that SMB clients read, headers included.", (found.read, {})),
        counter("smbd_written_bytes", "Bytes that SMB clients wrote, headers included.", (found.written, {})),
        counter("smbd_requests", "SMB2 requests.", (found.operations, {})),
        counter("smbd_request_seconds", "Time in SMB2 requests that do not wait for an event.", (found.busy, {})),
        gauge("smbd_clients", "Hosts with a connection to smbd.", (clients, {})),
        gauge("smbd_sessions", "SMB sessions.", (len(sessions), {})),
        gauge(
            "smbd_open_files", "Files that SMB clients have open.", (sum(one.open_files or 0 for one in sessions), {})
        ),
    ]
