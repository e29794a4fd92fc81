# SPDX-License-Identifier: Apache-2.0
"""Libraries for smbd, in the package beside the modules: one that it preloads, and a module of its VFS.

An environment file tells the unit of smbd what to preload; smb.conf names the VFS module.
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
# mkosi.extra/usr/lib/systemd/system/smbd.service.d/40-names.conf reads it where it is.
ENVIRONMENT = Path("usr/lib/millrace/smbd.env")
COMPILE = ("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-s", "-Wl,-z,now")


def add(root: Path, tree: Path, run: Run) -> None:
    """Compile both in the environment `root` into `tree`, which is below it. Failed: one does not build."""
    for source, library, options in ((SOURCE, LIBRARY, ()), (VFS_SOURCE, VFS_MODULE, HEADERS)):
        shutil.copyfile(source, root / source.name)
        (tree / library).parent.mkdir(parents=True, exist_ok=True)
        target = f"/{(tree / library).relative_to(root)}"
        compiler = [*COMPILE, *options, "-o", target, f"/{source.name}"]
        checked(run, inside(root, compiler), f"{library.name} was not built")
    (tree / ENVIRONMENT).write_text(f"LD_PRELOAD=/{LIBRARY}\n")
