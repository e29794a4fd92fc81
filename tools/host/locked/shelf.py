# SPDX-License-Identifier: Apache-2.0
"""The files of a lock over HTTP on loopback: for apt, mkosi and npm, which all take a source by its address.

Two formats of registries are needed, a list of packages and a document for each package, and only reading. A registry
from elsewhere would be larger than these.
"""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

from host import apt
from host.locked.model import DEBS, Lock, Package

ADDRESS = "127.0.0.1"
PACKAGES = "/apt/Packages"

Control = Callable[[Path], str]


def control(deb: Path) -> str:
    """Return the control paragraph of a package."""
    return subprocess.run(["dpkg-deb", "--field", str(deb)], capture_output=True, text=True, check=True).stdout


def sources(uri: str) -> dict[Path, str]:
    """Return apt's configuration for a build from this shelf: no other source, no preference."""
    # The files were compared with the lock, and apt compares them with the list that is made of it.
    return {apt.SOURCES: f"Types: deb\nURIs: {uri}/apt/\nSuites: ./\nTrusted: yes\n"}


class Shelf:
    """What is served, by path."""

    def __init__(self, directory: Path, lock: Lock, read: Control = control) -> None:
        """`directory` has the files of `lock`, which were verified."""
        self._directory, self._lock, self._read = directory, lock, read
        self._served = {name.rpartition("/")[2]: directory / name for name in lock.files}
        self._npm: dict[str, list[Package]] = {}
        for package in lock.npm:
            self._npm.setdefault(package.name, []).append(package)

    def packages(self) -> str:
        """Return the list of Debian packages in apt's format."""
        paragraphs = []
        for deb in self._lock.debs:
            path = self._directory / deb.file
            fields = f"Filename: {deb.file.removeprefix(f'{DEBS}/')}\nSize: {path.stat().st_size}\nSHA256: {deb.sha256}"
            paragraphs.append(f"{self._read(path).strip()}\n{fields}\n")
        return "\n".join(paragraphs)

    def document(self, name: str, uri: str) -> str | None:
        """Return npm's document of a package, with each version that the lock has; None where it has none."""
        if name not in self._npm:
            return None
        versions = {
            package.version: {
                "name": name,
                "version": package.version,
                "dist": {"tarball": f"{uri}/{package.file}", "integrity": package.integrity},
            }
            for package in self._npm[name]
        }
        return json.dumps({"name": name, "dist-tags": {"latest": self._npm[name][-1].version}, "versions": versions})

    def file(self, path: str) -> Path | None:
        """Return the file for a path by its last part: mkosi's package is asked for at its place in the archive."""
        return self._served.get(path.rpartition("/")[2])


@contextmanager
def served(shelf: Shelf) -> Iterator[str]:
    """Serve a shelf while the context lasts; yields its address."""
    listing = shelf.packages().encode()

    class Handler(BaseHTTPRequestHandler):
        uri = ""

        def do_GET(self) -> None:
            path = unquote(urlsplit(self.path).path)
            if path == PACKAGES:
                self._answer(listing)
            elif (document := shelf.document(path.lstrip("/"), self.uri)) is not None:
                self._answer(document.encode(), "application/json")
            elif (file := shelf.file(path)) is not None:
                self._answer(file.read_bytes())
            else:
                self.send_error(404)

        def _answer(self, body: bytes, kind: str = "application/octet-stream") -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: apt and npm say what they could not get."""

    with ThreadingHTTPServer((ADDRESS, 0), Handler) as server:
        Handler.uri = f"http://{ADDRESS}:{server.server_port}"
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield Handler.uri
        finally:
            server.shutdown()
            thread.join()
