# SPDX-License-Identifier: Apache-2.0
"""Does nfsd listen, has it threads, and is anything exported?"""

from millrace import paths
from millrace.health.host import Host
from millrace.health.model import Finding, Level
from millrace.share import nfs

NAME = "nfs"
TLSHD = "tlshd.service"


def check(host: Host) -> list[Finding]:
    """The NFS server, wherever there is a pool to serve."""
    if host.pool is None:
        return []
    threads = _lines("threads")
    if not threads or threads[0] == "0":
        return [host.absent(NAME, "The NFS server is not running.", "systemctl status nfs-server.service")]
    listeners = _lines("portlist")
    if "tcp 2049" not in listeners:
        return [host.absent(NAME, "The NFS server does not listen on TCP.", "systemctl restart nfs-server.service")]
    findings = []
    if nfs.has_rdma_device() and nfs.RDMA_LISTENER not in listeners:
        sentence = "An RDMA device is there and the NFS server does not listen on it."
        findings.append(Finding(check=NAME, level=Level.WARN, sentence=sentence, todo="millrace tune"))
    if _names_tls() and host.active_state(TLSHD) != "active":
        sentence = "A share names TLS and tlshd, which shakes hands for it, is not running: its clients cannot mount."
        findings.append(Finding(check=NAME, level=Level.FAIL, sentence=sentence, todo=f"systemctl restart {TLSHD}"))
    if not _exported():
        sentence = "No share is exported over NFS: no client network is known."
        todo = "Name the client networks under [nfs] networks in /etc/millrace/policy.toml, then: millrace share render"
        findings.append(Finding(check=NAME, level=Level.WARN, sentence=sentence, todo=todo))
    transports = ", ".join(dict.fromkeys(listeners))
    fine = Finding(check=NAME, level=Level.OK, sentence=f"NFS serves with {threads[0]} threads on {transports}.")
    return findings or [fine]


def _exported() -> bool:
    path = paths.ROOT / nfs.EXPORTS
    lines = path.read_text().splitlines() if path.exists() else []
    # A server whose shares are all of SMB alone lacks no client network.
    unwanted = lines and not any("is not exported" in line and nfs.NOT_FOR_NFS not in line for line in lines)
    return bool(unwanted) or any(line.strip() and not line.startswith("#") for line in lines)


def _names_tls() -> bool:
    path = paths.ROOT / nfs.EXPORTS
    lines = path.read_text().splitlines() if path.exists() else []
    entries = " ".join(line for line in lines if not line.startswith("#"))
    return any("tls" in options.partition(")")[0].partition(",")[0] for options in entries.split("xprtsec=")[1:])


def _lines(name: str) -> list[str]:
    """The lines of a file of nfsd; empty where nfsd is not loaded."""
    path = paths.ROOT / "proc/fs/nfsd" / name
    return [" ".join(line.split()) for line in path.read_text().splitlines()] if path.exists() else []
