# SPDX-License-Identifier: Apache-2.0
"""Download one file to standard output; verification is left to the caller."""

import signal
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from millrace.lifecycle.update import layout
from millrace.lifecycle.update.model import Fetch
from millrace.system.errors import BadInput, Failed

BLOCK = 1 << 20
SECONDS = 60.0
"""So long a server may say nothing."""
SMALL_SECONDS = 60.0
"""So long a small file may take in all; the lock of updates is held meanwhile."""

REDIRECTS = {301, 302, 303, 307, 308}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Files come from the server that the owner named, and from no other."""

    def redirect_request(self, *args: Any, **more: Any) -> None:
        """Follow nothing: the answer is an error then."""


def checked_url(url: str) -> str:
    """Return a URL of updates. BadInput: it is none of a web server's directory."""
    try:
        parts = urlsplit(url)
        # reading the port checks it
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not url.isprintable() or " " in url or parts.query or parts.fragment:
        raise BadInput("the source is the URL of a directory on a web server, such as https://files.example/millrace/")
    if parts.username or parts.password:
        raise BadInput("the source has no user name or password: let the web server allow the address of this server")
    return url


def fetch(wanted: Fetch, to: BinaryIO) -> None:
    """Write the file to `to`. Failed: it cannot be downloaded, or is larger than wanted."""
    where = urlsplit(wanted.url).hostname
    done = 0
    try:
        # The scheme was checked where the URL was set (checked_url).
        with (
            _at_most(SMALL_SECONDS if wanted.limit <= layout.SMALL else 0),
            urllib.request.build_opener(_NoRedirect).open(checked_url(wanted.url), timeout=SECONDS) as answer,
        ):
            while block := answer.read(BLOCK):
                done += len(block)
                if done > wanted.limit:
                    raise Failed(f"{wanted.url} has more than the {wanted.limit} bytes that it may have")
                to.write(block)
    except HTTPError as error:
        if error.code in REDIRECTS:
            said = error.headers.get("Location", "nowhere")[:256]
            raise Failed(
                f"{wanted.url} redirects to {said}; set the URL that has the files: millrace update source"
            ) from error
        raise Failed(f"{where} does not have {wanted.url}: {error.code} {error.reason}") from error
    except (URLError, OSError) as error:
        reason = getattr(error, "reason", None) or error
        raise Failed(f"{wanted.url} cannot be downloaded: {reason}; check the network and the source") from error
    to.flush()


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the block after so many seconds, also between the bytes of a header; 0 is no limit."""

    def ended(number: int, frame: object) -> None:
        raise TimeoutError(f"it took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ended)
    # again and again: a connection that ends so is tried at the next address of the server
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
