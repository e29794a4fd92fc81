# SPDX-License-Identifier: Apache-2.0
"""Profile and protocol to options: the tables of the talks, less what the kernel does by itself. Pure.

Where a talk and the kernel of today disagree the kernel wins, and the option is in a `left_out` list with the reason.
"""

from millrace.measure.client import sources
from millrace.measure.client.choices import ClientWorkload
from millrace.measure.client.model import ModuleParameter, Note, RecipeChoice

NFS_PORT = 2049
RDMA_PORT = 20049
SMB_PORT = 445

# Linux: NFS_MAX_TRANSPORTS, the addresses of one server that a client takes.
MAX_ADDRESSES = 16
RDMA_CONNECTIONS = 4
TRUNKED_CONNECTIONS = 8
CHANNELS = 8

TCP_CONNECTIONS = {
    ClientWorkload.TRAINING: 16,
    ClientWorkload.CHECKPOINT: 16,
    ClientWorkload.DATALOADER: 8,
    ClientWorkload.KVCACHE: 16,
    ClientWorkload.MIXED: 8,
}

# max_session_slots, max_session_cb_slots, callback_nr_threads: the upper ends of the talk's ranges. One client that
# mounts with several workloads takes the larger numbers: they are ceilings, and there is one module.
_MODULE = {
    ClientWorkload.TRAINING: (256, 64, 12),
    ClientWorkload.CHECKPOINT: (256, 64, 12),
    ClientWorkload.DATALOADER: (128, 32, 16),
    # not in the talk: every request of the LLM server waits for its blocks
    ClientWorkload.KVCACHE: (256, 64, 12),
    ClientWorkload.MIXED: (192, 48, 12),
}


def _choice(option: str, reason: str, source: str) -> RecipeChoice:
    return RecipeChoice(option=option, reason=reason, source=source)


def module_parameters(workload: ClientWorkload) -> list[ModuleParameter]:
    """Return what /etc/modprobe.d sets for the NFS client."""
    names = ("max_session_slots", "max_session_cb_slots", "callback_nr_threads")
    return [
        ModuleParameter(module="nfs", parameter=name, at_least=value)
        for name, value in zip(names, _MODULE[workload], strict=True)
    ]


# Module options of the talk's table that are not set, for the comments of the modprobe.d file.
MODULE_LEFT_OUT = [
    _choice("nfs4_disable_idmapping=1", "the default of client and server", sources.NFS_PARAMETERS),
    _choice(
        "nfs_idmap_cache_timeout=600",
        "600 s is the default; sec=sys does no mapping",
        sources.NFS_PARAMETERS,
    ),
    _choice(
        "delay_retrans",
        "-1 is the default; other values apply to softerr mounts only, and these are hard",
        sources.NFS_DELAY,
    ),
    _choice(
        "nfs_access_max_cachesize", "the recommended values are below the default of 4194304", sources.NFS_PARAMETERS
    ),
    _choice("enable_ino64", "deprecated; no effect", sources.NFS_PARAMETERS),
    _choice(
        "sunrpc tcp_max_slot_table_entries",
        "any value below the default of 65536 limits throughput",
        sources.SUNRPC_SLOTS,
    ),
]


_BOUNDARY = [
    _choice("nosuid", "ignores setuid bits, which other clients could set", sources.MOUNT_MANUAL),
    _choice("nodev", "ignores device files, which other clients could create", sources.MOUNT_MANUAL),
]


def nfs_common(transport: list[RecipeChoice]) -> list[RecipeChoice]:
    """Return the options of every NFS mount around those of its transport."""
    return [
        _choice("vers=4.2", "sessions, server-side copy and sparse files", sources.TALK_MOUNT),
        *transport,
        _choice(
            "hard",
            "retries until the server is back instead of failing; the default, stated to override nfsmount.conf",
            sources.TALK_TIMEOUTS,
        ),
        _choice("rsize=1048576", "maximum read size of a Linux client", sources.NFS_BLOCK),
        _choice("wsize=1048576", "maximum write size of a Linux client", sources.NFS_BLOCK),
        *_BOUNDARY,
    ]


def tcp(workload: ClientWorkload) -> list[RecipeChoice]:
    """Return the options for one server address over TCP."""
    count = TCP_CONNECTIONS[workload]
    reason = f"{count} connections; each carries about 2.5 GB/s of reads or 1.6 GB/s of writes"
    return [
        _choice("proto=tcp", "transport protocol", sources.TALK_MOUNT),
        _choice(f"nconnect={count}", reason, sources.TALK_MOUNT),
    ]


def trunked() -> list[RecipeChoice]:
    """Return the options for several server addresses over TCP, one session."""
    return [
        _choice("proto=tcp", "transport protocol", sources.TALK_MOUNT),
        _choice(
            f"nconnect={TRUNKED_CONNECTIONS}",
            "connections to the first address; the kernel adds one for each further address",
            sources.NFS_TRUNK,
        ),
        _choice(
            f"max_connect={MAX_ADDRESSES}",
            "maximum number of server addresses per session; the kernel's limit",
            sources.NFS_TRUNK,
        ),
        _choice(
            "trunkdiscovery",
            "queries the server for further addresses; no effect if it reports none",
            sources.NFS_DISCOVERY,
        ),
    ]


def rdma() -> list[RecipeChoice]:
    """Return the options for one server address over RDMA."""
    return [
        _choice("proto=rdma", "transport protocol", sources.TALK_MOUNT),
        _choice(f"port={RDMA_PORT}", "RDMA port of the server", sources.TALK_MOUNT),
        _choice(
            f"nconnect={RDMA_CONNECTIONS}",
            "speeds up small random reads; not needed for a single stream",
            sources.RDMA_LANES,
        ),
    ]


_POSITIVE = "lookupcache=positive"


def rdma_trunked() -> list[RecipeChoice]:
    """Return the options for several server addresses over RDMA, one session."""
    return [
        *rdma()[:2],
        _choice(
            f"max_connect={MAX_ADDRESSES}",
            "maximum number of server addresses per session; the kernel's limit",
            sources.NFS_TRUNK,
        ),
    ]


NFS_CACHING = {
    ClientWorkload.TRAINING: [
        _choice("acregmin=60", "datasets do not change while they are read", sources.TALK_MOUNT),
        _choice("acregmax=600", "datasets do not change while they are read", sources.TALK_MOUNT),
        _choice("acdirmin=60", "new files become visible after 60 s", sources.TALK_MOUNT),
        _choice("acdirmax=600", "new files become visible after at most 600 s", sources.TALK_MOUNT),
    ],
    ClientWorkload.CHECKPOINT: [
        _choice(_POSITIVE, "prevents a cached 'no such file' when another node resumes", sources.TALK_CACHING),
    ],
    ClientWorkload.DATALOADER: [
        _choice(
            _POSITIVE, "caches existing names only; missing names are looked up on the server", sources.TALK_CACHING
        ),
    ],
    ClientWorkload.KVCACHE: [
        _choice(_POSITIVE, "a block that one node saved is found by the others at once", sources.NFS_MANUAL),
        _choice("acregmin=60", "blocks do not change after they are written", sources.NFS_MANUAL),
        _choice("acregmax=600", "blocks do not change after they are written", sources.NFS_MANUAL),
    ],
    ClientWorkload.MIXED: [
        _choice(_POSITIVE, "files that other clients create are visible immediately", sources.TALK_CACHING),
    ],
}

_NFS_LEFT_OUT = [
    _choice("timeo, retrans", "the defaults survive a reboot of the server", sources.TALK_TIMEOUTS),
    _choice("sync", "makes every write synchronous; fsync and close flush in any case", sources.NFS_MANUAL),
    _choice("noatime, nodiratime", "no effect on NFS: the server maintains access times", sources.NFS_MANUAL),
]

NFS_LEFT_OUT = {
    ClientWorkload.TRAINING: [_choice("lookupcache=all", "the default", sources.NFS_MANUAL), *_NFS_LEFT_OUT],
    ClientWorkload.CHECKPOINT: [
        _choice(
            "acdirmin=60, acdirmax=600",
            "would hide a new checkpoint from other nodes for 60 s; the defaults are 30 and 60 s",
            sources.NFS_MANUAL,
        ),
        *_NFS_LEFT_OUT,
    ],
    ClientWorkload.DATALOADER: [
        _choice("acregmax=60, acdirmax=60", "the defaults", sources.NFS_MANUAL),
        *_NFS_LEFT_OUT,
    ],
    ClientWorkload.KVCACHE: [
        _choice(
            "nocto",
            "would skip the check on open, and show half a block to a node that opens it while it is written",
            sources.NFS_MANUAL,
        ),
        *_NFS_LEFT_OUT,
    ],
    ClientWorkload.MIXED: [_choice("acregmax=60, acdirmax=60", "the defaults", sources.NFS_MANUAL), *_NFS_LEFT_OUT],
}


_SMB_VERSION = _choice("vers=3.1.1", "the only version that this server supports", sources.TALK_CIFS)
_SMB_HARD = _choice("hard", "retries until the server is back; the default returns an error", sources.CIFS_CLIENT)


def smb_common(posix: bool) -> list[RecipeChoice]:
    """Return the options of every SMB mount; `posix` only where no NFS client uses the same tree."""
    extensions = (
        [_choice("posix", "POSIX modes, symbolic links and case-sensitive names", sources.CIFS_CLIENT)] if posix else []
    )
    return [
        _SMB_VERSION,
        *extensions,
        _choice(
            "seal",
            "the server requires encryption or signing; signing is three times slower on Linux",
            sources.CIFS_CIPHERS,
        ),
        _choice("multichannel", "several connections per mount, over all ports of the server", sources.TALK_CIFS),
        _choice(
            f"max_channels={CHANNELS}",
            "more channels do not help: the main thread of smbd is the limit",
            sources.CIFS_PROCESS,
        ),
        _choice("rsize=8388608", "maximum of the server; the default is half of it", sources.CIFS_CLIENT),
        _choice("wsize=8388608", "maximum of the server; the default is half of it", sources.CIFS_CLIENT),
        _SMB_HARD,
        *_BOUNDARY,
    ]


def smb_direct() -> list[RecipeChoice]:
    """Return the options of every mount over SMB Direct."""
    return [
        _SMB_VERSION,
        _choice("rdma", "transport: SMB Direct", sources.CIFS_MANUAL),
        _SMB_HARD,
        *_BOUNDARY,
    ]


SMB_DIRECT_LEFT_OUT = [
    _choice("seal, sign", "data would go through messages instead of RDMA, at a fraction of the speed", sources.KSMBD),
    _choice("multichannel", "the server's part was the cause of vulnerabilities and is off", sources.KSMBD),
    _choice("posix", "symbolic links cannot be made", sources.KSMBD),
    _choice("rsize, wsize", "client and server agree on the largest size that the RDMA devices take", sources.KSMBD),
]
SMB_DIRECT_NOTES = [
    Note(
        text="Nothing is signed or encrypted on the way: use it in a network of trusted machines only.",
        source=sources.KSMBD,
    ),
    Note(
        text="The kernel of the client needs CONFIG_CIFS_SMB_DIRECT, which Debian and others leave out: "
        "grep CIFS_SMB_DIRECT /boot/config-$(uname -r). Without it the mount fails; use NFS over RDMA then.",
        source=sources.CIFS_CONFIG,
    ),
    Note(
        text="Windows cannot use it: it begins on port 445 of TCP, which Samba has, and a session cannot go from one "
        "server to the other. Windows clients use shares over SMB with several channels.",
        source=sources.KSMBD,
    ),
]


def smb_caching(workload: ClientWorkload, leases: bool) -> list[RecipeChoice]:
    """Return the caching options of a workload; `leases`: whether the server grants them."""
    if workload is ClientWorkload.CHECKPOINT:
        return [
            _choice(
                "cache=none",
                "no client cache to flush on fsync: checkpoints are saved four times faster",
                sources.TALK_CIFS_TABLE,
            ),
            _choice("actimeo=0", "always reads file sizes and times from the server", sources.TALK_CIFS_TABLE),
        ]
    if workload in (ClientWorkload.MIXED, ClientWorkload.KVCACHE):
        return []
    attributes = [_choice("actimeo=60", "datasets do not change while they are read", sources.CIFS_CLIENT)]
    if leases:
        attributes.append(
            _choice("closetimeo=5", "a file that is opened again within 5 s needs no request", sources.CIFS_CLIENT)
        )
    return attributes


SMB_LEFT_OUT = [
    _choice("max_credits=8192", "would lower the client limit of 32000; the server has its own", sources.CIFS_CLIENT),
    _choice("cache=strict, serverino, echo_interval=60", "the defaults", sources.CIFS_MANUAL),
    _choice("rdma, compress", "not enabled in distribution kernels: the mount would fail", sources.CIFS_CONFIG),
]

SMB_MIXED_LEFT_OUT = [
    _choice("posix", "NFS clients would see its symbolic links as empty files", sources.MIXED_TREE),
    _choice("closetimeo", "needs leases, which are disabled for shares that NFS also serves", sources.MIXED_TREE),
]
