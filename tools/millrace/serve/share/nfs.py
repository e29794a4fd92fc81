# SPDX-License-Identifier: Apache-2.0
"""The files that the NFS server reads: its exports, its settings, and the environment of its unit."""

from collections.abc import Sequence
from uuid import uuid5

from millrace.plan.model import Nfsd
from millrace.serve.config.protocols import NfsClient
from millrace.serve.share.model import Share
from millrace.storage.record.model import Pool

EXPORTS = "etc/exports.d/millrace.exports"
# Beside it for the seconds of a verification (serve/share/verify_nfs.py).
VERIFY_EXPORTS = "etc/exports.d/millrace-verify.exports"
BENCH_EXPORTS = "etc/exports.d/millrace-bench.exports"
SETTINGS = "etc/nfs.conf.d/millrace.conf"
ENVIRONMENT = "run/millrace/nfsd.env"
MODULE_OPTIONS = "etc/modprobe.d/millrace-nfs.conf"

MOUNTD_WORKERS = 4
"""Processes of mountd. The kernel asks it four kinds of questions: who an address is, what is exported to it, which
export a handle is in, which groups a user has. One process answers them in turn: users whom nobody knows, each a
question to winbind in a domain, would hold up the mounts of all clients. More would only ask winbind the same again,
as each worker reads all questions of a kind that wait. How many wait needs no limit of its own: each holds a thread of
nfsd until it is answered or given up, after 5 s at most (kernel 7.2, net/sunrpc/cache.c, cache_wait_req()), and is
forgotten after 120 s."""

# Handles of one export are worth nothing in another (serve/share/handle_key.py).
SIGNED = "sign_fh"

# In the file for a share that is of SMB alone.
NOT_FOR_NFS = "it is not for NFS"

_SQUASH = {"root": "root_squash", "all": "all_squash", "none": "no_root_squash"}


def exports(shares: Sequence[Share]) -> str:
    """Return the text of millrace.exports: a line for each share that has a client network, and for its snapshots."""
    # Here and not above: health imports this module every 30 s and renders nothing.
    from millrace.system.render import render

    return render(
        f"{EXPORTS}.j2", shares=shares, options=options, snapshots=snapshots, readers=readers, not_for_nfs=NOT_FOR_NFS
    )


def options(share: Share, client: NfsClient) -> str:
    """Return the options of one client's entry, in brackets.

    sec and xprtsec come last: exports(5) applies what follows a flavour to that flavour only.
    """
    words = [
        client.access,
        "sync",
        "no_wdelay",
        "no_subtree_check",
        SIGNED,
        _SQUASH[client.squash],
        *(f"{name}={number}" for name, number in _anonymous(client) if number is not None),
        f"fsid={share.fsid}",
        "secure" if share.privileged_ports else "insecure",
    ]
    if client.sec != ["sys"]:
        words.append(f"sec={':'.join(client.sec)}")
    if client.xprtsec:
        words.append(f"xprtsec={':'.join(client.xprtsec)}")
    return ",".join(words)


def snapshots(share: Share, client: NfsClient) -> str:
    """Return the options of one client's entry for the snapshots of a share: as it reads the share itself."""
    # handles of their own: one of the share opens no snapshot
    own = share.model_copy(update={"fsid": uuid5(share.fsid, "snapshots")})
    return options(own, client.model_copy(update={"access": "ro"}))


def readers(share: Share) -> list[NfsClient]:
    """Return the clients that read the snapshots of a share: its own where they may, and servers with a replica."""
    return [*(share.exports if share.exported_snapshots else ()), *share.readers]


def _anonymous(client: NfsClient) -> tuple[tuple[str, int | None], ...]:
    return ("anonuid", client.anonuid), ("anongid", client.anongid)


def scope(pool: Pool) -> str:
    """Return the name by which clients recognise the server: that of its pool, whatever the host name."""
    return f"millrace-{pool.filesystem_uuid[:8]}"


def settings(nfsd: Nfsd, rdma: bool, scope: str) -> str:
    """Return the text of nfs.conf.d/millrace.conf."""
    from millrace.system.render import render

    return render(f"{SETTINGS}.j2", nfsd=nfsd, rdma=rdma, scope=scope, mountd_workers=MOUNTD_WORKERS)


def environment(nfsd: Nfsd) -> str:
    """Return the text of nfsd.env: what rpc.nfsd has no option for and the unit sets instead. Block size in bytes."""
    values = {
        "THREADS_MIN": nfsd.threads_min,
        "THREADS_MAX": nfsd.threads_max,
        "POOL_MODE": nfsd.pool_mode,
        "BLOCK": nfsd.max_block_size,
    }
    return "".join(f"MILLRACE_NFSD_{name}={value}\n" for name, value in values.items())


def module_options(nfsd: Nfsd) -> str:
    """Return the text of modprobe.d's file for the NFS client, which the kernel loads for the first mount."""
    return f"options nfs localio_enabled={'Y' if nfsd.localio else 'N'}\n"
