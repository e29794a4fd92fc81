# SPDX-License-Identifier: Apache-2.0
"""The SMB server of a setup, in a control group of its own, and a client on the same machine."""

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from host.perf.guest.job import JOB, SMB_CONF, SMB_SHARE
from host.perf.guest.nfsd import CLIENT, MNT
from host.perf.guest.shell import run, write

CONFIGURATION = Path("/etc/samba/smb.conf")
DIRECTORIES = ("/var/lib/samba/private", "/var/cache/samba", "/run/samba", "/var/log/samba")
GROUP = Path("/sys/fs/cgroup/smbd")
USER, PASSWORD = "root", "perf"
START_SECONDS = 30
# fs/smb/client/cifs_debug.c of kernel 7.2. A session that is encrypted is not signed besides.
DEBUG = Path("/proc/fs/cifs/DebugData")
SHOWN = {"seal": "encrypted", "sign": "signed"}


@contextmanager
def server(encrypt: str) -> Iterator[None]:
    """Serve the pool; `encrypt` is `server smb encrypt` of smb.conf(5). RuntimeError: smbd refuses."""
    for directory in DIRECTORIES:
        Path(directory).mkdir(parents=True, exist_ok=True)
    CONFIGURATION.parent.mkdir(exist_ok=True)
    shutil.copy(Path(JOB).with_name(SMB_CONF), CONFIGURATION)
    password = f"{PASSWORD}\n{PASSWORD}\n"
    subprocess.run(["smbpasswd", "-s", "-a", USER], input=password, text=True, check=True, capture_output=True)
    if not (GROUP.parent / "cgroup.procs").exists():
        run("mount", "-t", "cgroup2", "cgroup2", str(GROUP.parent))
    GROUP.mkdir(exist_ok=True)
    run("sh", "-c", f"echo $$ > {GROUP}/cgroup.procs; exec smbd --daemon --option='server smb encrypt={encrypt}'")
    time.sleep(START_SECONDS)
    try:
        yield
    finally:
        write(GROUP / "cgroup.kill", 1)


@contextmanager
def client(security: str) -> Iterator[None]:
    """Mount the share, with a way to protect what is sent: `sign` or `seal`. RuntimeError: it does not mount so."""
    run("modprobe", "cifs")
    options = f"vers=3.1.1,username={USER},password={PASSWORD},{security},cache=none"
    run("mount", "-t", "cifs", "-o", options, f"//{CLIENT}/{SMB_SHARE}", MNT)
    try:
        verify(security)
        yield
    finally:
        run("umount", MNT)


def verify(security: str) -> None:
    """Verify what protects the session. RuntimeError: what would be measured is something else."""
    said = DEBUG.read_text()
    if not re.search(rf"SessionId: \S+ {SHOWN[security]}", said):
        raise RuntimeError(f"the session is not {SHOWN[security]}: {said[-500:]}")


def clock() -> int:
    """A clock in ns: how long the processes of smbd ran, those that ended, too (cpu.stat, cgroup-v2.rst).

    RuntimeError: the kernel does not count it.
    """
    for line in (GROUP / "cpu.stat").read_text().splitlines():
        name, _, value = line.partition(" ")
        if name == "usage_usec":
            return int(value) * 1000
    raise RuntimeError(f"{GROUP} counts no time")
