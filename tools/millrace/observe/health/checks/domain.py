# SPDX-License-Identifier: Apache-2.0
"""Does the domain know this server, and does this server reach the domain?"""

from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.serve.config import store
from millrace.serve.domain.model import DomainReport
from millrace.serve.join.conditions import MOST_SECONDS
from millrace.serve.join.join_status import show

NAME = "domain"

# Who is half as far off as Kerberos takes will be there soon.
CLOCK_WARNING = MOST_SECONDS // 2


def check(host: Host) -> list[HealthFinding]:
    """Check the membership of a server that is in a domain."""
    domain = store.read().config.domain
    if domain is None:
        return []
    report = show(domain, host.query)
    if not report.winbind:
        return [host.absent(NAME, "winbind does not respond.", "systemctl status winbind.service")]
    findings = [*_reached(report, host), *_clock(report)]
    fine = f"This server is {domain.machine} in {domain.zone}; {report.controller} responds and trusts this server."
    return findings or [HealthFinding(check=NAME, level=Level.OK, sentence=fine)]


def _reached(report: DomainReport, host: Host) -> list[HealthFinding]:
    assert report.domain is not None
    zone = report.domain.zone
    if report.controller is None:
        todo = f"Is a domain controller up? resolvectl query {zone}; millrace domain show"
        return [host.absent(NAME, f"No domain controller of {zone} responds.", todo)]
    if not report.trusted:
        todo = "Was the account deleted there? Join again: millrace domain leave, millrace domain join"
        return [host.absent(NAME, f"{zone} does not trust this server.", todo)]
    if not any(key.principal.startswith("nfs/") for key in report.keys):
        todo = "net ads keytab create -P"
        sentence = "There is no key for NFS with Kerberos."
        return [HealthFinding(check=NAME, kind="keys", level=Level.WARN, sentence=sentence, todo=todo)]
    return []


def _clock(report: DomainReport) -> list[HealthFinding]:
    offset = report.clock_offset
    if offset is None or abs(offset) < CLOCK_WARNING:
        return []
    level = Level.FAIL if abs(offset) > MOST_SECONDS else Level.WARN
    sentence = f"The clock is {abs(offset)} s off the domain's; Kerberos takes {MOST_SECONDS} s."
    todo = "Set an NTP server: timedatectl timesync-status"
    return [HealthFinding(check=NAME, kind="clock", level=level, sentence=sentence, todo=todo)]
