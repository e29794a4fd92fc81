# SPDX-License-Identifier: Apache-2.0
"""Are the links as an administrator decided: addresses, MTU, bonds; and is no client network on a management port?"""

from collections.abc import Sequence

from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.plan.policy import policy_in_force
from millrace.serve.config import store
from millrace.serve.config.model import Config
from millrace.serve.config.network import DesiredBond, DesiredLink, DesiredPort
from millrace.serve.network import trial_record
from millrace.serve.network.addressing import missing, wrong_mtu
from millrace.serve.network.links import NetworkLink, among, now_of
from millrace.serve.share.networks import nfs_networks, on_management
from millrace.system.names import several

NAME = "ports"


def check(host: Host) -> list[HealthFinding]:
    """Return one finding for each link that is not as it was decided or has clients and must not, or one for all."""
    config = trial_record.in_force(store.read().config)
    links = among(host.interfaces) if config.links else []
    findings = [finding for wanted in config.links for finding in _link(wanted, config, links)]
    findings += _clients_on_management(host, config)
    fine = "All ports have their static addresses." if config.links else "No static addresses are configured."
    return findings or [HealthFinding(check=NAME, level=Level.OK, sentence=fine)]


def _link(wanted: DesiredLink, config: Config, links: Sequence[NetworkLink]) -> list[HealthFinding]:
    link = now_of(wanted, links)
    lacking = missing(wanted, link)
    if link is None:
        return [_absent(wanted, lacking)] if lacking or not isinstance(wanted, DesiredPort) else []
    findings = []
    see = f"journalctl -u systemd-networkd; networkctl status {link.name}"
    if lacking:
        sentence = f"{link.name} lacks {several(lacking)}" + ("." if link.carrier else ": it has no link.")
        findings.append(_finding("addresses", wanted, sentence, see))
    size = wrong_mtu(wanted, config, link)
    if size is not None:
        sentence = f"{link.name} has an MTU of {link.mtu} bytes; {size} are configured."
        findings.append(_finding("mtu", wanted, sentence, see))
    return [*findings, *(_bond(wanted, link, links) if isinstance(wanted, DesiredBond) else [])]


def _absent(wanted: DesiredLink, lacking: Sequence[str]) -> HealthFinding:
    should = f"; it should have {several(lacking)}" if lacking else ""
    if isinstance(wanted, DesiredPort):
        sentence = f"The port {wanted.name} ({wanted.mac}) is not in this server{should}."
        todo = "Put the card back, or give its addresses to another port: millrace network set"
    else:
        sentence = f"{wanted.name} does not exist{should}."
        todo = "journalctl -u systemd-networkd; millrace network show"
    return _finding("addresses", wanted, sentence, todo)


def _bond(wanted: DesiredBond, link: NetworkLink, links: Sequence[NetworkLink]) -> list[HealthFinding]:
    """A bond that has lost ports, or whose switch does not speak LACP."""
    # a port has another name once its card is in another slot
    names = {each.mac: each.name for each in links if each.kind == "port"}
    members = [names.get(port.mac, port.name) for port in wanted.members]
    dead = [name for name in members if name not in link.active]
    findings = []
    if dead and not link.active:
        sentence = f"No port of {link.name} carries data: {several(dead)}."
        todo = f"Check the cables and the switch: networkctl status {' '.join(dead)}"
        findings.append(_finding("bond", wanted, sentence, todo, Level.FAIL))
    elif dead:
        sentence = (
            f"{link.name} is degraded: {several(dead)} carries no data; "
            f"{len(link.active)} of {len(wanted.members)} ports are left."
        )
        todo = f"Check the cable and the port of the switch: networkctl status {' '.join(dead)}"
        findings.append(_finding("bond", wanted, sentence, todo))
    if wanted.mode == "lacp" and link.partner is None:
        sentence = f"No LACP partner responds to {link.name}: it works through one port at most."
        todo = "Switch LACP on at the switch for the ports of the bond, or make it again with --mode active-backup"
        findings.append(_finding("lacp", wanted, sentence, todo))
    return findings


def _finding(kind: str, wanted: DesiredLink, sentence: str, todo: str, level: Level = Level.WARN) -> HealthFinding:
    return HealthFinding(check=NAME, kind=kind, subject=wanted.name, level=level, sentence=sentence, todo=todo)


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
    todo = f"Give the management port an address in another network (millrace network set), or {others}"
    return [HealthFinding(check=NAME, kind="management", level=Level.WARN, sentence=sentence, todo=todo)]
