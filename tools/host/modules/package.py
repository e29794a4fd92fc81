# SPDX-License-Identifier: Apache-2.0
"""The rebuilt modules as one package of Debian's format, which mkosi installs like any other.

It has the daemon of ksmbd, too: without it the kernel's SMB server knows neither users nor shares. It depends on
exactly the kernel that it was built for. The modules are below `updates/`, which depmod(8) prefers to `kernel/`
where depmod.d does not say otherwise; Debian's own stay in the image and are not loaded.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from host.modules import preload
from host.modules.compile import inside
from host.modules.environment import Packages, Run, checked, run_quietly
from host.modules.record import PLACE as RECORD

NAME = "millrace-modules"
PLACE = "updates/millrace"
# What Debian's modules are compressed with; the kernel reads no other check and no larger dictionary.
XZ = ("xz", "--check=crc32", "--lzma2=dict=1MiB", "--threads=1")
# Where the files of the package are in the environment.
TREE = Path("package")
# The daemon of ksmbd is one program, which acts by the name that it is called by.
DAEMON = Path("usr/libexec/ksmbd.tools")
NAMES = ("ksmbd.control", "ksmbd.mountd")
PROGRAMS = (DAEMON.name, "postinst")
COPYRIGHT = "usr/share/doc/{}/copyright"
CONTROL = """\
Package: {name}
Source: linux ({kernel})
Version: {version}
Architecture: amd64
Maintainer: Millrace
Installed-Size: {size}
Depends: linux-image-{abi} (= {kernel}), {samba}, {depends}
Built-Using: ksmbd-tools (= {daemon})
Section: kernel
Priority: optional
Description: modules of NFS, SMB and md, rebuilt with what Debian leaves out
 NFS with LOCALIO and inter-server copy, SMB with SMB Direct, parity RAID with
 direct reads while a drive is missing; compiled from Debian's source of this
 kernel. Also the daemon of ksmbd, the kernel's SMB server, as Debian built it,
 and libraries for smbd: names that are not UTF-8 hide no others, and entries
 that deny access are refused where they cannot be kept. Also a module of PAM:
 a password that must be changed is not asked for a second time.
"""
# As that of linux-modules: the one of mkosi runs only where a module is newer than the lists.
POSTINST = """\
#!/bin/sh
set -e
if [ "$1" = configure ]; then
    depmod {abi}
fi
"""


def version_for(kernel: str) -> str:
    """Return the version of the package for a version of the kernel's: with a mark that it is not Debian's."""
    return f"{kernel}+millrace1"


def installed(module: str) -> str:
    """Return where a module of a set is below `/usr/lib/modules/KERNEL`."""
    return f"{PLACE}/{module}.ko.xz"


def make(
    modules: Sequence[Path],
    built: Path,
    root: Path,
    packages: Packages,
    record: str,
    epoch: int,
    run: Run = run_quietly,
) -> Path:
    """Make the package of `modules`, which are below `built`, in the directory `built`; return its file.

    They are compressed in the environment `root`. `record` is the text of their patches (`record.record`). `epoch` is
    the time of all files, in seconds: the same modules give the same bytes. Failed: a tool fails.
    """
    tree = root / TREE
    shutil.rmtree(tree, ignore_errors=True)
    place = tree / "usr/lib/modules" / packages.abi / PLACE
    for module in modules:
        target = place / module.relative_to(built)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(module, target)
    names = sorted(f"/{path.relative_to(root)}" for path in place.rglob("*.ko"))
    checked(run, inside(root, [*XZ, *names]), "The rebuilt modules were not compressed")
    (tree / RECORD).parent.mkdir(parents=True)
    (tree / RECORD).write_text(record)
    preload.add(root, tree, run)
    _add_daemon(root, tree)
    depends = checked(run, ["dpkg-deb", "--field", str(packages.daemon[0]), "Depends"], "ksmbd-tools cannot be read")
    _describe(tree, packages, depends.strip())
    target = built / f"{NAME}_{version_for(packages.version)}_amd64.deb"
    pack(tree, target, epoch, run)
    return target


def pack(tree: Path, target: Path, epoch: int, run: Run = run_quietly) -> None:
    """Write a package of the files of `tree`, all of the time `epoch` in seconds. Failed: dpkg-deb fails."""
    for path in sorted(tree.rglob("*"), reverse=True):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.name in PROGRAMS else 0o644)
        os.utime(path, (epoch, epoch), follow_symlinks=False)
    tree.chmod(0o755)
    os.utime(tree, (epoch, epoch))
    # The modules are compressed; so the version of the host's compressor plays no part.
    argv = ["dpkg-deb", "--build", "--root-owner-group", "--uniform-compression", "-Znone", str(tree), str(target)]
    checked(run, ["env", f"SOURCE_DATE_EPOCH={epoch}", *argv], f"{target.name} was not made")


def _add_daemon(root: Path, tree: Path) -> None:
    for source, target in (
        (DAEMON, DAEMON),
        (Path(COPYRIGHT.format("ksmbd-tools")), Path(COPYRIGHT.format(NAME))),
    ):
        (tree / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / source, tree / target)
    (tree / "usr/sbin").mkdir(parents=True)
    for name in NAMES:
        (tree / "usr/sbin" / name).symlink_to(f"../{DAEMON.relative_to('usr')}")


def _describe(tree: Path, packages: Packages, depends: str) -> None:
    files = [path for path in tree.rglob("*") if path.is_file() and not path.is_symlink()]
    size = sum((path.stat().st_size + 1023) // 1024 for path in files)
    control = tree / "DEBIAN"
    control.mkdir()
    fields = {
        "name": NAME,
        "kernel": packages.version,
        "version": version_for(packages.version),
        "size": size,
        "abi": packages.abi,
        "samba": preload.SAMBA,
        "depends": depends,
        "daemon": packages.daemon[1],
    }
    (control / "control").write_text(CONTROL.format(**fields))
    (control / "postinst").write_text(POSTINST.format(abi=packages.abi))
