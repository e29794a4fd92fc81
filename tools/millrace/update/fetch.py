# SPDX-License-Identifier: Apache-2.0
"""Download one file to standard output; what it is worth is for others to find out."""

import urllib.request
from typing import Any, BinaryIO
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from millrace.errors import BadInput, Failed
from millrace.update.model import Fetch

BLOCK = 1 << 20
SECONDS = 60.0
"""So long a server may say nothing."""

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
        with urllib.request.build_opener(_NoRedirect).open(checked_url(wanted.url), timeout=SECONDS) as answer:
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
