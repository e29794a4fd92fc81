# SPDX-License-Identifier: Apache-2.0
"""Does nfsd listen and answer, and is a client network confirmed?"""

from millrace.lifecycle.keep import nfs_client_room
from millrace.observe.health.checks import filesystem
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.plan.policy import policy_in_force
from millrace.serve.config import store
from millrace.serve.share import nfs
from millrace.serve.share.networks import found_networks, nfs_networks, remedy
from millrace.system import nfsd, paths
from millrace.system.names import several
from millrace.system.net import RDMA_LISTENER, has_rdma_device
from millrace.system.wait import wait_until

NAME = "nfs"
TLSHD = "tlshd.service"
MOUNTD = "nfs-mountd.service"
# So long the answer of user space to the kernel may be on its way.
ANSWER_SECONDS = 2.0


def check(host: Host) -> list[HealthFinding]:
    """Check the NFS server, wherever there is a pool to serve."""
    if host.pool is None:
        return []
    if not nfsd.is_serving():
        return filesystem.waiting(host, NAME, "Clients of NFS") or [
            host.absent(NAME, "The NFS server is not running.", "systemctl status nfs-server.service")
        ]
    listeners = nfsd.lines("portlist")
    if "tcp 2049" not in listeners:
        return [host.absent(NAME, "The NFS server does not listen on TCP.", "systemctl restart nfs-server.service")]
    failed = filesystem.unserved(host, NAME, "Clients of NFS")
    if failed:
        return failed
    # On loopback: what nfsd listens on is no single address, and exports do not matter to NULL.
    problem = host.probes.nfs("127.0.0.1")
    if problem is not None:
        sentence = f"The NFS server does not respond to an RPC call: {problem}."
        return [host.absent(NAME, sentence, "systemctl restart nfs-server.service; journalctl -k | grep nfsd")]
    findings = []
    if has_rdma_device() and RDMA_LISTENER not in listeners:
        sentence = "An RDMA device is present, but the NFS server does not listen on it."
        findings.append(
            HealthFinding(check=NAME, kind="rdma", level=Level.WARN, sentence=sentence, todo="millrace tune")
        )
    if asks_for_tls() and host.active_state(TLSHD) != "active":
        sentence = "A share requires TLS, but tlshd is not running: clients of this share cannot mount."
        todo = f"systemctl restart {TLSHD}"
        findings.append(HealthFinding(check=NAME, kind="tls", level=Level.FAIL, sentence=sentence, todo=todo))
    findings += [*_unanswered(host), *_closed(host), *_records(host)]
    transports = ", ".join(dict.fromkeys(listeners))
    threads = nfsd.lines("threads")[0]
    fine = HealthFinding(
        check=NAME,
        level=Level.OK,
        sentence=f"The NFS server responds; it has {threads} threads and listens on {transports}.",
    )
    return findings or [fine]


def _unanswered(host: Host) -> list[HealthFinding]:
    """mountd, which tells the kernel who may mount what and who is in which group."""
    if host.active_state(MOUNTD) != "active":
        sentence = "mountd is not running: no client can mount a share, and mounted ones stop within half an hour."
        todo = f"systemctl start {MOUNTD}"
        return [HealthFinding(check=NAME, kind="mountd", level=Level.FAIL, sentence=sentence, todo=todo)]
    # an answer that is on its way looks the same
    names = wait_until(_without_groups, lambda without: not without, [ANSWER_SECONDS])
    if not names:
        return []
    sentence = f"NFS does not know the groups of {several(sorted(names))}: access by these groups is denied."
    todo = f"systemctl restart {MOUNTD}; it restarts the NFS server, and clients wait for about a minute"
    return [HealthFinding(check=NAME, kind="groups", level=Level.FAIL, sentence=sentence, todo=todo)]


def _without_groups() -> set[str]:
    without = nfsd.users_without_groups()
    return {user.name for user in store.read().config.users if user.uid in without} if without else set()


def _closed(host: Host) -> list[HealthFinding]:
    """Shares that are for NFS and wait for a client network; those of SMB alone lack none."""
    config = store.read().config
    waiting = [one.name for one in config.shares if one.nfs.follows_networks]
    if not waiting or nfs_networks(policy_in_force.find().policy.nfs.networks, config.nfs.networks):
        return []
    found = found_networks(host.ports, config.management)
    sentence = f"NFS is closed for {several(waiting)}: no client network is confirmed yet."
    return [HealthFinding(check=NAME, kind="networks", level=Level.WARN, sentence=sentence, todo=remedy(found))]


def _records(host: Host) -> list[HealthFinding]:
    """Whether the clients' records, from which they get their locks back, can be written."""
    beat = host.heartbeat
    if beat.problem is not None:
        return []
    if why := nfs_client_room.problem(beat):
        sentence, todo = why
        return [HealthFinding(check=NAME, kind="records", level=Level.FAIL, sentence=sentence, todo=todo)]
    if beat.records_free is not None:
        return []
    sentence = "The records of NFS clients have no room of their own: clients lose their locks if users fill the pool."
    todo = f"Let it be made: {nfs_client_room.RESTART}"
    return [HealthFinding(check=NAME, kind="records", level=Level.WARN, sentence=sentence, todo=todo)]


def asks_for_tls() -> bool:
    """Whether a share names TLS."""
    path = paths.ROOT / nfs.EXPORTS
    lines = path.read_text().splitlines() if path.exists() else []
    entries = " ".join(line for line in lines if not line.startswith("#"))
    return any("tls" in options.partition(")")[0].partition(",")[0] for options in entries.split("xprtsec=")[1:])
