# SPDX-License-Identifier: Apache-2.0
"""The web console's certificate is the server's: Cockpit takes the last file of its directory by name."""

from pathlib import Path

from millrace.serve.certificate import files
from millrace.serve.render.reconcile import settle
from millrace.serve.render.registry import FileEntry, RenderedService
from millrace.system import paths
from millrace.system.run import attempt

DIRECTORY = "etc/cockpit/ws-certs.d"
NAME = "50-millrace"
# The answer of an upload in the web console has to get out before its connection is cut.
DELAY = "3s"
METRICS = "millrace-metrics.service"


def directory() -> Path:
    """The directory of the web console's certificates; it uses the last one by name."""
    return paths.ROOT / DIRECTORY


def service() -> RenderedService:
    """Return the web console and its links to the set in use. It reads both files as root at its start."""
    pairs = (("cert", files.CHAIN), ("key", files.KEY))
    return RenderedService("cockpit.service", [_link(suffix, name) for suffix, name in pairs])


def link() -> None:
    """Point the web console to the set in use."""
    settle([service()], force=True)


def _link(suffix: str, name: str) -> FileEntry:
    # Not through ROOT: the link is followed on the server.
    target = Path("/") / (files.current() / name).relative_to(paths.ROOT)
    # Not recorded: the unit that makes them may write in the record of certificates only.
    return FileEntry(f"{DIRECTORY}/{NAME}.{suffix}", lambda: str(target), recorded=False, link=True)


def in_the_way() -> list[str]:
    """Return certificates of others that Cockpit uses instead of ours."""
    if not directory().is_dir():
        return []
    found = sorted(path.name for path in directory().iterdir() if path.suffix in (".cert", ".crt"))
    return [name for name in found if name > f"{NAME}.cert"]


def restart() -> None:
    """Restart what shows the certificate, if it runs: the web console, where users sign in again, and the metrics."""
    later = ["systemd-run", "--quiet", "--collect", f"--on-active={DELAY}", "--timer-property=AccuracySec=1s"]
    attempt([*later, "systemctl", "try-restart", "cockpit.service", METRICS], timeout=20)
