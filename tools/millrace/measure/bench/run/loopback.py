# SPDX-License-Identifier: Apache-2.0
"""The benchmark's directory through NFS and SMB, from this server to itself, for as long as it is measured.

Nothing of the server's configuration is changed, but for LOCALIO where the kernel has it: what measures nfsd is without
it. The export is to this server only and squashes all users to the benchmark's user. SMB is a second smbd with the
settings of the first, one share, one account with a random password and a port of its own, on the loopback only:
smb.conf, accounts and connections of the server are not touched. Mounts are made in the mount namespace of the unit, so
they end with it in any case.
"""

import pwd
import secrets
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from millrace.measure.bench.plan import connections
from millrace.measure.bench.plan.connections import MountConnections
from millrace.measure.bench.run import localio
from millrace.measure.bench.run.export import exported
from millrace.measure.bench.run.local import USER
from millrace.plan.defaults import SmbdSettings
from millrace.serve.share import smb
from millrace.serve.share.model import Share, SmbAccess
from millrace.storage.record.settings_record import recorded
from millrace.system import mounts, net, paths, sysfs
from millrace.system.command import command
from millrace.system.errors import Failed
from millrace.system.files import write_text
from millrace.system.run import Runner, last_words, must
from millrace.system.wait import wait_until
from millrace_client.this_client import parse_mountstats

LOOPBACK = "127.0.0.1"
RDMA_PORT = 20049
SMB_PORT = 44500
MOUNT_SECONDS = "120"
READY_SECONDS = 120.0
PAUSE = 0.2
# Attributes are asked for each time: metadata is measured at the server and not in the memory of the client.
COMMON = "nosuid,nodev,noexec,actimeo=0"
# soft: a server that is stopped meanwhile ends the run instead of hanging it
NFS = f"vers=4.2,soft,timeo=600,retrans=3,{COMMON}"
TCP = f"{NFS},proto=tcp"
USUAL = f"{TCP},{MountConnections(8).options}"
RDMA = f"{NFS},proto=rdma,port={RDMA_PORT}"
SHARE = "millrace-bench"


@contextmanager
def nfs_tcp(path: Path, where: Path, run: Runner) -> Iterator[Path]:
    """Mount the directory over NFS and TCP. Failed: it cannot be exported or mounted."""
    with exported(path, LOOPBACK, run), _nfs(f"{LOOPBACK}:{path}", USUAL, where, run):
        yield where


@contextmanager
def nfs_tcp_over(wanted: MountConnections, path: Path, where: Path, run: Runner) -> Iterator[Path]:
    """Mount the directory as `nfs_tcp`, over so many connections. Failed: as `nfs_tcp`, or there are not as many."""
    options = over(wanted)
    with exported(path, LOOPBACK, run), _nfs(f"{LOOPBACK}:{path}", options, where, run), ExitStack() as stack:
        for number in range(2, wanted.addresses + 1):
            # The client finds that it is the same server, and adds the connection to the first mount.
            source = f"127.0.0.{number}:{path}"
            stack.enter_context(_mounted("nfs4", source, options, where.with_name(f"{where.name}.{number}"), run))
        _, transports = parse_mountstats(sysfs.text(paths.ROOT / "proc/self/mountstats") or "", str(where))
        if len(transports) != wanted.all:
            raise Failed(
                f"the client has {len(transports)} connections instead of {wanted.all}: "
                "it has another mount of this server"
            )
        yield where


def over(wanted: MountConnections) -> str:
    """Return the mount options of NFS over TCP with so many connections."""
    return f"{TCP},{wanted.options}"


@contextmanager
def nfs_local(path: Path, where: Path, run: Runner) -> Iterator[Path]:
    """Mount the directory as `nfs_tcp`, with data that goes around nfsd. Failed: as `nfs_tcp`, or it does not."""
    with exported(path, LOOPBACK, run), _nfs(f"{LOOPBACK}:{path}", USUAL, where, run, local=True):
        localio.verify()
        yield where


@contextmanager
def nfs_rdma(path: Path, where: Path, run: Runner) -> Iterator[Path]:
    """Mount the directory over NFS and RDMA, through the first RDMA device that has an IPv4 address.

    Failed: there is no such device, or the directory cannot be exported or mounted.
    """
    address = rdma_address()
    with exported(path, address, run), _nfs(f"{address}:{path}", RDMA, where, run):
        yield where


@contextmanager
def smb_tcp(path: Path, where: Path, run: Runner, wanted: SmbdSettings | None = None) -> Iterator[Path]:
    """Mount the directory over SMB from a separate smbd with settings of its own, else with those in force.

    Failed: smbd does not start, or the mount fails.
    """
    state = paths.run_dir() / "bench/smb"
    who = pwd.getpwnam(USER)
    with _smbd(path, state, wanted or _in_force(), run) as credentials:
        options = f"vers=3.1.1,credentials={credentials},port={SMB_PORT},uid={who.pw_uid},gid={who.pw_gid},{COMMON}"
        with _mounted("cifs", f"//{LOOPBACK}/{SHARE}", options, where, run):
            yield where


PROTOCOLS: Mapping[str, Callable[[Path, Path, Runner], AbstractContextManager[Path]]] = {
    "nfs-tcp": nfs_tcp,
    "nfs-rdma": nfs_rdma,
    "nfs-local": nfs_local,
    "smb": smb_tcp,
    **{target: partial(nfs_tcp_over, wanted) for target, wanted in connections.TARGETS.items()},
}


def rdma_address() -> str:
    """Return an IPv4 address of an RDMA device. Failed: none has one."""
    for port in net.serving():
        for address in port.addresses if port.rdma else []:
            if address.version == 4:
                return str(address.ip)
    raise Failed("no RDMA device has an IPv4 address, so NFS over RDMA cannot be measured: `ip addr`, `rdma link`")


@contextmanager
def _nfs(source: str, options: str, where: Path, run: Runner, local: bool = False) -> Iterator[None]:
    """Mount over NFS, with LOCALIO or through nfsd. Failed: as `_mounted`, or another mount has the session."""
    _refuse_shared_session()
    if localio.needs_client():
        # the kernel loads it for a mount
        with _mounted("nfs4", source, options, where, run):
            pass
    with localio.switched(local), _mounted("nfs4", source, options, where, run):
        yield


def _refuse_shared_session() -> None:
    """The kernel's client has one session for each server, whatever the address: it would come from that of another."""
    for mount in mounts.table():
        options = dict(word.partition("=")[::2] for word in mount.options)
        if mount.kind == "nfs4" and options.get("addr") and options.get("addr") == options.get("clientaddr"):
            raise Failed(
                f"this server has mounted {mount.source} from itself, and what is measured would use that session: "
                f"{command('umount', mount.point)}"
            )


@contextmanager
def _mounted(kind: str, source: str, options: str, where: Path, run: Runner) -> Iterator[None]:
    where.mkdir(parents=True, exist_ok=True)
    result = run(["timeout", MOUNT_SECONDS, "mount", "-t", kind, "-o", options, source, str(where)])
    if result.status != 0:
        # mount.cifs ends with where to read on
        words = next((line for line in result.err.splitlines() if "error" in line), last_words(result))
        raise Failed(f"{source} does not mount from this server: {words}")
    try:
        yield
    finally:
        if run(["timeout", MOUNT_SECONDS, "umount", str(where)]).status != 0:
            run(["umount", "--force", "--lazy", str(where)])


@contextmanager
def _smbd(path: Path, state: Path, wanted: SmbdSettings, run: Runner) -> Iterator[Path]:
    """An smbd on the loopback; the path of the credentials of its only account."""
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    configuration, credentials = state / "smb.conf", state / "credentials"
    write_text(configuration, smbd_configuration(path, state, wanted))
    password = secrets.token_urlsafe(32)
    for name in DIRECTORIES:
        (state / name.replace(" ", "-")).mkdir(mode=0o700, exist_ok=True)
    write_text(credentials, f"username={USER}\npassword={password}\n", mode=0o600)
    must(run, ["smbpasswd", "-c", str(configuration), "-s", "-a", USER], f"{password}\n{password}\n")
    argv = ["smbd", "--foreground", "--no-process-group", f"--configfile={configuration}", f"--port={SMB_PORT}"]
    with ExitStack() as stack:
        log = stack.enter_context((state / "smbd.log").open("ab"))
        # a session of its own: when smbd ends, it ends its process group
        smbd = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        stack.callback(_end, smbd)
        _answers(smbd)
        yield credentials


DIRECTORIES = ("lock directory", "state directory", "cache directory", "pid directory", "private dir", "ncalrpc dir")


def smbd_configuration(path: Path, state: Path, wanted: SmbdSettings) -> str:
    """Return the server's configuration with `wanted` and one share of fast profile.

    Everything that smbd writes is in `state`.
    """
    share = Share(
        name=SHARE,
        path=str(path),
        type="training",
        comment="",
        project=0,
        size=None,
        soft_size=None,
        nfs=False,
        networks=[],
        exports=[],
        privileged_ports=True,
        fsid=uuid5(NAMESPACE_URL, str(path)),
        smb=SmbAccess(users=[USER], groups=[], networks=[], encryption="offered", time_machine=False, io_uring=True),
        homes={},
        obstacle=None,
    )
    own = {name: str(state / name.replace(" ", "-")) for name in DIRECTORIES}
    # last, so that it counts: no domain of the owner
    own |= {"server role": "standalone server", "passdb backend": f"tdbsam:{state / 'passdb.tdb'}"}
    own |= {"log file": str(state / "log.smbd")}
    lines = "".join(f"{name} = {value}\n" for name, value in own.items())
    return f"{smb.configuration([share], [], smbd=wanted)}\n[global]\n{lines}"


def _in_force() -> SmbdSettings:
    found = recorded()
    return found.settings.smbd if found else SmbdSettings()


def _answers(smbd: subprocess.Popen[bytes]) -> None:
    def ended() -> bool:
        return smbd.poll() is not None

    wait_until(lambda: ended() or _listens(), bool, [PAUSE] * round(READY_SECONDS / PAUSE))
    if ended() or not _listens():
        raise Failed("the SMB server of the benchmark does not start: journalctl -u millrace-bench")


def _listens() -> bool:
    try:
        socket.create_connection((LOOPBACK, SMB_PORT), 1).close()
    except OSError:
        return False
    return True


def _end(smbd: subprocess.Popen[bytes]) -> None:
    smbd.terminate()
    try:
        smbd.wait(10)
    except subprocess.TimeoutExpired:
        smbd.kill()
        smbd.wait()
