# SPDX-License-Identifier: Apache-2.0
"""The web console of the image from a directory, in namespaces of its own: the kernel is the host's."""

import subprocess
import time
from pathlib import Path

PORT = 9090
# Mount, host name, PID and network namespaces; everything in them ends with the first process.
NAMESPACES = ("unshare", "--mount", "--uts", "--pid", "--net", "--fork", "--kill-child")


def root(tree: str, scratch: Path) -> Path:
    """The tree with a layer above it that takes the changes; to be called in `NAMESPACES`."""
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", scratch], check=True)
    upper, work, merged = (scratch / name for name in ("upper", "work", "root"))
    for directory in (upper, work, merged):
        directory.mkdir()
    options = f"lowerdir={tree},upperdir={upper},workdir={work}"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, merged], check=True)
    subprocess.run(["mount", "-t", "proc", "proc", merged / "proc"], check=True)
    subprocess.run(["mount", "--rbind", "/dev", merged / "dev"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", merged / "run"], check=True)
    (merged / "run/cockpit").mkdir()
    (merged / "var/lib/samba/private").mkdir(parents=True, exist_ok=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    return merged


def serve(root: Path) -> None:
    """What cockpit-session.socket and cockpit-wsinstance-http.service do; they end with the PID namespace."""
    session = ["--accept", "--inetd", "-l", "/run/cockpit/session", "/usr/lib/cockpit/cockpit-session"]
    start(root, "/usr/bin/systemd-socket-activate", *session)
    start(root, "/usr/lib/cockpit/cockpit-ws", "--no-tls", "-p", str(PORT), "-a", "127.0.0.1")
    listening = ["ss", "-Htln", f"sport = :{PORT}"]
    for _ in range(600):
        serves = subprocess.run(listening, capture_output=True, check=True).stdout
        if serves and (root / "run/cockpit/session").exists():
            return
        time.sleep(0.1)
    raise TimeoutError("the web console does not listen")


def start(root: Path, *argv: str) -> None:
    """Start a program of the image; what it complains of is heard."""
    subprocess.Popen(["chroot", root, *argv], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
