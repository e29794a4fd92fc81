# SPDX-License-Identifier: Apache-2.0
"""Is a share really served over NFS: it stands in the table, and it mounts."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millrace import paths
from millrace.errors import Failed
from millrace.share import exports
from millrace.share.model import Share
from millrace.share.tools import Runner, is_active, last_words, must

# For the seconds of a look only, and to nobody but root of this server (secure: a port below 1024): read-only, and
# whoever comes is nobody. A lasting entry for the loopback would let any local program with such a port read.
LOOPBACK = "127.0.0.1"
SECONDS = "60"


def verify(share: Share, run: Runner) -> list[str]:
    """What was seen, in words; Failed says what is not as it should be."""
    if not share.exports:
        return [] if share.path not in exports.table(run) else _still_there(share)
    if not is_active("nfs-server.service", run):
        raise Failed("the NFS server is not running: systemctl status nfs-server.service")
    lost = exports.missing(share, exports.table(run))
    if lost:
        raise Failed(f"the export of {share.name} to {', '.join(lost)} is not in the table: does the name resolve?")
    with _exported_to_us(share, run), _mounted(share, run) as where:
        if os.stat(where).st_ino != os.stat(paths.ROOT / share.path.lstrip("/")).st_ino:
            raise Failed(f"what NFS serves as {share.path} is another directory")
        if not _in_kernel(share):
            raise Failed(f"the kernel's table of exports does not have {share.path}")
    return [f"NFS: exported to {', '.join(share.networks)}; mounted from here and is the right directory"]


def verify_gone(path: str, run: Runner) -> list[str]:
    """Failed if a directory is still exported."""
    if is_active("nfs-server.service", run) and path in exports.table(run):
        raise Failed(f"{path} is still exported; another file exports it: exportfs -s")
    return [f"NFS: {path} is not exported"]


def _still_there(share: Share) -> list[str]:
    return [f"NFS: {share.path} is exported by a file that is not of Millrace"]


@contextmanager
def _exported_to_us(share: Share, run: Runner) -> Iterator[None]:
    target = f"{LOOPBACK}:{share.path}"
    options = f"ro,sync,no_subtree_check,all_squash,secure,fsid={share.fsid}"
    must(run, ["exportfs", "-o", options, target])
    try:
        yield
    finally:
        run(["exportfs", "-u", target])


@contextmanager
def _mounted(share: Share, run: Runner) -> Iterator[str]:
    paths.run_dir().mkdir(parents=True, exist_ok=True)
    where = tempfile.mkdtemp(prefix="look-", dir=paths.run_dir())
    options = "ro,vers=4.2,proto=tcp,soft,timeo=100,retrans=2,retry=0,nosuid,nodev,noexec"
    mount = ["timeout", SECONDS, "mount", "-t", "nfs4", "-o", options, f"{LOOPBACK}:{share.path}", where]
    try:
        result = run(mount)
        if result.status != 0:
            raise Failed(f"{share.path} does not mount over NFS from this server: {last_words(result)}")
        try:
            yield where
        finally:
            run(["umount", "--force", "--lazy", where])
    finally:
        # Still busy would mean that the unmount failed: an empty directory less is not worth an error.
        if not os.path.ismount(where):
            os.rmdir(where)


def _in_kernel(share: Share) -> bool:
    path: Path = paths.ROOT / "proc/fs/nfsd/exports"
    lines = path.read_text().splitlines() if path.exists() else []
    # One line an entry: directory, blanks, clients.
    return any(line.split()[0] == share.path for line in lines if line.strip())
