# SPDX-License-Identifier: Apache-2.0
"""What the NFS server of the kernel shows of itself in /proc/fs/nfsd, and of clients on the server itself."""

from millrace.system import paths, sysfs


def lines(name: str) -> list[str]:
    """Return the lines of a file of nfsd with single blanks; none where nfsd is not loaded or the file is empty."""
    text = sysfs.text(paths.ROOT / "proc/fs/nfsd" / name) or ""
    return [" ".join(line.split()) for line in text.splitlines()]


def is_serving() -> bool:
    """Whether nfsd has threads."""
    return lines("threads") not in ([], ["0"])


def listens_on_rdma() -> bool:
    """Whether nfsd has a listener for RDMA."""
    return any("rdma" in line for line in lines("portlist"))


def gone_around() -> int | None:
    """Return how many NFS mounts of this machine go around nfsd (LOCALIO); None without mounts, or where none can.

    Only nfsd of the same machine can be gone around. The kernel shows it of each mount, by the number of its device
    (kernel 7.2, fs/nfs/sysfs.c nfs_sysfs_move_server_to_sb).
    """
    shown = [sysfs.text(path) for path in (paths.ROOT / "sys/fs/nfs").glob("*/localio")]
    return shown.count("1") if shown else None
