# SPDX-License-Identifier: Apache-2.0
"""Is smbd running, does it listen on every address that clients can use, answer, and know users as their files do?"""

from collections.abc import Sequence
from ipaddress import ip_address

from millrace.observe.health.checks import filesystem
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.serve.config import store
from millrace.serve.share import machine_sid, sid_record
from millrace.storage.record.model import Pool
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
        addresses = [address.ip for port in ports for address in port.addresses]
        return failed or _sid(host, host.pool) or _answer(host, addresses)
    if state == "activating":
        return [HealthFinding(check=NAME, level=Level.WARN, sentence="The SMB server is starting.")]
    return filesystem.waiting(host, NAME, "Clients of SMB") or [
        host.absent(NAME, f"The SMB server is {state}.", "systemctl status smbd.service millrace-share.service")
    ]


def _sid(host: Host, pool: Pool) -> list[HealthFinding]:
    """Users of homes are known by the SID of the machine: that of Samba, of the pool and of files is one.

    Files are not read here, but where shares are served and verified: the pool may hang.
    """
    config = store.read().config
    shares = [
        share.name for share in config.shares if share.type == "home" and share.smb.enabled and not share.smb.direct
    ]
    if not shares:
        return []
    recorded = machine_sid.recorded(pool)
    present = machine_sid.held(machine_sid.samba_name(pool, config.domain), host.query)
    if recorded is not None and recorded == present:
        files = sid_record.recorded(pool)
        shares = [name for name in shares if not set(files.get(name, [])) <= {recorded}]
    if not shares:
        return []
    sentence = f"The SID of this server is not that of its files: users cannot open their files in {several(shares)}."
    todo = "millrace share repair-sid"
    return [HealthFinding(check=NAME, kind="sid", level=Level.FAIL, sentence=sentence, todo=todo)]


def _answer(host: Host, addresses: Sequence[Address]) -> list[HealthFinding]:
    """Where it listens: on loopback mostly, and where it does not, on an address of a port."""
    heard = [one for one in (ip_address("127.0.0.1"), *addresses) if not not_listening([one], SMB_PORT)]
    problem = host.probes.smb(str(heard[0])) if heard else None
    if problem is not None:
        sentence = f"The SMB server does not respond: {problem}."
        return [host.absent(NAME, sentence, "systemctl restart smbd.service; it ends the sessions of clients")]
    return [HealthFinding(check=NAME, level=Level.OK, sentence="The SMB server responds on port 445.")]
