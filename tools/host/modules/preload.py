# SPDX-License-Identifier: Apache-2.0
"""Libraries for programs of Debian, in the package beside the modules: two for smbd, and a module of PAM.

An environment file tells the unit of smbd what to preload; smb.conf names the module of its VFS. pam-auth-update, which
mkosi.postinst.chroot runs, reads the profile of the module of PAM.
"""

import shutil
from pathlib import Path

from host.modules.compile import inside
from host.modules.environment import Run, checked

SOURCE = Path(__file__).with_name("smbd-names.c")
LIBRARY = Path("usr/lib/millrace/smbd-names.so")
VFS_SOURCE = Path(__file__).with_name("smbd-denials.c")
VFS_MODULE = Path("usr/lib/x86_64-linux-gnu/samba/vfs/refuse_denials.so")
# samba-dev has its headers below; the module is for this release of Samba only, and so is the package.
HEADERS = ("-I/usr/include/samba-4.0",)
SAMBA = "samba (>= 2:4.25~), samba (<< 2:4.26~)"
PAM_SOURCE = Path(__file__).with_name("pam-verified-password.c")
PAM_MODULE = Path("usr/lib/x86_64-linux-gnu/security/pam_verified_password.so")
# A module names the library that loads it: sudo has it from a plugin, where a module without the name does not find it.
# Before the source, where a linker that drops what is not needed yet would drop it.
PAM = ("-Wl,--no-as-needed", "-lpam")
PAM_PROFILE = Path(__file__).with_name("pam-verified-password.profile")
PROFILE = Path("usr/share/pam-configs/millrace-verified-password")
# mkosi.extra/usr/lib/systemd/system/smbd.service.d/40-names.conf reads it where it is.
ENVIRONMENT = Path("usr/lib/millrace/smbd.env")
COMPILE = ("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-s", "-Wl,-z,now")


def add(root: Path, tree: Path, run: Run) -> None:
    """Compile them in the environment `root` into `tree`, which is below it. Failed: a library does not build."""
    for source, library, options in (
        (SOURCE, LIBRARY, ()),
        (VFS_SOURCE, VFS_MODULE, HEADERS),
        (PAM_SOURCE, PAM_MODULE, PAM),
    ):
        shutil.copyfile(source, root / source.name)
        (tree / library).parent.mkdir(parents=True, exist_ok=True)
        target = f"/{(tree / library).relative_to(root)}"
        compiler = [*COMPILE, *options, "-o", target, f"/{source.name}"]
        checked(run, inside(root, compiler), f"{library.name} was not built")
    (tree / ENVIRONMENT).write_text(f"LD_PRELOAD=/{LIBRARY}\n")
    (tree / PROFILE).parent.mkdir(parents=True)
    shutil.copyfile(PAM_PROFILE, tree / PROFILE)
