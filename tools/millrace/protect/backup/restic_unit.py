# SPDX-License-Identifier: Apache-2.0
"""How restic runs: in a unit of its own, which faces the network and has next to no rights.

It sees one snapshot, read-only, and a directory for its cache. /etc, /var, /run, /home and the pool are hidden from it
except for what name resolution and TLS need. It is started with systemd-run because the snapshot and the secrets are
others each time: a unit file could not name them. systemd adds the drop-ins of `millrace-.service` to it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from millrace.protect.backup import backup_store
from millrace.protect.backup.backup_model import Backup
from millrace.system import paths
from millrace.system.run import Result

USER = "millrace-backup"
SNAPSHOT, CACHE, WORK = "/srv/backup", "/srv/cache", "/srv/work"
"""Where restic finds the snapshot, its cache and a private directory. The first one is the path in the repository: it
is the same for each snapshot, so that restic finds what it knows."""
JOB, ASK = "millrace-restic-job", "millrace-restic-ask"
"""The unit of a job, and that of a verb that waits for an answer."""
RESTIC = "/usr/bin/restic"

Follow = Callable[[Sequence[str], Callable[[str], None]], Result]

_SANDBOX = (
    "Nice=10",
    "IOSchedulingClass=best-effort",
    "IOSchedulingPriority=7",
    "IOWeight=20",
    "CPUWeight=20",
    "MemoryHigh=20%",
    "MemoryMax=25%",
    "OOMScoreAdjust=900",
    "TasksMax=256",
    "UMask=0077",
    "ProtectSystem=strict",
    "TemporaryFileSystem=/etc:ro",
    "TemporaryFileSystem=/var:ro",
    "TemporaryFileSystem=/srv:ro",
    "TemporaryFileSystem=/home:ro",
    "TemporaryFileSystem=/root:ro",
    "TemporaryFileSystem=/mnt:ro",
    # names of hosts and users, the authorities of TLS, and the shared libraries
    *(
        f"BindReadOnlyPaths=-/etc/{name}"
        for name in (
            *("resolv.conf", "hosts", "host.conf", "gai.conf", "nsswitch.conf", "services", "passwd", "group"),
            *("ssl", "ca-certificates", "ld.so.cache", "localtime", "hostname"),
        )
    ),
    "InaccessiblePaths=-/run/millrace -/run/dbus -/run/samba -/run/systemd/private -/boot -/efi",
    "PrivateDevices=yes",
    "PrivateIPC=yes",
    "ProtectKernelModules=yes",
    "ProtectKernelTunables=yes",
    "ProtectProc=invisible",
    "ProcSubset=pid",
    "RestrictNamespaces=yes",
    "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
    "MemoryDenyWriteExecute=yes",
    "SystemCallFilter=@system-service",
)
_READS = (
    f"User={USER}",
    "AmbientCapabilities=CAP_DAC_READ_SEARCH",
    "CapabilityBoundingSet=CAP_DAC_READ_SEARCH",
    "SystemCallFilter=~@privileged @resources",
    "RestrictSUIDSGID=yes",
)
_OWNS = ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_FOWNER", "CAP_FSETID", "CAP_SETFCAP")
# CAP_SYS_ADMIN: NT access lists are attributes of root. A restore gives files their owners and modes in an empty
# directory that no client reaches.
_RESTORES = (f"CapabilityBoundingSet={' '.join(_OWNS)} CAP_SYS_ADMIN", "RestrictSUIDSGID=no")


@dataclass(frozen=True)
class ResticAccess:
    """What restic sees of this server: directories by the path that it has for them.

    `owns`: it sets owners and modes, as a restore does.
    """

    reads: Mapping[str, Path] = field(default_factory=dict)
    writes: Mapping[str, Path] = field(default_factory=dict)
    owns: bool = False


NOTHING = ResticAccess()


@dataclass(frozen=True)
class ResticRun:
    """A run of restic: its arguments, what it sees, and the unit that ends it when it ends."""

    arguments: Sequence[str]
    access: ResticAccess = NOTHING
    unit: str = ASK
    bound_to: str | None = None


def argv(backup: Backup, wanted: ResticRun) -> list[str]:
    """Return how restic is started. Nothing in it is secret: all users see the arguments of processes and units."""
    secrets = backup_store.secrets_directory(backup.name)
    credentials = f"/run/credentials/{wanted.unit}.service"
    given = [each for each in _FILES if (secrets / each).exists()]
    properties = [
        *_SANDBOX,
        *(_RESTORES if wanted.access.owns else _READS),
        *(f"LoadCredential={each}:{secrets / each}" for each in given),
        *(f"BindReadOnlyPaths={source}:{place}" for place, source in wanted.access.reads.items()),
        *(f"BindPaths={source}:{place}" for place, source in wanted.access.writes.items()),
        *([f"BindsTo={wanted.bound_to}"] if wanted.bound_to is not None else []),
        f"Environment=HOME={CACHE} TMPDIR={CACHE} RESTIC_PROGRESS_FPS=1 LC_ALL=C.UTF-8",
        f"Environment=AWS_SHARED_CREDENTIALS_FILE={credentials}/{backup_store.S3}",
    ]
    options = [
        *("--json", "--repository-file", f"{credentials}/{backup_store.REPOSITORY}"),
        *("--password-file", f"{credentials}/{backup_store.PASSWORD}", "--cache-dir", CACHE),
    ]
    if backup_store.AUTHORITY in given:
        options += ["--cacert", f"{credentials}/{backup_store.AUTHORITY}"]
    if backup.limit is not None:
        # KiB a second
        options += ["--limit-upload", str(max(backup.limit // 1024, 1))]
    if backup.target.protocol == "sftp":
        options += ["-o", f"sftp.command={_ssh(backup, credentials)}"]
    return [
        *("systemd-run", "--quiet", "--collect", "--wait", "--pipe", "--service-type=exec", "--expand-environment=no"),
        f"--unit={wanted.unit}",
        "--description=Millrace Backup: restic",
        *(f"--property={each}" for each in properties),
        *(RESTIC, *options, *wanted.arguments),
    ]


def work(backup: Backup, mountpoint: str) -> Path:
    """Return the directory of a backup on the pool, below the one of root alone: in no share, and in no quota."""
    return paths.ROOT / mountpoint.lstrip("/") / paths.POOL_OWN / "backup" / backup.id


_FILES = (
    backup_store.PASSWORD,
    backup_store.REPOSITORY,
    backup_store.S3,
    backup_store.SSH_KEY,
    backup_store.KNOWN_HOSTS,
    backup_store.AUTHORITY,
)


def _ssh(backup: Backup, credentials: str) -> str:
    target = backup.target
    options = (
        "BatchMode=yes",
        "IdentitiesOnly=yes",
        "StrictHostKeyChecking=yes",
        f"UserKnownHostsFile={credentials}/{backup_store.KNOWN_HOSTS}",
        "GlobalKnownHostsFile=none",
        "UpdateHostKeys=no",
        "ConnectTimeout=20",
        "ServerAliveInterval=60",
        f"Port={target.port}",
    )
    said = " ".join(f"-o {each}" for each in options)
    key = f"{credentials}/{backup_store.SSH_KEY}"
    # the far side is a name or an address: it begins with no dash
    return f"ssh -F none -i {key} {said} -l {target.user} -s {target.host} sftp"
