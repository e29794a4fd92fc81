# SPDX-License-Identifier: Apache-2.0
"""One file is downloaded from a web server; what it sends is bounded."""

import io
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path

import pytest

from millrace.lifecycle.update import fetch as fetch_module
from millrace.lifecycle.update import layout
from millrace.lifecycle.update.fetch import checked_url, fetch
from millrace.lifecycle.update.model import Fetch
from millrace.system.errors import BadInput, Failed

DRIPS = 10
NEVER = threading.Event()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def drip(self) -> None:
        """Send a byte now and then, for half a second in all."""
        self.send_response(200)
        self.send_header("Content-Length", str(DRIPS))
        self.end_headers()
        for _ in range(DRIPS):
            NEVER.wait(0.05)
            self.wfile.write(b"x")

    def do_GET(self) -> None:
        """Redirect what is said to be elsewhere."""
        if self.path == "/elsewhere":
            self.send_response(302)
            self.send_header("Location", "/SHA256SUMS")
            self.end_headers()
            return
        if self.path == "/drips":
            with suppress(BrokenPipeError, ConnectionResetError):
                self.drip()
            return
        super().do_GET()


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "SHA256SUMS").write_bytes(b"x" * 5000)
    with HTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_file_is_written_as_it_is(url: str) -> None:
    out = io.BytesIO()
    fetch(Fetch(url=f"{url}/SHA256SUMS", limit=5000), out)
    assert out.getvalue() == b"x" * 5000


def test_larger_file_is_not_taken(url: str) -> None:
    with pytest.raises(Failed, match="more than the 4999 bytes"):
        fetch(Fetch(url=f"{url}/SHA256SUMS", limit=4999), io.BytesIO())


def test_redirect_is_not_followed(url: str) -> None:
    out = io.BytesIO()
    with pytest.raises(Failed, match="redirects to /SHA256SUMS; set the URL that has the files"):
        fetch(Fetch(url=f"{url}/elsewhere", limit=5000), out)
    assert out.getvalue() == b""


def test_server_that_drips_a_small_file_is_left(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_module, "SMALL_SECONDS", 0.15)
    with pytest.raises(Failed, match=r"/drips cannot be downloaded: it took longer than 0\.15 s; check the network"):
        fetch(Fetch(url=f"{url}/drips", limit=layout.SMALL), io.BytesIO())
    out = io.BytesIO()
    # half of /usr takes as long as it takes
    fetch(Fetch(url=f"{url}/drips", limit=layout.SMALL + 1), out)
    assert out.getvalue() == b"x" * DRIPS


def test_missing_file_and_missing_server_are_named(url: str) -> None:
    with pytest.raises(Failed, match="404"):
        fetch(Fetch(url=f"{url}/nothing", limit=10), io.BytesIO())
    with pytest.raises(Failed, match="check the network and the source"):
        fetch(Fetch(url="http://127.0.0.1:1/nothing", limit=10), io.BytesIO())


@pytest.mark.parametrize(
    "wrong", ["file:///etc", "files.example", "http://", "http://a b/", "https://a/?x", "http://a:99999/", "ftp://a/"]
)
def test_source_is_a_directory_of_a_web_server(wrong: str) -> None:
    with pytest.raises(BadInput, match="directory on a web server"):
        checked_url(wrong)


def test_source_has_no_password() -> None:
    with pytest.raises(BadInput, match="no user name or password"):
        checked_url("https://me:secret@files.example/millrace/")
    assert checked_url("https://files.example/millrace/") == "https://files.example/millrace/"
