# SPDX-License-Identifier: Apache-2.0
"""What must hold before a domain is joined, each with the sentence for where it does not."""

import socket

from millrace.serve.config.domain_names import netbios_name
from millrace.serve.config.model import Config, Domain
from millrace.serve.domain import files
from millrace.serve.domain.net import DomainController, Net
from millrace.serve.render import rendered
from millrace.system import paths
from millrace.system.errors import Failed, Refused
from millrace.system.run import Runner

# Kerberos refuses more (RFC 4120, 1.6: five minutes is the usual setting).
MOST_SECONDS = 300
LDAP_PORT, LDAP_SECONDS = 389, 20


def not_joined(config: Config) -> None:
    """Verify that this server is no member of a domain. Refused: it is."""
    if config.domain is not None:
        raise Refused(
            f"this server is already a member of {config.domain.zone}; leave it first (millrace domain leave)"
        )


def machine_name() -> str:
    """Return the name of this server's account. Refused: the host name cannot be one."""
    name = socket.gethostname().partition(".")[0]
    try:
        return netbios_name(name)
    except ValueError as error:
        raise Refused(f"the host name cannot be that of a member ({error}): hostnamectl hostname NAME") from error


def no_foreign_kerberos() -> None:
    """Verify that no other Kerberos is configured here. Refused: one is."""
    for name in (files.KEYTAB, files.KRB5):
        if (paths.ROOT / name).exists() and not rendered.is_ours(name):
            raise Refused(f"/{name} is there and not of Millrace: move it elsewhere first")


def dns_finds(domain: Domain, run: Runner) -> None:
    """Verify that DNS knows a domain controller. Refused: it knows none."""
    record = f"_ldap._tcp.dc._msdcs.{domain.zone}"
    if run(["timeout", "30", "resolvectl", "query", "--legend=no", "--type=SRV", record]).status == 0:
        return
    asked = f"the DNS server {', '.join(domain.dns)}" if domain.dns else "DNS"
    todo = "is it a DNS server of the domain?" if domain.dns else "name the domain's DNS server with --dns ADDRESS"
    raise Refused(f"{asked} knows no domain controller of {domain.zone} ({record}): {todo}")


def controller_answers(net: Net) -> DomainController:
    """Return the domain controller. Refused: none answers."""
    # What did not answer a minute ago is not asked again by Samba.
    net.run(["net", "cache", "flush"])
    try:
        return net.controller()
    except Failed as error:
        raise Refused(
            f"{error}: is it up, and lets the network in between LDAP (389) and Kerberos (88) through?"
        ) from error


def accepts_ldap(controller: DomainController) -> None:
    """Verify that the controller answers over TCP.

    Refused: only in datagrams; Samba would report "Operations error".
    """
    try:
        socket.create_connection((controller.name, LDAP_PORT), LDAP_SECONDS).close()
    except OSError as error:
        raise Refused(
            f"{controller.name} takes no connection for LDAP (TCP, port {LDAP_PORT}): {error.strerror or error}: "
            "is it up, and does the network in between let this through?"
        ) from error


def clocks_agree(net: Net) -> None:
    """Verify that the clocks differ by less than Kerberos accepts. Refused: they do not."""
    offset = net.clock_offset()
    if abs(offset) > MOST_SECONDS:
        late = "behind" if offset > 0 else "ahead of"
        raise Refused(
            f"the clock of this server is {abs(offset)} s {late} the domain's, {MOST_SECONDS} s are too many: "
            "set an NTP server or the time (timedatectl)"
        )
