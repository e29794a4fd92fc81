# SPDX-License-Identifier: Apache-2.0
"""Run every check; one that fails to run is UNKNOWN and does not prevent the others."""

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from millrace.observe.health.checks import (
    access_log,
    alerts,
    apart,
    arrays,
    backend,
    certificate,
    clock,
    cockpit,
    connections,
    domain,
    drives,
    encryption,
    filesystem,
    firewall,
    hardware,
    heat,
    journal,
    keep,
    kernel,
    latency,
    links,
    memory,
    nfs,
    nfsd_nodes,
    policy,
    pool,
    ports,
    protection,
    reset,
    returns,
    root,
    scrub,
    settings,
    shares,
    slots,
    smb,
    snapshots,
    trim,
    tuner,
    unclean,
    units,
    update,
    volumes,
)
from millrace.observe.health.host import Host
from millrace.observe.health.model import Health, HealthFinding, Level, worst
from millrace.system.errors import MillraceError

Check = Callable[[Host], list[HealthFinding]]

CHECKS: Mapping[str, Check] = {
    "pool": pool.check,
    "arrays": arrays.check,
    "backend": backend.check,
    "connections": connections.check,
    "scrub": scrub.check,
    "trim": trim.check,
    "keep": keep.check,
    "unclean": unclean.check,
    "returns": returns.check,
    "apart": apart.check,
    "filesystem": filesystem.check,
    "drives": drives.check,
    "slots": slots.check,
    "root": root.check,
    "encryption": encryption.check,
    "clock": clock.check,
    "hardware": hardware.check,
    "memory": memory.check,
    "links": links.check,
    "heat": heat.check,
    "latency": latency.check,
    "nfs": nfs.check,
    "nfsd_nodes": nfsd_nodes.check,
    "smb": smb.check,
    "firewall": firewall.check,
    "policy": policy.check,
    "settings": settings.check,
    "tuner": tuner.check,
    "kernel": kernel.check,
    "ports": ports.check,
    "shares": shares.check,
    "access_log": access_log.check,
    "protection": protection.check,
    "snapshots": snapshots.check,
    "volumes": volumes.check,
    "domain": domain.check,
    "units": units.check,
    "update": update.check,
    "reset": reset.check,
    "cockpit": cockpit.check,
    "certificate": certificate.check,
    "journal": journal.check,
    "alerts": alerts.check,
}

NOT_RUN = "not-run"
"""The kind of the finding that a check itself failed."""


def collect(host: Host | None = None, checks: Mapping[str, Check] = CHECKS) -> Health:
    """Return the health of this server, now."""
    server = host or Host()
    findings = [finding for name, check in checks.items() for finding in run_check(name, check, server)]
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return Health(at=at, level=worst(findings), findings=findings, starting=server.starting)


def run_check(name: str, check: Check, host: Host) -> list[HealthFinding]:
    """Return the findings of a check; UNKNOWN where it fails to run."""
    try:
        return check(host)
    except (OSError, ValueError, MillraceError) as error:
        todo = "journalctl -b -p err" if os.geteuid() == 0 else "Run millrace health as root."
        sentence = f"The check {name} failed to run: {str(error).rstrip('.')}."
        return [HealthFinding(check=name, kind=NOT_RUN, level=Level.UNKNOWN, sentence=sentence, todo=todo)]
