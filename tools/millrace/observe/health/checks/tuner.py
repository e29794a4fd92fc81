# SPDX-License-Identifier: Apache-2.0
"""Are settings of a run of the tuner still in force after its end?"""

from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.system import paths
from millrace.system.run import quickly

NAME = "tuner"
SHOWN = 2
"""How many settings a sentence has; `millrace tuner status` lists all."""


def check(host: Host) -> list[HealthFinding]:
    """Return a finding where a run has ended and left settings; nothing while one is active or where none did."""
    if not paths.tuner_journal_file().exists():
        return []
    # like a benchmark: there is hardly ever one
    from millrace.measure.tuner.run import tuner_job, tuner_journal

    left = tuner_journal.in_force()
    if left is None or tuner_job.JOB.runs(quickly):
        return []
    names = [f"{change.setting} is {change.new}" for change in left.changed]
    more = f", and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    sentence = f"Tuner run {left.run} has ended and left settings: {', '.join(names[:SHOWN])}{more}."
    return [HealthFinding(check=NAME, kind="left", level=Level.WARN, sentence=sentence, todo="millrace tuner stop")]
