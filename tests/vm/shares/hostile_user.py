# SPDX-License-Identifier: Apache-2.0
"""Runs on the server as a console user: a process of the server that tries what such a user must not.

    python3 hostile_user.py ADDRESS…

Prints as JSON how many attempts there were, and those that were not refused. ADDRESS are those of the server.
"""

import glob
import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial

# Patterns: what is secret, and devices that are the pool or the kernel's memory.
SECRET = (
    "/etc/shadow*",
    "/etc/gshadow*",
    "/etc/ssh/ssh_host_*_key",
    "/etc/krb5.keytab",
    "/etc/millrace/*.key",
    "/etc/cockpit/ws-certs.d/*.key",
    "/var/lib/samba/private/*",
    "/var/lib/millrace/*.key",
    "/var/lib/millrace/certificate/*.key",
    "/var/lib/millrace/access/log/*",
    "/var/lib/millrace/access/second-factor/*",
    "/run/millrace/volumes.json",
    "/run/millrace/millrace-smb-direct.users",
    "/sys/kernel/config/nvmet/hosts/*/dhchap_key",
    "/sys/class/nvme/*/dhchap_secret",
    "/srv/pool",
    "/srv/pool/.millrace",
    "/dev/nvme*",
    "/dev/md[0-9]*",
    "/dev/mem",
    "/dev/kmsg",
    "/dev/fuse",
    "/dev/loop-control",
    "/dev/mapper/control",
    "/proc/1/environ",
    "/proc/kcore",
)
# NFS over TCP and RDMA, and volumes: loopback is no way around the networks of clients.
PORTS = (2049, 20049, 4420, 4421, 8009)
# Harmless where they are not refused.
COMMANDS = (
    "sudo -n /usr/bin/id",
    "sudo -n /usr/bin/millrace keep now",
    "systemctl --no-ask-password start millrace-health.service",
    "systemctl --no-ask-password set-property --runtime smbd.service CPUWeight=100",
    "systemd-run --no-ask-password --wait /usr/bin/true",
    "timedatectl --no-ask-password set-ntp true",
    "mount -t tmpfs none /mnt",
    "dmesg --clear",
)


def main() -> None:
    attempts = [*files(), *writable(), *ports(sys.argv[1:]), *namespaces(), *commands(), *signals()]
    print(json.dumps({"attempts": len(attempts), "not refused": [name for name, refused in attempts if not refused]}))


def refused(action: Callable[[], object]) -> bool:
    """Whether the system refuses an action."""
    try:
        action()
    except OSError:
        return True
    return False


def files() -> Iterator[tuple[str, bool]]:
    """Read what is secret; a directory is listed."""
    for pattern in SECRET:
        # one that cannot be listed has no names here, and is asked for by its own
        for path in glob.glob(pattern) or [pattern]:
            yield f"read {path}", refused(partial(read, path))


def read(path: str) -> None:
    if os.path.isdir(path):
        os.listdir(path)
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        os.read(descriptor, 1)
    finally:
        os.close(descriptor)


def writable() -> Iterator[tuple[str, bool]]:
    """Find directories on /run, and pipes there, that this user may write to: what is full there stops services."""
    own = f"/run/user/{os.getuid()}"
    for directory, directories, names in os.walk("/run"):
        directories[:] = [name for name in directories if os.path.join(directory, name) != own]
        yield f"write in {directory}", not os.access(directory, os.W_OK)
        for name in names:
            path = os.path.join(directory, name)
            if not os.path.islink(path) and stat.S_ISFIFO(os.lstat(path).st_mode):
                yield f"write to {path}", not os.access(path, os.W_OK)
    for directory in ("/", "/etc", "/var/lib", "/var/log", "/srv", "/home", "/dev", "/sys/fs/cgroup"):
        yield f"write in {directory}", not os.access(directory, os.W_OK)


def ports(addresses: list[str]) -> Iterator[tuple[str, bool]]:
    """Connect to what serves clients, by loopback and by the server's own addresses."""
    for address in ("127.0.0.1", "::1", *addresses):
        for port in PORTS:
            yield f"connect to {address} port {port}", refused(partial(connect, (address, port)))


def connect(where: tuple[str, int]) -> None:
    socket.create_connection(where, 5).close()


def namespaces() -> Iterator[tuple[str, bool]]:
    """Make a user namespace, in which a user has all capabilities."""
    yield "unshare a user namespace", refused(partial(os.unshare, os.CLONE_NEWUSER))


def commands() -> Iterator[tuple[str, bool]]:
    """Run what only others may."""
    for command in COMMANDS:
        yield command, refused(partial(run, command))


def run(command: str) -> None:
    done = subprocess.run(command.split(), stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    if done.returncode != 0:
        raise PermissionError(command)


def signals() -> Iterator[tuple[str, bool]]:
    """Signal processes of others."""
    yield "signal process 1", refused(partial(os.kill, 1, signal.SIGCONT))


if __name__ == "__main__":
    main()
