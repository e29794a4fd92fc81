# SPDX-License-Identifier: Apache-2.0
"""The keys of this server, which NFS with Kerberos needs."""

import re

from millrace.serve.config.model import Domain
from millrace.serve.domain import files, ticket
from millrace.serve.domain.model import Key
from millrace.serve.domain.net import Net
from millrace.system import paths, sysfs
from millrace.system.errors import Failed, Refused
from millrace.system.run import Runner, last_words
from millrace.system.units import is_active

GSSPROXY = "gssproxy.service"
_ENTRY = re.compile(r"\s*(?P<version>\d+)\s+(?P<principal>\S+)$")


def keys(run: Runner) -> list[Key]:
    """Return what is in the keytab, each principal once; none where there is no keytab. Failed: it cannot be read."""
    path = paths.ROOT / files.KEYTAB
    if not path.exists():
        return []
    result = run(["klist", "-k", str(path)])
    if result.status != 0:
        raise Failed(f"the keytab cannot be read: {last_words(result)}")
    matches = [match for match in map(_ENTRY.match, result.out.splitlines()) if match]
    return list(
        {
            match["principal"]: Key(principal=match["principal"], version=int(match["version"])) for match in matches
        }.values()
    )


def refuse_without_key(share: str, run: Runner) -> None:
    """Verify that shares with Kerberos have a key for NFS. Refused: a share requires Kerberos and there is none."""
    if not any(one.principal.startswith("nfs/") for one in keys(run)):
        raise Refused(
            f"{share} asks for Kerberos, and this server has no key for NFS: join a domain (millrace domain join)"
        )


def verify(domain: Domain | None, run: Runner) -> str:
    """Return what was verified, in words: the key opens a client's ticket for NFS. Failed: what prevents it.

    A mount from here would need the client's half of Kerberos on the server; this uses the same ticket and the same
    key, and verifies that the kernel asks gssproxy to open it.
    """
    if not is_active(GSSPROXY, run):
        raise Failed(f"gssproxy is not running, NFS accepts no tickets: systemctl status {GSSPROXY}")
    if not _kernel_asks_gssproxy():
        raise Failed("the NFS server was asked for Kerberos before there was a key and does without it: reboot once")
    if domain is None:
        return "NFS: Kerberos tickets are accepted with the key in /etc/krb5.keytab"
    net = Net(run)
    service = f"nfs/{domain.host_name}"
    with ticket.of_this_server(domain, net) as cache:
        result = net.kerberos("kvno", "-c", cache, "-k", str(paths.ROOT / files.KEYTAB), f"{service}@{domain.realm}")
    if result.status != 0:
        raise Failed(f"tickets for {service} cannot be opened with the key of this server: {last_words(result)}")
    return f"NFS: the domain issues tickets for {service}, and the key of this server accepts them"


def _kernel_asks_gssproxy() -> bool:
    return sysfs.text(paths.ROOT / "proc/net/rpc/use-gss-proxy") == "1"
