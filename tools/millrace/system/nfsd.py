# SPDX-License-Identifier: Apache-2.0
"""What the NFS server of the kernel shows in /proc: itself, the groups of users, clients on the server itself."""

from millrace.system import paths, sysfs

GROUPS = "proc/net/rpc/auth.unix.gid"


# Where exportfs has its table, see nfs.conf.d/millrace.conf; the second where that file was edited by hand.
_TABLES = ("run/millrace/nfs/etab", "var/lib/nfs/etab")


def exported() -> dict[str, list[str]] | None:
    """Return the clients of each directory in the table of exports; None without a table. OSError: unreadable."""
    tables = [table for name in _TABLES if (table := paths.ROOT / name).exists()]
    if not tables:
        return None
    # exportfs writes one of them whenever it is called
    text = max(tables, key=lambda table: table.stat().st_mtime_ns).read_text()
    clients: dict[str, list[str]] = {}
    for line in text.splitlines():
        directory, _, entry = line.strip().partition("\t")
        if directory:
            clients.setdefault(directory, []).append(entry.strip().partition("(")[0])
    return clients


def lines(name: str) -> list[str]:
    """Return the lines of a file of nfsd with single blanks; none where nfsd is not loaded or the file is empty."""
    text = sysfs.text(paths.ROOT / "proc/fs/nfsd" / name) or ""
    return [" ".join(line.split()) for line in text.splitlines()]


def is_serving() -> bool:
    """Whether nfsd has threads."""
    return lines("threads") not in ([], ["0"])


def has_clients() -> bool:
    """Whether a client is known: it may hold locks and open files."""
    return any((paths.ROOT / "proc/fs/nfsd/clients").glob("*"))


def listens_on_rdma() -> bool:
    """Whether nfsd has a listener for RDMA."""
    return any("rdma" in line for line in lines("portlist"))


def users_without_groups() -> set[int]:
    """Return the users who are in no group, as the kernel knows it: with them it takes the groups that a client names.

    That is right for users whom this server does not know. Of others nobody gave it an answer. A negative entry begins
    with "# ", then the number of the user and that of the groups, which is 0; one that has expired begins so as well,
    with all groups, for half a minute (net/sunrpc/svcauth_unix.c, unix_gid_show; cache.c, c_show).
    """
    known = sysfs.text(paths.ROOT / GROUPS / "content") or ""
    entries = (line.split() for line in known.splitlines() if line.startswith("# "))
    return {int(words[1]) for words in entries if words[2:] == ["0:"] and words[1].isdigit()}


def forget_groups() -> None:
    """Let the kernel ask again who is in which group; else a change counts when its answers are old (`ttl` of mountd).

    OSError: it refuses.
    """
    flush = paths.ROOT / GROUPS / "flush"
    # without NFS it knows none
    if flush.exists():
        # cache_write_flush() forgets all entries, whatever the number
        sysfs.write(flush, "1\n")


def gone_around() -> int | None:
    """Return how many NFS mounts of this machine go around nfsd (LOCALIO); None without mounts, or where none can.

    Only nfsd of the same machine can be gone around. The kernel shows it of each mount, by the number of its device
    (kernel 7.2, fs/nfs/sysfs.c nfs_sysfs_move_server_to_sb).
    """
    shown = [sysfs.text(path) for path in (paths.ROOT / "sys/fs/nfs").glob("*/localio")]
    return shown.count("1") if shown else None
