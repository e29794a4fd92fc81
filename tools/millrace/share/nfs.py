# SPDX-License-Identifier: Apache-2.0
"""What the NFS server reads: its exports, its settings, and the environment of its unit."""

from collections.abc import Sequence

from millrace import paths
from millrace.plan.model import Nfsd
from millrace.share.model import Share

EXPORTS = "etc/exports.d/millrace.exports"
SETTINGS = "etc/nfs.conf.d/millrace.conf"
ENVIRONMENT = "run/millrace/nfsd.env"

# As /proc/fs/nfsd/portlist has it.
RDMA_LISTENER = "rdma 20049"


def has_rdma_device() -> bool:
    """Whether any RDMA device is registered, hardware or soft-RoCE."""
    directory = paths.ROOT / "sys/class/infiniband"
    return directory.is_dir() and any(directory.iterdir())


def exports(shares: Sequence[Share]) -> str:
    """The text of millrace.exports, one line per share that has a client network."""
    # Here and not above: health looks at this module every 30 s and renders nothing.
    from millrace.render import render

    return render(f"{EXPORTS}.j2", shares=shares)


def settings(nfsd: Nfsd, rdma: bool) -> str:
    """The text of nfs.conf.d/millrace.conf."""
    from millrace.render import render

    return render(f"{SETTINGS}.j2", nfsd=nfsd, rdma=rdma)


def environment(nfsd: Nfsd) -> str:
    """The text of nfsd.env: what rpc.nfsd cannot be told and the unit does around it. Block size in bytes."""
    values = {
        "THREADS_MIN": nfsd.threads_min,
        "THREADS_MAX": nfsd.threads_max,
        "POOL_MODE": nfsd.pool_mode,
        "BLOCK": nfsd.max_block_size,
    }
    return "".join(f"MILLRACE_NFSD_{name}={value}\n" for name, value in values.items())
