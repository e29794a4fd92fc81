# SPDX-License-Identifier: Apache-2.0
"""Is a scheduled snapshot of a share late, or did it fail?

A share without any copy is no finding: whether it needs one is decided by its owner. What is kept elsewhere has more to
say and checks of its own: `replicas` and `backups`.
"""

from datetime import timedelta

from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.protect import light
from millrace.protect.protection import places
from millrace.serve.config import store

NAME = "protection"
SETTLING = timedelta(hours=1)
"""After a start for so long nothing is late: what was due while the server was off is made now."""


def check(host: Host) -> list[HealthFinding]:
    """Return the copies that are late or failed, else one finding; nothing where no share has a schedule."""
    if host.pool is None:
        return []
    lights = places.lights(store.read().config)
    scheduled = [each for each in lights if each.place == "here" and each.schedule is not None]
    settled = host.uptime > SETTLING.total_seconds()
    findings = [
        HealthFinding(
            check=NAME,
            kind=each.state,
            subject=f"{each.share}/{each.place}",
            level=Level.WARN,
            sentence=each.sentence,
            todo=each.todo,
        )
        for each in light.problems(scheduled)
        if settled or each.state != "late"
    ]
    if findings or not scheduled:
        return findings
    number = len({each.share for each in scheduled})
    what = "1 share has snapshots" if number == 1 else f"{number} shares have snapshots"
    return [HealthFinding(check=NAME, level=Level.OK, sentence=f"{what} by schedule, none of which is late.")]
