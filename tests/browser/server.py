# SPDX-License-Identifier: Apache-2.0
"""A server with twelve blank drives made of files, with the real console of the image before it.

`python -m tests.browser.server TREE SCRATCH [GOLDEN]` in the namespaces of tests.image.served; with GOLDEN the program
`millrace` replays those documents once the accounts are there. Says "ready" and serves until standard input ends.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.browser import replay
from tests.fakes.files.running import server
from tests.image import served

HOSTNAMED = "/usr/lib/systemd/systemd-hostnamed"
BUS = ("/usr/bin/dbus-daemon", "--system", "--nofork", "--nopidfile", "--nosyslog")


def main(tree: str, scratch: str, golden: str | None = None) -> None:
    """Serve until standard input ends."""
    root = served.root(tree, Path(scratch))
    subprocess.run(["hostname", "millrace"], check=True)
    _blank(root)
    for words in (["admin", "create"], ["certificate", "renew"]):
        subprocess.run(["chroot", root, "/usr/bin/millrace", *words], check=True, stdout=subprocess.DEVNULL)
    if golden:
        shutil.copytree(golden, root / "run/golden")
        shutil.copyfile(replay.__file__, root / "usr/bin/millrace")
    for name in ("run/dbus", "run/systemd"):
        (root / name).mkdir()
    (root / "etc/machine-id").write_text("0123456789abcdef" * 2 + "\n")
    # Cockpit's bridge gives up at the second page that asks for a bus which is not there; one stands in for both
    (root / "etc/environment").write_text("DBUS_SESSION_BUS_ADDRESS=unix:path=/run/dbus/system_bus_socket\n")
    served.start(root, *BUS)
    served.serve(root)
    served.start(root, HOSTNAMED)
    print("ready", flush=True)
    sys.stdin.read()


def _blank(root: Path) -> None:
    """What the kernel and the units of a boot leave behind on a server without an approved plan."""
    with tempfile.TemporaryDirectory() as directory:
        with server(Path(directory)):
            pass
        _rooted(Path(directory))
        for name in ("sys", "run/millrace", "etc/millrace"):
            shutil.copytree(Path(directory) / name, root / name, symlinks=True, dirs_exist_ok=True)


def _rooted(directory: Path) -> None:
    """Let absolute links in `directory` point into it once it is the root."""
    for path in directory.rglob("*"):
        if path.is_symlink() and (target := os.readlink(path)).startswith(f"{directory}/"):
            path.unlink()
            path.symlink_to(target.removeprefix(str(directory)))


if __name__ == "__main__":
    main(*sys.argv[1:])
