# SPDX-License-Identifier: Apache-2.0
"""`tools/build --cves` lists what the tracker knows of the image's packages, or says that nothing is known."""

import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from host import cves
from millrace.system.errors import Failed

STATUS = """\
Package: openssl
Status: install ok installed
Architecture: amd64
Version: 3.6.5-1

"""
# As debsecan 0.4.20 reads it: the flaws; package, flaw, source package of low urgency with a fix, fixed in; the binary
# packages of each source.
DATA = "VERSION 1\nCVE-2026-0001,,a planted flaw\n\nopenssl,0,SL F,3.6.6-1,\n\nopenssl,openssl\n\n"


@pytest.fixture
def tracker() -> Iterator[str]:
    """A tracker on a loopback address; its address."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert self.path == f"/{cves.SUITE}"
            body = zlib.compress(DATA.encode())
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def status(tmp_path: Path) -> Path:
    path = tmp_path / "dpkg.status"
    path.write_text(STATUS)
    return path


def test_an_open_vulnerability_is_listed(status: Path, tracker: str) -> None:
    assert "CVE-2026-0001 openssl" in cves.report(status, [f"--source={tracker}"])


def test_a_fixed_version_is_not_listed(status: Path, tracker: str) -> None:
    status.write_text(STATUS.replace("3.6.5-1", "3.6.6-1"))
    assert cves.report(status, [f"--source={tracker}"]) == ""


def test_a_tracker_out_of_reach_is_one_sentence(status: Path) -> None:
    with pytest.raises(Failed, match=r"^The vulnerabilities of this image are not known") as error:
        cves.report(status, ["--source=http://127.0.0.1:1/"])
    assert "\n" not in str(error.value)
