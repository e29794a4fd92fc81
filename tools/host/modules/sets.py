# SPDX-License-Identifier: Apache-2.0
"""What is built: each set is compiled and shipped as one, because its modules share structures.

The kernel has no CONFIG_MODVERSIONS: it cannot detect a mix of Debian's and rebuilt modules of one set.
"""

from dataclasses import dataclass
from pathlib import Path

PATCHES = Path(__file__).with_name("patches")


@dataclass(frozen=True)
class ModuleSet:
    """Modules that are replaced together.

    `sources` are directories of the kernel source. `config` goes on the command line of make, for kbuild; the macros
    that follow from it go to the compiler, because the autoconf.h of Debian's headers lacks them. `place` is the
    directory that kbuild builds, `top` the Kbuild file there, with the directories that have modules; without one it is
    the kernel's own, and `targets` are built alone. `modules` are shipped, by their path below `kernel/`; other modules
    that the compiler makes are not: Debian's stay. `patches` change the source, in this order; they are files of
    `patches/` beside this one.
    """

    name: str
    sources: tuple[str, ...]
    modules: tuple[str, ...]
    place: str = "fs"
    top: tuple[str, ...] = ()
    targets: tuple[str, ...] = ("modules",)
    config: tuple[str, ...] = ()
    patches: tuple[str, ...] = ()

    @property
    def changes(self) -> list[Path]:
        """Return the files of `patches`."""
        return [PATCHES / name for name in self.patches]

    @property
    def macros(self) -> list[str]:
        """Return what autoconf.h would say of `config`: CONFIG_X=1, CONFIG_X_MODULE=1 for a module."""
        pairs = [setting.split("=") for setting in self.config]
        return [f"-D{name}{'_MODULE' if value == 'm' else ''}=1" for name, value in pairs]


NFS = ModuleSet(
    name="nfs",
    sources=("fs/nfs", "fs/nfs_common", "fs/nfsd"),
    top=("nfs_common", "nfs", "nfsd"),
    # The client's part of inter-server copy belongs to NFS_V4_2, which Debian has on.
    config=("CONFIG_NFS_LOCALIO=y", "CONFIG_NFS_COMMON_LOCALIO_SUPPORT=m", "CONFIG_NFSD_V4_2_INTER_SSC=y"),
    modules=(
        "fs/nfs/blocklayout/blocklayoutdriver",
        "fs/nfs/filelayout/nfs_layout_nfsv41_files",
        "fs/nfs/flexfilelayout/nfs_layout_flexfiles",
        "fs/nfs/nfs",
        "fs/nfs/nfsv2",
        "fs/nfs/nfsv3",
        "fs/nfs/nfsv4",
        "fs/nfs_common/nfs_localio",
        "fs/nfsd/nfsd",
    ),
)
SMB = ModuleSet(
    name="smb",
    # cifs and ksmbd include ../../nls/nls_ucs2_utils.h
    sources=("fs/smb", "fs/nls"),
    top=("smb",),
    config=("CONFIG_SMBDIRECT=m", "CONFIG_SMB_SERVER_SMBDIRECT=y", "CONFIG_CIFS_SMB_DIRECT=y"),
    modules=("fs/smb/client/cifs", "fs/smb/server/ksmbd", "fs/smb/smbdirect/smbdirect"),
)
MD = ModuleSet(
    name="md",
    sources=("drivers/md",),
    place="drivers/md",
    targets=("raid456.ko",),
    patches=(
        "0001-md-raid5-keep-what-the-writes-of-a-batched-stripe-returned.patch",
        "0002-md-raid5-record-or-fail-a-device-that-cannot-be-read-not-neither.patch",
        "0003-md-raid5-begin-the-copy-of-a-bio-at-the-stripe.patch",
        "0004-md-raid5-read-present-devices-directly-while-one-is-missing.patch",
        "0005-md-raid5-leave-the-read-error-of-a-stripe-out-of-its-batch.patch",
    ),
    modules=("drivers/md/raid456",),
)
SUNRPC = ModuleSet(
    name="sunrpc",
    sources=("net/sunrpc",),
    place="net/sunrpc",
    # Its neighbours, auth_rpcgss and rpcrdma, stay Debian's: the patches change no structure and no exported function.
    targets=("sunrpc.ko",),
    patches=(
        "0006-sunrpc-ask-listeners-of-notifications-for-the-groups.patch",
        "0007-sunrpc-keep-a-negative-answer-for-groups-negative.patch",
    ),
    modules=("net/sunrpc/sunrpc",),
)
NVMET = ModuleSet(
    name="nvmet",
    # passthru.c includes ../host/nvme.h
    sources=("drivers/nvme/target", "drivers/nvme/host"),
    place="drivers/nvme/target",
    # Its transports, nvmet-tcp and nvmet-rdma, stay Debian's: the patch changes no structure.
    targets=("nvmet.ko",),
    patches=("0008-nvmet-authenticate-every-queue-of-a-host-with-a-secret.patch",),
    modules=("drivers/nvme/target/nvmet",),
)
SETS = (NFS, SMB, SUNRPC, NVMET, MD)
# Debian's stay: hashing and compression of buffers, without a structure that a set changes.
KEPT = ("fs/smb/common/cifs_md4", "fs/smb/common/smb_compress")
# kbuild makes parsers of cifs and ksmbd with it; the package linux-kbuild does not ship it.
ASN1_COMPILER = ("scripts/asn1_compiler.c", "include/linux/asn1.h", "include/linux/asn1_ber_bytecode.h")
