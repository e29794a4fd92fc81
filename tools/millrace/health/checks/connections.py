# SPDX-License-Identifier: Apache-2.0
"""Are the subsystems of NVMe over Fabrics connected that should be, over each of their paths?"""

from millrace.backend import fabrics
from millrace.backend.connect import UNIT
from millrace.backend.model import ConnectionRow, PathRow
from millrace.backend.store import connections
from millrace.health.host import Host
from millrace.health.model import Finding, Level

NAME = "connections"


def check(host: Host) -> list[Finding]:
    """Return one finding for each connection; nothing where there is none."""
    return [_connection(host, fabrics.row(one)) for one in connections()]


def _connection(host: Host, row: ConnectionRow) -> Finding:
    away = [path for path in row.paths if path.state != fabrics.LIVE]
    if not away:
        return _finding(row, Level.OK, f"{row.nqn} is connected.", None, "")
    where = ", ".join(f"{path.address} port {row.port}" for path in away)
    if len(away) < len(row.paths):
        sentence = f"{row.nqn} is not connected over {where}; its other paths are."
        return _finding(row, Level.WARN, sentence, _todo(away), "path")
    return host.absent(NAME, f"{row.nqn} is not connected: {where}.", _todo(away), "connection", row.nqn)


def _todo(away: list[PathRow]) -> str:
    """A path without a controller is tried by the unit, one with a controller by the kernel."""
    log = f"journalctl -u {UNIT}" if any(path.controller is None for path in away) else "journalctl -k | grep nvme"
    return f"Start the target, or see to the network between; it is connected again by itself. For the reason: {log}"


def _finding(row: ConnectionRow, level: Level, sentence: str, todo: str | None, kind: str) -> Finding:
    return Finding(check=NAME, kind=kind, subject=row.nqn, level=level, sentence=sentence, todo=todo)
