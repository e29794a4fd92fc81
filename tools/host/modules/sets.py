# SPDX-License-Identifier: Apache-2.0
"""What is built: each set is compiled and shipped as one, because its modules share structures.

The kernel has no CONFIG_MODVERSIONS: it cannot detect a mix of Debian's and rebuilt modules of one set.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class ModuleSet:
    """Modules that are replaced together.

    `sources` are directories of the kernel source. `config` goes on the command line of make, for kbuild; the macros
    that follow from it go to the compiler, because the autoconf.h of Debian's headers lacks them. `top` is the Kbuild
    file above the directories that have modules. `modules` are shipped, by their path below `kernel/`; other modules
    that the compiler makes are not: Debian's stay.
    """

    name: str
    sources: tuple[str, ...]
    top: tuple[str, ...]
    config: tuple[str, ...]
    modules: tuple[str, ...]

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
SETS = (NFS, SMB)
# Debian's stay: hashing and compression of buffers, without a structure that a set changes.
KEPT = ("fs/smb/common/cifs_md4", "fs/smb/common/smb_compress")
# kbuild makes parsers of cifs and ksmbd with it; the package linux-kbuild does not ship it.
ASN1_COMPILER = ("scripts/asn1_compiler.c", "include/linux/asn1.h", "include/linux/asn1_ber_bytecode.h")
