# SPDX-License-Identifier: Apache-2.0
"""The membership as it is now, as winbind and the domain report it."""

from millrace.serve.config.model import Domain
from millrace.serve.domain import ids
from millrace.serve.domain.keys import keys
from millrace.serve.domain.model import DomainReport, Key
from millrace.serve.domain.net import read_only_net
from millrace.system.errors import MillraceError
from millrace.system.printing import fields
from millrace.system.run import Runner, last_words

NOT_JOINED = "Not a member of a domain: millrace domain join REALM ACCOUNT"


def show(domain: Domain | None, run: Runner) -> DomainReport:
    """Return what can be read; what cannot is a problem in words, not an error."""
    if domain is None:
        return DomainReport(domain=None)
    problems = list[str]()
    alive = run(["wbinfo", "--ping"])
    secret = run(["wbinfo", "--check-secret"])
    if alive.status != 0:
        problems.append("winbind does not respond: systemctl status winbind.service")
    elif secret.status != 0:
        problems.append(f"the domain does not trust this server: {last_words(secret)}")
    controller, offset, keytab = None, None, list[Key]()
    try:
        with read_only_net(domain, run) as net:
            controller = net.controller().name
            offset = net.clock_offset()
    except MillraceError as error:
        problems.append(str(error))
    try:
        keytab = keys(run)
    except MillraceError as error:
        problems.append(str(error))
    return DomainReport(
        domain=domain,
        host_name=domain.host_name,
        controller=controller,
        winbind=alive.status == 0,
        trusted=secret.status == 0 if alive.status == 0 else None,
        clock_offset=offset,
        keys=keytab,
        ids=ids.DOMAIN,
        other_ids=ids.OTHERS,
        problems=problems,
    )


def lines(report: DomainReport) -> list[str]:
    """Return the text for a terminal."""
    domain = report.domain
    if domain is None:
        return [NOT_JOINED]
    services = sorted({key.principal.partition("@")[0] for key in report.keys if "/" in key.principal})
    clock = "not known" if report.clock_offset is None else f"{report.clock_offset} s from the domain's"
    trust = {True: "yes", False: "no", None: "not known"}[report.trusted]
    numbers = f"{_range(report.ids)} (users and groups), {_range(report.other_ids)} (Windows' own groups)"
    pairs = [
        ("Domain", f"{domain.realm} ({domain.workgroup})"),
        ("Account", f"{domain.machine}$, {report.host_name}"),
        ("Controller", report.controller or "none reachable"),
        ("DNS", ", ".join(domain.dns) or "from the network configuration"),
        ("Trust", trust),
        ("Clock", clock),
        ("Keys", ", ".join(services) or "none"),
        ("Numbers", numbers),
    ]
    return list(fields([*pairs, *(("Problem", problem) for problem in report.problems)]))


def _range(found: ids.IdRange | None) -> str:
    return f"{found.first} to {found.last}" if found else "none"
