# SPDX-License-Identifier: Apache-2.0
"""Profile and protocol to options: the tables of the talks, less what the kernel does by itself. Pure.

Where a talk and the kernel of today disagree the kernel wins, and the option is in a `left_out` list with the reason.
"""

from millrace.client import sources
from millrace.client.choices import Profile
from millrace.client.model import Choice, ModuleParameter

NFS_PORT = 2049
RDMA_PORT = 20049
SMB_PORT = 445

# Linux: NFS_MAX_TRANSPORTS, the addresses of one server that a client takes.
MAX_ADDRESSES = 16
RDMA_CONNECTIONS = 4
TRUNKED_CONNECTIONS = 8
CHANNELS = 8

TCP_CONNECTIONS = {
    Profile.TRAINING: 16,
    Profile.CHECKPOINT: 16,
    Profile.DATALOADER: 8,
    Profile.MIXED: 8,
}

# max_session_slots, max_session_cb_slots, callback_nr_threads: the upper ends of the talk's ranges. One client that
# mounts with several profiles takes the larger numbers: they are ceilings, and there is one module.
_MODULE = {
    Profile.TRAINING: (256, 64, 12),
    Profile.CHECKPOINT: (256, 64, 12),
    Profile.DATALOADER: (128, 32, 16),
    Profile.MIXED: (192, 48, 12),
}


def _choice(option: str, reason: str, source: str) -> Choice:
    return Choice(option=option, reason=reason, source=source)


def module_parameters(profile: Profile) -> list[ModuleParameter]:
    """Return what /etc/modprobe.d sets for the NFS client."""
    names = ("max_session_slots", "max_session_cb_slots", "callback_nr_threads")
    return [
        ModuleParameter(module="nfs", parameter=name, at_least=value)
        for name, value in zip(names, _MODULE[profile], strict=True)
    ]


# Module options of the talk's table that are not set, for the comments of the modprobe.d file.
MODULE_LEFT_OUT = [
    _choice("nfs4_disable_idmapping=1", "the default of client and server", sources.NFS_PARAMETERS),
    _choice(
        "nfs_idmap_cache_timeout=600",
        "600 s is the default, and with sec=sys nothing is mapped",
        sources.NFS_PARAMETERS,
    ),
    _choice(
        "delay_retrans",
        "-1 is the default, and other values count only on softerr mounts; these are hard",
        sources.NFS_DELAY,
    ),
    _choice(
        "nfs_access_max_cachesize", "every value of the table is below the default of 4194304", sources.NFS_PARAMETERS
    ),
    _choice("enable_ino64", "deprecated and without effect", sources.NFS_PARAMETERS),
    _choice("sunrpc tcp_max_slot_table_entries", "any value below 65536 is a brake", sources.SUNRPC_SLOTS),
]


_BOUNDARY = [
    _choice("nosuid", "a setuid file that another client wrote gains nothing here", sources.MOUNT_MANUAL),
    _choice("nodev", "a device file that another client made opens nothing here", sources.MOUNT_MANUAL),
]


def nfs_common(transport: list[Choice]) -> list[Choice]:
    """Return the options of every NFS mount around those of its transport."""
    return [
        _choice("vers=4.2", "sessions, server-side copy and sparse files", sources.TALK_MOUNT),
        *transport,
        _choice(
            "hard",
            "an outage is waited out, never turned into half a file; the default, named so that no site file undoes it",
            sources.TALK_TIMEOUTS,
        ),
        _choice("rsize=1048576", "the most a Linux client asks for at once", sources.NFS_BLOCK),
        _choice("wsize=1048576", "the most a Linux client sends at once", sources.NFS_BLOCK),
        *_BOUNDARY,
    ]


def tcp(profile: Profile) -> list[Choice]:
    """Return the options for one server address over TCP."""
    count = TCP_CONNECTIONS[profile]
    reason = f"{count} connections: one carries about 2.5 GB/s of reads and 1.6 GB/s of writes"
    return [
        _choice("proto=tcp", "the transport", sources.TALK_MOUNT),
        _choice(f"nconnect={count}", reason, sources.TALK_MOUNT),
    ]


def trunked() -> list[Choice]:
    """Return the options for several server addresses over TCP, one session."""
    return [
        _choice("proto=tcp", "the transport", sources.TALK_MOUNT),
        _choice(
            f"nconnect={TRUNKED_CONNECTIONS}",
            "connections to the first address; the kernel adds one for each further address",
            sources.NFS_TRUNK,
        ),
        _choice(
            f"max_connect={MAX_ADDRESSES}",
            "how many addresses of this server one session may use; the kernel's limit",
            sources.NFS_TRUNK,
        ),
        _choice(
            "trunkdiscovery",
            "asks the server for its other addresses; harmless where it names none",
            sources.NFS_DISCOVERY,
        ),
    ]


def rdma() -> list[Choice]:
    """Return the options for one server address over RDMA."""
    return [
        _choice("proto=rdma", "the transport", sources.TALK_MOUNT),
        _choice(f"port={RDMA_PORT}", "where the server listens for RDMA", sources.TALK_MOUNT),
        _choice(
            f"nconnect={RDMA_CONNECTIONS}",
            "small random reads gain, a single stream does not need it",
            sources.RDMA_LANES,
        ),
    ]


_POSITIVE = "lookupcache=positive"

NFS_CACHING = {
    Profile.TRAINING: [
        _choice("acregmin=60", "a dataset does not change under the readers", sources.TALK_MOUNT),
        _choice("acregmax=600", "a dataset does not change under the readers", sources.TALK_MOUNT),
        _choice("acdirmin=60", "new files are seen a minute late", sources.TALK_MOUNT),
        _choice("acdirmax=600", "new files are seen ten minutes late at worst", sources.TALK_MOUNT),
    ],
    Profile.CHECKPOINT: [
        _choice(_POSITIVE, "a resume on another node must not get a cached 'no such file'", sources.TALK_CACHING),
    ],
    Profile.DATALOADER: [
        _choice(_POSITIVE, "names that exist are cached, names that do not are asked for", sources.TALK_CACHING),
    ],
    Profile.MIXED: [
        _choice(_POSITIVE, "files that others just made are found at once", sources.TALK_CACHING),
    ],
}

_NFS_LEFT_OUT = [
    _choice("timeo, retrans", "the defaults ride out a reboot of the server", sources.TALK_TIMEOUTS),
    _choice("sync", "makes every write wait; fsync and close flush already", sources.NFS_MANUAL),
    _choice("noatime, nodiratime", "without effect on NFS: the server keeps access times", sources.NFS_MANUAL),
]

NFS_LEFT_OUT = {
    Profile.TRAINING: [_choice("lookupcache=all", "the default", sources.NFS_MANUAL), *_NFS_LEFT_OUT],
    Profile.CHECKPOINT: [
        _choice(
            "acdirmin=60, acdirmax=600",
            "would hide a new checkpoint from other nodes for a minute; the defaults of 30 and 60 s stay",
            sources.NFS_MANUAL,
        ),
        *_NFS_LEFT_OUT,
    ],
    Profile.DATALOADER: [_choice("acregmax=60, acdirmax=60", "the defaults", sources.NFS_MANUAL), *_NFS_LEFT_OUT],
    Profile.MIXED: [_choice("acregmax=60, acdirmax=60", "the defaults", sources.NFS_MANUAL), *_NFS_LEFT_OUT],
}


def smb_common(posix: bool) -> list[Choice]:
    """Return the options of every SMB mount; `posix` only where no NFS client uses the same tree."""
    extensions = (
        [_choice("posix", "real modes, links and names that differ in case", sources.CIFS_CLIENT)] if posix else []
    )
    return [
        _choice("vers=3.1.1", "the only version this server speaks", sources.TALK_CIFS),
        *extensions,
        _choice("seal", "the server demands it or signing, and Linux signs three times slower", sources.CIFS_CIPHERS),
        _choice("multichannel", "several connections for one mount, over all ports of the server", sources.TALK_CIFS),
        _choice(f"max_channels={CHANNELS}", "beyond it the server's main thread is the limit", sources.CIFS_PROCESS),
        _choice("rsize=8388608", "what the server allows; the default is half", sources.CIFS_CLIENT),
        _choice("wsize=8388608", "what the server allows; the default is half", sources.CIFS_CLIENT),
        _choice("hard", "an outage is waited out; the default gives up", sources.CIFS_CLIENT),
        *_BOUNDARY,
    ]


def smb_caching(profile: Profile, leases: bool) -> list[Choice]:
    """Return the caching options of a profile; `leases`: whether the server grants them."""
    if profile is Profile.CHECKPOINT:
        return [
            _choice(
                "cache=none",
                "fsync need not flush a cache of the client first: saves are four times faster",
                sources.TALK_CIFS_TABLE,
            ),
            _choice("actimeo=0", "sizes and times are those of the server", sources.TALK_CIFS_TABLE),
        ]
    if profile is Profile.MIXED:
        return []
    attributes = [_choice("actimeo=60", "a dataset does not change under the readers", sources.CIFS_CLIENT)]
    if leases:
        attributes.append(
            _choice("closetimeo=5", "a file opened again soon is not opened at the server", sources.CIFS_CLIENT)
        )
    return attributes


SMB_LEFT_OUT = [
    _choice(
        "max_credits=8192", "would lower the client's own ceiling of 32000; the server grants 8192", sources.CIFS_CLIENT
    ),
    _choice("cache=strict, serverino, echo_interval=60", "the defaults", sources.CIFS_MANUAL),
    _choice("rdma, compress", "not in distribution kernels: the mount would fail", sources.CIFS_CONFIG),
]

SMB_MIXED_LEFT_OUT = [
    _choice("posix", "NFS clients would see its links as empty files", sources.MIXED_TREE),
    _choice("closetimeo", "needs leases, which are off on a tree that NFS serves too", sources.MIXED_TREE),
]
