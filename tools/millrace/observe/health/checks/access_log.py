# SPDX-License-Identifier: Apache-2.0
"""The access logs of shares: did the journal take all of them?"""

from millrace.observe.health import access_losses
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.system.names import several
from millrace.system.text import moment

NAME = "access_log"


def check(_: Host) -> list[HealthFinding]:
    """Return one finding where lines were dropped in the last day; nothing where no share has an access log."""
    names, seen = access_losses.audited(), access_losses.last()
    if not names or seen is None or not seen.lost:
        return []
    lines, at = sum(each.lines for each in seen.lost), moment(seen.lost[-1].at)
    sentence = (
        f"The access log of {several(names)} has gaps: the journal dropped {lines} lines of the SMB server in 24 "
        f"hours, the last before {at}."
    )
    todo = (
        "Record fewer shares (millrace share set NAME --no-audit), or raise LogRateLimitBurst= "
        "(systemctl edit smbd.service; then: systemctl restart smbd.service, which ends the sessions of clients)"
    )
    return [HealthFinding(check=NAME, kind="gaps", level=Level.WARN, sentence=sentence, todo=todo)]
