# SPDX-License-Identifier: Apache-2.0
"""Is smbd running, does it listen on every address that clients can use, and does it answer?"""

from collections.abc import Sequence
from ipaddress import ip_address

from millrace.observe.health.checks import filesystem
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.serve.config import store
from millrace.system import net
from millrace.system.listeners import SMB_PORT, Address, not_listening
from millrace.system.names import several

NAME = "smb"


def check(host: Host) -> list[HealthFinding]:
    """Check the SMB server, wherever there is a pool to serve."""
    if host.pool is None:
        return []
    state = host.active_state("smbd.service")
    if state in ("active", "reloading"):
        ports = net.for_clients(host.ports, store.read().config.management)
        silent = not_listening((address.ip for port in ports for address in port.addresses), SMB_PORT)
        if silent:
            sentence = f"The SMB server does not listen on {several([str(address) for address in silent])}."
            return [host.absent(NAME, sentence, "systemctl restart smbd.service; it ends the sessions of clients")]
        failed = filesystem.unserved(host, NAME, "Clients of SMB")
        return failed or _answer(host, [address.ip for port in ports for address in port.addresses])
    if state == "activating":
        return [HealthFinding(check=NAME, level=Level.WARN, sentence="The SMB server is starting.")]
    return filesystem.waiting(host, NAME, "Clients of SMB") or [
        host.absent(NAME, f"The SMB server is {state}.", "systemctl status smbd.service millrace-share.service")
    ]


def _answer(host: Host, addresses: Sequence[Address]) -> list[HealthFinding]:
    """Where it listens: on loopback mostly, and where it does not, on an address of a port."""
    heard = [one for one in (ip_address("127.0.0.1"), *addresses) if not not_listening([one], SMB_PORT)]
    problem = host.probes.smb(str(heard[0])) if heard else None
    if problem is not None:
        sentence = f"The SMB server does not respond: {problem}."
        return [host.absent(NAME, sentence, "systemctl restart smbd.service; it ends the sessions of clients")]
    return [HealthFinding(check=NAME, level=Level.OK, sentence="SMB serves on port 445.")]
