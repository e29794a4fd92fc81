# SPDX-License-Identifier: Apache-2.0
"""Are the subsystems of NVMe over Fabrics connected that should be, over each of their paths?"""

from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.storage.fabrics import nvme_host
from millrace.storage.fabrics.connect import UNIT
from millrace.storage.fabrics.connection_store import connections
from millrace.storage.fabrics.fabrics_model import ConnectionRow, PathRow

NAME = "connections"


def check(host: Host) -> list[HealthFinding]:
    """Return one finding for each connection; nothing where there is none."""
    return [_connection(host, nvme_host.row(one)) for one in connections()]


def _connection(host: Host, row: ConnectionRow) -> HealthFinding:
    away = [path for path in row.paths if path.state != nvme_host.LIVE]
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


def _finding(row: ConnectionRow, level: Level, sentence: str, todo: str | None, kind: str) -> HealthFinding:
    return HealthFinding(check=NAME, kind=kind, subject=row.nqn, level=level, sentence=sentence, todo=todo)
