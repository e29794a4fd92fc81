# SPDX-License-Identifier: Apache-2.0
"""What the running kernel can do."""

import re
from collections.abc import Iterable
from pathlib import Path

from millrace.inventory.model import KernelModule
from millrace.system import sysfs

# What a pool may be made of and how it is served.
MODULES = ("raid0", "raid1", "raid456", "xfs", "nfsd", "rpcrdma")
# Clients and servers of NFS and SMB, by the directory of the kernel's source, sunrpc, nvmet, and parity RAID. Rebuilt
# ones are below updates/millrace instead of kernel; depmod lists only the one that is loaded.
FILE_MODULES = re.compile(
    r"(kernel|updates/millrace)/"
    r"(?:fs/(?:nfs|nfs_common|nfsd|smb)/|net/sunrpc/sunrpc\.|drivers/(?:md/raid456|nvme/target/nvmet)\.)"
)


def module_lists(sysroot: Path) -> list[Path]:
    """Return the files that name the modules of the running kernel, those that are built in and those that are not."""
    release = sysfs.text(sysroot / "proc/sys/kernel/osrelease") or "unknown"
    return [sysroot / "usr/lib/modules" / release / name for name in ("modules.dep", "modules.builtin")]


def kernel_features(sysroot: Path) -> dict[str, bool]:
    """Return for each module whether it exists or runs already; empty where the lists cannot be read."""
    texts = [sysfs.text(path) for path in module_lists(sysroot)]
    loaded = (sysroot / "sys/module").exists()
    if not any(texts):
        return {name: True for name in MODULES if loaded and (sysroot / "sys/module" / name).is_dir()}
    present = {module_name(line) for text in texts for line in (text or "").splitlines()}
    return {name: name in present for name in MODULES}


def file_modules(sysroot: Path) -> list[KernelModule]:
    """Return modules of files, volumes and parity RAID and which build is loaded; empty where there is no list."""
    lines = (sysfs.text(module_lists(sysroot)[0]) or "").splitlines()
    found = [(module_name(line), match[1]) for line in lines if (match := FILE_MODULES.match(line))]
    return [
        KernelModule(name=name, build="debian" if place == "kernel" else "millrace") for name, place in sorted(found)
    ]


def has_localio(modules: Iterable[KernelModule]) -> bool:
    """Whether a kernel with these modules of NFS has LOCALIO: clients on the server itself go around nfsd."""
    return any(module.name == "nfs_localio" for module in modules)


def is_listed(line: str) -> bool:
    """Whether a line of a list of modules is of one that the inventory has."""
    return module_name(line) in MODULES or FILE_MODULES.match(line) is not None


def module_name(line: str) -> str:
    """Return `kernel/drivers/md/raid456.ko.xz: …` as raid456."""
    return re.sub(r"\.ko.*", "", line.partition(":")[0].rpartition("/")[2]).replace("-", "_")


def lockdown(sysroot: Path) -> str | None:
    """Return the lockdown mode: none, integrity or confidentiality; None where the kernel has none or hides it."""
    modes = sysfs.text(sysroot / "sys/kernel/security/lockdown") or ""
    chosen = re.search(r"\[(\w+)\]", modes)
    return chosen[1] if chosen else None
