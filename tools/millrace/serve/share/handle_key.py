# SPDX-License-Identifier: Apache-2.0
"""The key that signs NFS file handles, so that a handle opens what it was issued for and nothing else.

All shares are on one file system, and the kernel finds a file by the export and the inode number that a handle names: a
client that joins the inode of one share with the identity of another would be served under the other's options. With
`sign_fh` (exports(5)) the kernel adds a MAC over the whole handle, and refuses a handle with another MAC.
"""

import re
import secrets
import stat
from pathlib import Path

from millrace.system import paths
from millrace.system.files import write_text

# Where mkosi.extra/usr/lib/systemd/system/nfs-server.service.d/10-millrace.conf has nfsdctl read it.
NAME = "nfs-handles.key"
BYTES = 32

_WRITTEN = re.compile(rf"[0-9a-f]{{{2 * BYTES}}}\n")


def file() -> Path:
    """The key; it never changes, since clients keep handles for as long as they are mounted."""
    return paths.state_dir() / NAME


def ensure() -> bool:
    """Create the key where there is none; return whether it was created.

    nfsdctl hashes any file: the hash of an empty or torn one can be guessed, so such a file counts as none.
    """
    path = file()
    if path.exists():
        if _WRITTEN.fullmatch(path.read_text(errors="replace")):
            # A file that was restored may have come with another mode; a boot drive may be read-only.
            if stat.S_IMODE(path.stat().st_mode) != 0o600:
                path.chmod(0o600)
            return False
        path.unlink()
    return write_text(path, f"{secrets.token_hex(BYTES)}\n", mode=0o600)
