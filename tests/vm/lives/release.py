# SPDX-License-Identifier: Apache-2.0
"""A release of the next version and one of this version, on a web server of the host."""

import base64
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from host import keys, layout, stage
from host import release as releases
from host.layout import REPO

OLD, NEW = "0.1.0", "0.1.1"
TOOLS = layout.caches().stages / "image" / "mkosi.tools"
LEFT_OUT = ("mkosi.output", ".git", "node_modules", "site", "out", "__pycache__")
# The host, as QEMU's own network has it.
HOST = "10.0.2.2"
# where a server looks for the key of its owner's releases
KEYS = "/etc/millrace/update-keys.pgp"
CHANGED, MINE, GONE = "etc/inputrc", "etc/networks", "etc/issue.net"
MASKED = "e2scrub_reap.service"
LISTED = "ls $(bootctl --print-boot-path)/EFI/Linux"


@dataclass(frozen=True)
class Made:
    """A release of the next version, one of this version, and the public key for their signatures, in base64."""

    directory: Path
    older: Path
    archive: Path
    public: str


@pytest.fixture(scope="session")
def release(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """This tree with another version, built and released; the image that is there is the older one."""
    work = tmp_path_factory.mktemp("release")
    owner = keys.make(work / "keys", datetime.now(UTC))
    tree = work / "tree"
    shutil.copytree(REPO, tree, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
    (tree / "mkosi.version").write_text(f"{NEW}\n")
    news = tree / "NEWS.md"
    news.write_text(news.read_text().replace("\n## ", f"\n## {NEW}\n\n- A test of updates.\n\n## ", 1))
    # what is changed in /etc, new in it, changed here as well, and gone
    for name in (CHANGED, MINE):
        (tree / "mkosi.extra" / name).write_text(f"# of {NEW}\n")
    (tree / "mkosi.extra/etc/systemd/system" / MASKED).symlink_to("/dev/null")
    with (tree / "mkosi.conf").open("a") as file:
        file.write(f"        /{GONE}\n")
    subprocess.run([tree / "tools/build", "--release", owner.directory, work / "www"], check=True, cwd=tree)
    shutil.rmtree(tree)
    releases.write(layout.OUTPUT, owner, TOOLS, OLD, REPO / "NEWS.md", work / "older", stage.epoch(REPO))
    public = base64.b64encode((owner.directory / keys.UPDATE_PUBLIC).read_bytes()).decode()
    return Made(work / "www", work / "older", work / f"www/millrace_{NEW}.tar", public)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def served(directory: Path, handler: type[Quiet] = Quiet) -> Iterator[str]:
    """The URL of a directory, as the server reaches it."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(directory))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://{HOST}:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()
