# SPDX-License-Identifier: Apache-2.0
"""A message as a POST of JSON. A redirect is not followed: the message is for the named host only."""

import http.client
from urllib.parse import urlsplit

from millrace.observe.alert import authority, text
from millrace.observe.alert.model import AlertMessage
from millrace.system.errors import BadInput, Failed

# For each answer of the receiver.
SECONDS = 15.0
_REDIRECTS = range(300, 400)


def send(url: str, message: AlertMessage, host: str, ca: str | None = None) -> None:
    """Deliver a message; `ca` is as in the route. Failed: the receiver refuses it. OSError: there is no reply."""
    parts = urlsplit(url)
    body = text.payload(message, host).model_dump_json().encode()
    headers = {"Content-Type": "application/json", "User-Agent": "millrace"}
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    server = _server(parts.scheme, parts.hostname or "", parts.port, ca)
    try:
        server.request("POST", path, body, headers)
        status = server.getresponse().status
    except http.client.HTTPException as error:
        raise Failed(f"{parts.hostname}: the reply is not HTTP ({type(error).__name__})") from error
    finally:
        server.close()
    if status in _REDIRECTS:
        raise Failed(f"{parts.hostname} redirects (status {status}): give the route the URL that it redirects to")
    if not 200 <= status < 300:
        raise Failed(f"{parts.hostname} replied with status {status}")


def host_of(url: str) -> str:
    """Return `https://chat.example.com`, without the secret part. BadInput: it is no URL of a webhook."""
    example = "a webhook is a URL such as https://chat.example.com/hooks/…"
    if (
        len(url) > 2000
        or not url.isascii()
        or any(not character.isprintable() or character == " " for character in url)
    ):
        raise BadInput(example)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise BadInput(example) from error
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or parts.fragment:
        raise BadInput(example)
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{name}" + (f":{port}" if port else "")


def _server(scheme: str, host: str, port: int | None, ca: str | None) -> http.client.HTTPConnection:
    if scheme == "https":
        return http.client.HTTPSConnection(host, port, timeout=SECONDS, context=authority.context(ca))
    return http.client.HTTPConnection(host, port, timeout=SECONDS)
