# SPDX-License-Identifier: Apache-2.0
"""Whether shares are really served over NFS: they are in the table, and below the root that NFSv4 shows."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from millrace.serve.config.model import Domain
from millrace.serve.domain import keys
from millrace.serve.share import export_table, nfs, permissions, tls
from millrace.serve.share.model import Share
from millrace.system import nfs_client, nfsd, paths
from millrace.system.errors import Failed
from millrace.system.files import write_text
from millrace.system.names import several
from millrace.system.run import Runner
from millrace.system.units import is_active
from millrace.system.wait import wait_until

# During a verification only, and to root of this server only (secure: a port below 1024): read-only, and
# all users are squashed to nobody. A lasting entry for the loopback would let any local program with such a port read.
LOOPBACK = "127.0.0.1"
# A server with other work, such as a rebuild, may need as long for a tlshd that was just started.
PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0)


def verify(shares: Sequence[Share], gone: Sequence[str], domain: Domain | None, run: Runner) -> list[str]:
    """Return what was verified, in words. Failed: a share is not served. `gone` are paths that no client may mount.

    What is opened from this server is without Kerberos: it shows the directory. The keys are verified apart.
    """
    exported = [share for share in shares if share.exports]
    compared = _compared(shares, gone, domain, run)
    if compared is None:
        return []
    return [
        *_sentences(exported),
        *(compared.key if any(share.kerberos for share in exported) else []),
        *(_foreign(share) for share in shares if share.name in compared.foreign),
        *(f"NFS: {path} is not exported" for path in gone),
    ]


def verify_each(shares: Sequence[Share], domain: Domain | None, run: Runner) -> dict[str, list[str]]:
    """Return what was verified of each share, by its name, with one session for all. Failed: one is not served."""
    compared = _compared(shares, [], domain, run)
    if compared is None:
        return {}
    return {
        share.name: [
            *_sentences([share] if share.exports else []),
            *(compared.key if share.kerberos and share.exports else []),
            *([_foreign(share)] if share.name in compared.foreign else []),
        ]
        for share in shares
    }


class _Compared(NamedTuple):
    """What was verified of the key for Kerberos, and the names of shares that a file of another exports."""

    key: list[str]
    foreign: set[str]


def _compared(shares: Sequence[Share], gone: Sequence[str], domain: Domain | None, run: Runner) -> _Compared | None:
    """Compare shares with what is exported; None where no NFS server runs and none is needed."""
    exported = [share for share in shares if share.exports]
    if not is_active("nfs-server.service", run):
        if exported:
            raise Failed("the NFS server is not running: systemctl status nfs-server.service")
        return None
    table = export_table.table(run)
    for share in exported:
        lost = export_table.lacks(share.path, share.networks, table)
        if lost:
            raise Failed(f"the export of {share.name} to {', '.join(lost)} is not in the table: does the name resolve?")
    still = [path for path in gone if path in table]
    if still:
        raise Failed(f"{several(still)} is still exported; another file exports it: exportfs -s")
    for demand in tls.MODES:
        those = [share for share in exported if demand in tls.required_modes(share)]
        if those:
            _open_and_compare(those, demand, run)
    key = [keys.verify(domain, run)] if any(share.kerberos for share in exported) else []
    return _Compared(key, {share.name for share in shares if not share.exports and share.path in table})


def _foreign(share: Share) -> str:
    return f"NFS: {share.path} is exported by a file that Millrace does not manage"


def _sentences(exported: Sequence[Share]) -> list[str]:
    """One sentence for all shares that the same clients may mount in the same way."""
    together: dict[tuple[str, str], list[str]] = {}
    for share in exported:
        together.setdefault((", ".join(share.networks), _security(share)), []).append(share.name)
    return [
        f"NFS: {several(names)}: exported to {clients}; opened from this server{way}"
        for (clients, way), names in together.items()
    ]


def _security(share: Share) -> str:
    named = [f"xprtsec={one}" for one in tls.required_modes(share) if one]
    return f" over TLS ({' and '.join(named)})" if named else ""


def _open_and_compare(exported: Sequence[Share], demand: tls.TlsMode | None, run: Runner) -> None:
    """One session for all: the client enters each share from the root, as it does for any NFSv4 path."""
    with _loopback_export(exported, demand, run), _session(demand) as session:
        for share in exported:
            try:
                inode = session.inode(share.path)
            except Failed as error:
                raise Failed(
                    f"{share.path} does not open over NFS from this server{_over_tls(demand)}: {error}"
                ) from error
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
        # Its status is that of any file, also of one that is not ours; what matters is whether the shares open.
        run(["exportfs", "-ra"])
        yield
    finally:
        path.unlink()
        run(["exportfs", "-ra"])


@contextmanager
def _session(demand: tls.TlsMode | None) -> Iterator[nfs_client.NfsSession]:
    """A client of its own: the kernel's shares its session with every mount of this server that there is already."""
    wanted = tls.client(demand) if demand else None
    with ExitStack() as stack:

        def opened() -> nfs_client.NfsSession | Failed:
            try:
                return stack.enter_context(nfs_client.session(LOOPBACK, wanted))
            except Failed as error:
                return error

        # a tlshd that was just started does not listen to the kernel yet
        session = wait_until(opened, lambda result: not isinstance(result, Failed), PAUSES if demand else ())
        if isinstance(session, Failed):
            raise Failed(f"NFS does not open from this server{_over_tls(demand)}: {session}")
        yield session


def _over_tls(demand: tls.TlsMode | None) -> str:
    return f" over TLS (xprtsec={demand})" if demand else ""


def _kernel_table() -> set[str]:
    # One line an entry: directory, blanks, clients.
    return {line.split()[0] for line in nfsd.lines("exports") if line}
