# SPDX-License-Identifier: Apache-2.0
"""Whether shares are really served over NFS: they are in the table, and below the root that NFSv4 shows."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from millrace.serve.config.model import Domain
from millrace.serve.domain import keys
from millrace.serve.share import exports, nfs, permissions, tls
from millrace.serve.share.model import Share
from millrace.system import nfsd, paths
from millrace.system.errors import Failed
from millrace.system.files import write_text
from millrace.system.names import several
from millrace.system.paths import VERIFY_PREFIX
from millrace.system.run import Result, Runner, last_words
from millrace.system.units import is_active
from millrace.system.wait import wait_until

# During a verification only, and to root of this server only (secure: a port below 1024): read-only, and
# all users are squashed to nobody. A lasting entry for the loopback would let any local program with such a port read.
LOOPBACK = "127.0.0.1"
SECONDS = "60"
# A server with other work, such as a rebuild, may need as long for a tlshd that was just started.
PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0)


def verify(shares: Sequence[Share], gone: Sequence[str], domain: Domain | None, run: Runner) -> list[str]:
    """Return what was verified, in words. Failed: a share is not served. `gone` are paths that no client may mount.

    The mount from this server is without Kerberos: it shows the directory. The keys are verified apart.
    """
    exported = [share for share in shares if share.exports]
    if not is_active("nfs-server.service", run):
        if exported:
            raise Failed("the NFS server is not running: systemctl status nfs-server.service")
        return []
    table = exports.table(run)
    for share in exported:
        lost = exports.missing(share, table)
        if lost:
            raise Failed(f"the export of {share.name} to {', '.join(lost)} is not in the table: does the name resolve?")
    still = [path for path in gone if path in table]
    if still:
        raise Failed(f"{several(still)} is still exported; another file exports it: exportfs -s")
    for demand in tls.MODES:
        those = [share for share in exported if demand in tls.required_modes(share)]
        if those:
            _mount_and_compare(those, demand, run)
    foreign = [share.path for share in shares if not share.exports and share.path in table]
    return [
        *_sentences(exported),
        *([keys.verify(domain, run)] if any(share.kerberos for share in exported) else []),
        *(f"NFS: {path} is exported by a file that Millrace does not manage" for path in foreign),
        *(f"NFS: {path} is not exported" for path in gone),
    ]


def _sentences(exported: Sequence[Share]) -> list[str]:
    """One sentence for all shares that the same clients may mount in the same way."""
    together: dict[tuple[str, str], list[str]] = {}
    for share in exported:
        together.setdefault((", ".join(share.networks), _security(share)), []).append(share.name)
    return [
        f"NFS: {several(names)}: exported to {clients}; test mount from this server{way} succeeded"
        for (clients, way), names in together.items()
    ]


def _security(share: Share) -> str:
    named = [f"xprtsec={one}" for one in tls.required_modes(share) if one]
    return f" over TLS ({' and '.join(named)})" if named else ""


def _mount_and_compare(exported: Sequence[Share], demand: tls.TlsMode | None, run: Runner) -> None:
    """One mount for all: the client enters each share from the root, as it does for any NFSv4 path."""
    with _loopback_export(exported, demand, run), _mounted(demand, run) as root:
        for share in exported:
            try:
                # With the dot: the last component of a path alone does not make the client enter.
                inode = os.stat(f"{root}{share.path}/.").st_ino
            except OSError as error:
                raise Failed(f"{share.path} does not mount over NFS from this server: {error.strerror}") from error
            if inode != os.stat(paths.ROOT / share.path.lstrip("/")).st_ino:
                raise Failed(f"NFS serves another directory as {share.path}")
        known = _kernel_table()
        unknown = [share.path for share in exported if share.path not in known]
        if unknown:
            raise Failed(f"the kernel's table of exports does not have {several(unknown)}")


@contextmanager
def _loopback_export(exported: Sequence[Share], demand: tls.TlsMode | None, run: Runner) -> Iterator[None]:
    """Through a file and not `exportfs -o`: that takes one fsid a call."""
    options = f"ro,sync,no_subtree_check,{nfs.SIGNED},all_squash,secure"
    # as a member of the group, where nobody else may enter
    groups = {share.name: f",anongid={permissions.number(share)}" for share in exported if share.group is not None}
    last = f",xprtsec={demand}" if demand else ""
    lines = [
        f"{share.path} {LOOPBACK}({options}{groups.get(share.name, '')},fsid={share.fsid}{last})\n"
        for share in exported
    ]
    path = paths.ROOT / nfs.VERIFY_EXPORTS
    write_text(path, "".join(lines))
    try:
        # Its status is that of any file, also of one that is not ours; what matters is whether the mount works.
        run(["exportfs", "-ra"])
        yield
    finally:
        path.unlink()
        run(["exportfs", "-ra"])


@contextmanager
def _mounted(demand: tls.TlsMode | None, run: Runner) -> Iterator[str]:
    paths.run_dir().mkdir(parents=True, exist_ok=True)
    where = tempfile.mkdtemp(prefix=VERIFY_PREFIX, dir=paths.run_dir())
    options = "ro,vers=4.2,proto=tcp,soft,timeo=100,retrans=2,nosuid,nodev,noexec"
    if demand:
        # Without mount.nfs, which would look for the certificate's name in the DNS: the kernel takes the address.
        options += f",addr={LOOPBACK},clientaddr={LOOPBACK},xprtsec={demand}"
        mount = ["timeout", SECONDS, "mount", "-i", "-t", "nfs4", "-o", options, f"{tls.server_name()}:/", where]
    else:
        mount = ["timeout", SECONDS, "mount", "-t", "nfs4", "-o", f"{options},retry=0", f"{LOOPBACK}:/", where]
    try:
        result = _with_retries(mount, run) if demand else run(mount)
        if result.status != 0:
            raise Failed(f"NFS mounts fail{_over_tls(demand)} from this server: {last_words(result)}")
        try:
            yield where
        finally:
            # Lazy takes the mounts of the shares below with it.
            run(["umount", "--force", "--lazy", where])
    finally:
        # Still busy would mean that the unmount failed: the next change cleans it up.
        with suppress(OSError):
            os.rmdir(where)


def _over_tls(demand: tls.TlsMode | None) -> str:
    return f" over TLS (xprtsec={demand})" if demand else ""


def _with_retries(mount: Sequence[str], run: Runner) -> Result:
    """Retry: a tlshd that was just started does not listen to the kernel yet."""
    return wait_until(lambda: run(mount), lambda done: done.status == 0, PAUSES)


def _kernel_table() -> set[str]:
    # One line an entry: directory, blanks, clients.
    return {line.split()[0] for line in nfsd.lines("exports") if line}
