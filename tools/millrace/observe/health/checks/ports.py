# SPDX-License-Identifier: Apache-2.0
"""Do the ports have the addresses that an administrator gave them, and is no client network on a management port?"""

from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.plan.policy import policy_in_force
from millrace.serve.config import store
from millrace.serve.config.model import Config
from millrace.serve.network.addressing import missing
from millrace.serve.network.links import among
from millrace.serve.share.networks import nfs_networks, on_management
from millrace.system.names import several

NAME = "ports"


def check(host: Host) -> list[HealthFinding]:
    """Return one finding for each port that lacks an address or has clients and must not, or one for all ports."""
    config = store.read().config
    wanted = config.ports
    links = {link.mac: link for link in among(host.interfaces)} if wanted else {}
    findings = []
    for port in wanted:
        link = links.get(port.mac)
        lacking = missing(port, link)
        if link is None:
            todo = "Put the card back, or give its addresses to another port: millrace port set"
            sentence = f"The port {port.name} ({port.mac}) is not in this server; it should have {several(lacking)}."
        else:
            todo = f"journalctl -u systemd-networkd; networkctl status {link.name}"
            sentence = f"{link.name} lacks {several(lacking)}" + ("." if link.carrier else ": it has no link.")
        if lacking:
            finding = HealthFinding(
                check=NAME, kind="addresses", subject=port.name, level=Level.WARN, sentence=sentence, todo=todo
            )
            findings.append(finding)
    findings += _clients_on_management(host, config)
    fine = "All ports have their static addresses." if wanted else "No static addresses are configured."
    return findings or [HealthFinding(check=NAME, level=Level.OK, sentence=fine)]


def _clients_on_management(host: Host, config: Config) -> list[HealthFinding]:
    """A lease may put a management port into a client network long after that was confirmed."""
    if not config.management:
        return []
    policy = policy_in_force.find().policy.nfs.networks
    ports = host.ports
    shared = on_management(nfs_networks(policy, config.nfs.networks), ports, config.management)
    if shared is None:
        return []
    others = (
        "name others in /etc/millrace/policy.toml ([nfs] networks), then: millrace share render"
        if policy
        else "confirm others: millrace share networks set NETWORK…"
    )
    sentence = f"The client network {shared}: NFS is exported through that port."
    todo = f"Give the management port an address in another network (millrace port set), or {others}"
    return [HealthFinding(check=NAME, kind="management", level=Level.WARN, sentence=sentence, todo=todo)]
