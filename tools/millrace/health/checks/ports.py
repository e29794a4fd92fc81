# SPDX-License-Identifier: Apache-2.0
"""Have the ports the addresses that a person gave them?"""

from millrace.config import store
from millrace.config.names import several
from millrace.health.host import Host
from millrace.health.model import Finding, Level
from millrace.port.addressing import missing
from millrace.port.links import parse

NAME = "ports"


def check(host: Host) -> list[Finding]:
    """One finding for each port that lacks an address, or one for all of them."""
    wanted = store.look().config.ports
    here = {link.mac: link for link in parse(host.ip_addresses)} if wanted else {}
    findings = []
    for port in wanted:
        link = here.get(port.mac)
        lacking = missing(port, link)
        if link is None:
            todo = "Put the card back, or give its addresses to another port: millrace port set"
            sentence = f"The port {port.name} ({port.mac}) is not in this server; it should have {several(lacking)}."
        else:
            todo = f"journalctl -u systemd-networkd; networkctl status {link.name}"
            sentence = f"{link.name} lacks {several(lacking)}" + ("." if link.carrier else ": it has no link.")
        if lacking:
            findings.append(Finding(check=NAME, level=Level.WARN, sentence=sentence, todo=todo))
    fine = "Every port has the fixed addresses that it was given." if wanted else "No port was given a fixed address."
    return findings or [Finding(check=NAME, level=Level.OK, sentence=fine)]
