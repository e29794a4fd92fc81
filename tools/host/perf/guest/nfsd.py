# SPDX-License-Identifier: Apache-2.0
"""The NFS server of a setup and a client on the same machine."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from host.perf.guest.job import Setup
from host.perf.guest.pool import MOUNTPOINT
from host.perf.guest.shell import run, write

KERNEL = Path("/proc/fs/nfsd")
MNT = "/mnt"
CLIENT = "127.0.0.1"
# Waiting is free; nfsd opens no file for a client before the grace time is over.
GRACE = 10
START_SECONDS = 3 * GRACE
LOCALIO = Path("/sys/module/nfs/parameters/localio_enabled")
SETTLE_SECONDS = 2


@contextmanager
def server(setup: Setup, export: str | None = None) -> Iterator[None]:
    """Serve the pool as the setup does, or with other export options."""
    start(setup, export or setup.export)
    try:
        yield
    finally:
        stop()


def start(setup: Setup, export: str) -> None:
    """Start mountd and nfsd."""
    if not (KERNEL / "threads").exists():
        run("modprobe", "nfsd")
        run("mount", "-t", "nfsd", "nfsd", str(KERNEL), check=False)
    for name in ("etab", "rmtab"):
        Path("/var/lib/nfs", name).touch()
    run("rpcbind", "-w", check=False)
    run("exportfs", "-i", "-o", export, f"{CLIENT}:{MOUNTPOINT}")
    # The shortest that the kernel accepts: no client holds state from before a start.
    write(KERNEL / "nfsv4leasetime", GRACE)
    write(KERNEL / "nfsv4gracetime", GRACE)
    # By default it follows memory, of which this machine has less than any server.
    write(KERNEL / "max_block_size", (setup.nfsd or {"max_block_size": 1 << 20})["max_block_size"])
    run("rpc.mountd", "--port", "20048")
    run("rpc.nfsd", "-V", "3", *([str(setup.nfsd["threads_max"])] if setup.nfsd else []))
    if setup.nfsd:
        run("nfsdctl", "threads", "-m", str(setup.nfsd["threads_min"]), str(setup.nfsd["threads_max"]))
    time.sleep(START_SECONDS)


def stop() -> None:
    """Stop both and forget the exports."""
    run("rpc.nfsd", "0")
    run("pkill", "rpc.mountd", check=False)
    run("exportfs", "-ua")
    run("exportfs", "-f")


@contextmanager
def client(
    version: str, local: bool = False, address: str = CLIENT, transport: str = "proto=tcp", **more: int
) -> Iterator[None]:
    """Mount the export: version 3 or 4.2; `more` are options with a number (rsize, wsize).

    `local`: go around nfsd, where the kernel can (LOCALIO).
    """
    run("modprobe", "nfs")
    if local or LOCALIO.exists():
        write(LOCALIO, "Y" if local else "N")
    options = [f"vers={version}", transport, "nosharecache", "hard"]
    if version == "3":
        options += ["nolock", "mountproto=tcp", "port=2049", "mountport=20048"]
    options += [f"{name}={value}" for name, value in more.items()]
    run("mount", "-t", "nfs", "-o", ",".join(options), f"{address}:{MOUNTPOINT}", MNT)
    # the client asks for it in the background
    time.sleep(SETTLE_SECONDS)
    try:
        yield
    finally:
        run("umount", MNT)
