# SPDX-License-Identifier: Apache-2.0
"""Did any unit fail?"""

from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level

NAME = "units"


def check(host: Host) -> list[HealthFinding]:
    """Return one finding for each failed unit."""
    if not host.failed_units:
        return [HealthFinding(check=NAME, level=Level.OK, sentence="No unit has failed.")]
    return [
        HealthFinding(
            check=NAME,
            subject=unit,
            level=Level.FAIL,
            sentence=f"{unit} has failed.",
            todo=f"systemctl status {unit}",
        )
        for unit in host.failed_units
    ]
