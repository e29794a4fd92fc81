# SPDX-License-Identifier: Apache-2.0
"""LOCALIO: NFS clients on the server itself go around nfsd, straight to the file system.

Only the rebuilt modules have it, not those of `tools/build --stock-modules`. It is switched for all clients at once,
and a client looks for it when it mounts (kernel 7.2, fs/nfs/localio.c). Data does not pass nfsd then: a rung that
measures nfsd must be without it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millrace.inventory import features
from millrace.system import nfsd, paths, sysfs
from millrace.system.errors import Failed
from millrace.system.files import write_text
from millrace.system.wait import wait_until

ON, OFF = "Y", "N"
# The client asks the server in the background after it mounted.
PAUSES = (0.2,) * 50


def needs_client() -> bool:
    """Whether the kernel has it, and has not loaded its NFS client yet: before that there is nothing to switch."""
    loaded = (paths.ROOT / "sys/module/nfs").is_dir()
    return not loaded and features.has_localio(features.file_modules(paths.ROOT))


@contextmanager
def switched(on: bool) -> Iterator[None]:
    """Have it on or off for new mounts while the context lasts; nothing happens where the kernel lacks it.

    What it was before is recorded, for `restore` after a run that was killed.
    """
    before = sysfs.text(_switch())
    wanted = ON if on else OFF
    if before is None or before == wanted:
        yield
        return
    write_text(_record(), before + "\n")
    sysfs.write(_switch(), f"{wanted}\n")
    try:
        yield
    finally:
        restore()


def restore() -> bool:
    """Switch it back to what it was before a run; return whether a run had left it switched."""
    before = sysfs.text(_record())
    if before is None:
        return False
    sysfs.write(_switch(), f"{before}\n")
    _record().unlink()
    return True


def verify() -> None:
    """Verify that a mount uses it. Failed: none does, and what is measured would be nfsd."""
    if not wait_until(nfsd.gone_around, bool, PAUSES):
        raise Failed("the NFS client does not use LOCALIO: journalctl -k | grep -i nfs")


def _switch() -> Path:
    return paths.ROOT / "sys/module/nfs/parameters/localio_enabled"


def _record() -> Path:
    return paths.run_dir() / "bench/localio"
