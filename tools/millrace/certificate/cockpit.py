# SPDX-License-Identifier: Apache-2.0
"""The web console's certificate is the server's: Cockpit takes the last file of its directory by name."""

from pathlib import Path

from millrace import paths
from millrace.certificate import files
from millrace.system.run import attempt

NAME = "50-millrace"
# The answer of an upload in the web console has to get out before its connection is cut.
DELAY = "3s"


def directory() -> Path:
    """The directory of the web console's certificates; it uses the last one by name."""
    return paths.ROOT / "etc/cockpit/ws-certs.d"


def link() -> None:
    """Point the web console to the set in use. It reads both files as root at its start."""
    directory().mkdir(parents=True, exist_ok=True)
    for suffix, name in (("cert", files.CHAIN), ("key", files.KEY)):
        # Not through ROOT: the link is followed on the server.
        target = Path("/") / (files.current() / name).relative_to(paths.ROOT)
        path = directory() / f"{NAME}.{suffix}"
        if path.is_symlink() and path.readlink() == target:
            continue
        made = directory() / f".{NAME}.{suffix}"
        made.unlink(missing_ok=True)
        made.symlink_to(target)
        made.replace(path)


def in_the_way() -> list[str]:
    """Certificates of others that Cockpit takes instead of ours."""
    if not directory().is_dir():
        return []
    found = sorted(path.name for path in directory().iterdir() if path.suffix in (".cert", ".crt"))
    return [name for name in found if name > f"{NAME}.cert"]


def restart() -> None:
    """Make the web console take the new one, if it runs; who is signed in signs in again."""
    later = ["systemd-run", "--quiet", "--collect", f"--on-active={DELAY}", "--timer-property=AccuracySec=1s"]
    attempt([*later, "systemctl", "try-restart", "cockpit.service"], timeout=20)
