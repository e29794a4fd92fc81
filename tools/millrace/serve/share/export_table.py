# SPDX-License-Identifier: Apache-2.0
"""The table of exports: what mountd answers the kernel from, with entries of ours and of others."""

from collections.abc import Sequence
from pathlib import Path

from millrace.serve.share import nfs
from millrace.serve.share.model import Share
from millrace.system import names, nfsd, paths
from millrace.system.errors import Failed
from millrace.system.run import Result, Runner, last_words, must

Table = dict[str, list[str]]


def foreign_files() -> list[str]:
    """Return the files beside ours that exportfs reads and that export something."""
    directory = paths.ROOT / "etc/exports.d"
    ours = [paths.ROOT / name for name in (nfs.EXPORTS, nfs.VERIFY_EXPORTS, nfs.BENCH_EXPORTS)]
    candidates = [paths.ROOT / "etc/exports", *(sorted(directory.glob("*.exports")) if directory.is_dir() else [])]
    return [f"/{path.relative_to(paths.ROOT)}" for path in candidates if path not in ours and _has_entries(path)]


def reload(shares: Sequence[Share], run: Runner) -> list[str]:
    """Load the table from the files; return the warnings of exportfs.

    exportfs exits with 1 over any file, also over one that is not ours, and exports what it can parse. Failed: a share
    of ours is not in the table after it.
    """
    result = run(["exportfs", "-ra"])
    is_silent = result.status == 0 and not result.err.strip()
    # exportfs that cannot write its table exits with 0 and leaves the old one (nfs-utils 3.1, xtab_write())
    exported = nfsd.exported() if is_silent else table(run)
    wanted = [share for share in shares if share.exports and exported is not None]
    lost = [share.name for share in wanted if _is_lost(share, share.path, exported or {}, is_silent)]
    lost += [
        f"the snapshots of {share.name}"
        for share in wanted
        if share.exported_snapshots and _is_lost(share, share.exported_snapshots, exported or {}, is_silent)
    ]
    lost += [
        f"the snapshots of {share.name} for its replicas"
        for share in shares
        if share.read_snapshots and exported is not None and share.read_snapshots not in exported
    ]
    if lost:
        why = "it did not write its table of exports" if is_silent else _complaints(result)[-1]
        raise Failed(f"exportfs does not export {', '.join(lost)}: {why}")
    if is_silent:
        return []
    return [f"exportfs reported: {line}" for line in _complaints(result)]


def table(run: Runner) -> Table:
    """Return clients by directory, from `exportfs -s`: one line for each entry, the client before a bracket."""
    found: Table = {}
    for line in must(run, ["exportfs", "-s"]).splitlines():
        path, _, entry = line.partition(" ")
        found.setdefault(path, []).append(entry.strip().partition("(")[0])
    return found


def lacks(directory: str, clients: Sequence[str], exported: Table) -> list[str]:
    """Return those of the clients of a directory that the table lacks.

    A network or a netgroup is in it as it was written, a host by any name that it resolves to: those are counted.
    """
    entries = exported.get(directory, [])
    written = [client for client in clients if names.is_network(client) or client.startswith("@")]
    lost = [client for client in written if client not in entries]
    hosts = [client for client in clients if client not in written]
    others = [client for client in entries if client not in written]
    return lost or (hosts if len(others) < len(hosts) else [])


def _is_lost(share: Share, path: str, exported: Table, is_silent: bool) -> bool:
    """Whether the table lacks a path of a share, or, where nothing was wrong with the files, one of its networks."""
    # a host whose name does not resolve is a warning of exportfs, and closes the share to nobody else
    clients = [client for client in share.networks if names.is_network(client)] if is_silent else []
    return path not in exported or bool(lacks(path, clients, exported))


def _has_entries(path: Path) -> bool:
    try:
        lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
    except OSError:
        return True
    return any(line.strip() and not line.lstrip().startswith("#") for line in lines)


def _complaints(result: Result) -> list[str]:
    lines = [line.strip() for line in result.err.splitlines() if line.strip()]
    return lines or [last_words(result)]
