# SPDX-License-Identifier: Apache-2.0
"""Does the journal reach the host that it is forwarded to?"""

import time
from datetime import timedelta

from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.plan.policy import policy_in_force
from millrace.serve.log_forward import forward
from millrace.system import ages

NAME = "journal"
# Something is logged with each check of health, so that what was sent last is never older without a reason. In seconds.
LATE_S = 600.0


def check(host: Host) -> list[HealthFinding]:
    """Check forwarding where the policy names a host."""
    url = policy_in_force.find().policy.journal.forward
    if url is None:
        return []
    settings = forward.settings_file()
    if not settings.exists():
        sentence = f"The policy forwards the journal to {url}, and the server does not."
        return [HealthFinding(check=NAME, level=Level.WARN, sentence=sentence, todo="millrace journal apply")]
    if f"URL={url}" not in settings.read_text().splitlines():
        sentence = f"The policy forwards the journal to {url}, and the server to another host."
        return [HealthFinding(check=NAME, level=Level.WARN, sentence=sentence, todo="millrace journal apply")]
    sent = forward.sent_file()
    times = [path.stat().st_mtime for path in (settings, sent) if path.exists()]
    known = [age.total_seconds() for at in times if (age := ages.age(at)) is not None]
    # After a boot it gets its time again; a time of a wrong clock is followed by another one soon.
    late = min([*known, time.monotonic()])
    if late > LATE_S:
        sentence = f"The journal has not reached {url} for {late / 60:.0f} minutes."
        todo = f"Check that the receiver is up and trusts this server's certificate: journalctl -u {forward.UNIT}"
        return [HealthFinding(check=NAME, level=Level.WARN, sentence=sentence, todo=todo)]
    accepted = sent.exists() and ages.is_recent(sent.stat().st_mtime, timedelta(seconds=LATE_S))
    sentence = f"The journal is forwarded to {url}" + ("." if accepted else "; nothing has been accepted there yet.")
    return [HealthFinding(check=NAME, level=Level.OK, sentence=sentence)]
