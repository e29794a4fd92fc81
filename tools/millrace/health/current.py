# SPDX-License-Identifier: Apache-2.0
"""The health for whoever asks: root looks at everything, others get what root saw last and look where they may."""

import os
from datetime import UTC, datetime

from millrace import paths, store
from millrace.health.checks import arrays, filesystem, pool
from millrace.health.collect import CHECKS, collect, guarded
from millrace.health.host import Host
from millrace.health.model import Finding, Health, Level, worst

# These read what everybody may read, and are what a person waits for.
OPEN = {"pool": pool.check, "arrays": arrays.check, "filesystem": filesystem.check}
# The timer asks every 30 s; a box under load may be late once.
STALE_SECONDS = 120


def current(host: Host) -> Health:
    """The health now."""
    return collect(host) if os.geteuid() == 0 else as_seen(host)


def as_seen(host: Host, now: datetime | None = None) -> Health:
    """What millrace-health.service wrote, with the state of pool, arrays and file system as it is this moment."""
    if not paths.health_file().exists():
        seen = [_unseen("The health was not looked at in this boot yet.", host.starting)]
        at = (now or datetime.now(UTC)).isoformat(timespec="seconds")
    else:
        written = store.read_model(paths.health_file(), Health)
        at = written.at
        seen = [one for one in written.findings if one.check not in OPEN]
        age = ((now or datetime.now(UTC)) - datetime.fromisoformat(at)).total_seconds()
        if age > STALE_SECONDS:
            seen.append(_unseen(f"The health was last looked at {age / 60:.0f} minutes ago.", False))
    live = [finding for name, check in OPEN.items() for finding in guarded(name, check, host)]
    findings = sorted([*live, *seen], key=lambda one: list(CHECKS).index(one.check) if one.check in CHECKS else -1)
    return Health(at=at, level=worst(findings), findings=findings)


def glance(host: Host) -> Level:
    """The level alone, cheaply enough for every second, also for root."""
    return as_seen(host).level


def _unseen(sentence: str, starting: bool) -> Finding:
    if starting:
        return Finding(check="health", level=Level.WARN, sentence=f"{sentence} The server is still starting.")
    return Finding(
        check="health", level=Level.UNKNOWN, sentence=sentence, todo="systemctl status millrace-health.timer"
    )
