# SPDX-License-Identifier: Apache-2.0
"""Was this server reset lately, and did a reset fail?"""

from datetime import timedelta

from millrace.lifecycle.reset import reset
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.system import ages
from millrace.system.text import moment

NAME = "reset"

SHOWN = timedelta(days=1)
"""So long a reset is a warning, which alerts report; `millrace reset show` shows it afterwards, too."""


def check(host: Host) -> list[HealthFinding]:
    """Return the reset that this server came back from, and one that failed; nothing where neither was lately."""
    last, failed = reset.last(), reset.last_failure()
    if failed is not None:
        sentence = f"A factory reset failed: {failed.problem}."
        return [
            HealthFinding(check=NAME, kind="failed", level=Level.WARN, sentence=sentence, todo="millrace reset show")
        ]
    if last is not None and ages.is_recent(last.at, SHOWN):
        sentence = f"This server was reset to factory state by {last.by}, {moment(last.at)}, and its pool was adopted."
        todo = "Nothing, if this was meant to be; millrace reset show"
        return [HealthFinding(check=NAME, kind="done", level=Level.WARN, sentence=sentence, todo=todo)]
    return []
