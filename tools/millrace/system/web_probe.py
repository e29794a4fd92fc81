# SPDX-License-Identifier: Apache-2.0
"""Probe the web console as a browser does, with a deadline: TLS, and the page on which a user signs in."""

import socket
import time
from dataclasses import dataclass

PORT = 9090
SECONDS = 30.0
"""systemd starts the console for the first connection, and it ends after a minute and a half without one."""
LONGEST = 1 << 20
_REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
_LAST_CHUNK = b"\r\n0\r\n\r\n"
# of the element of the page that asks for name and password
_LOGIN = b'"login'


@dataclass(frozen=True)
class WebReply:
    """What happened, in words, or None where the page came; `certificate` is what was shown, in DER."""

    problem: str | None
    certificate: bytes = b""


def web(address: str, port: int = PORT, seconds: float = SECONDS) -> WebReply:
    """Fetch the page on which a user signs in, within so many seconds; the certificate is not verified."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    end = time.monotonic() + seconds
    try:
        with socket.create_connection((address, port), seconds) as plain:
            plain.settimeout(_left(end))
            with context.wrap_socket(plain) as connection:
                certificate = connection.getpeercert(binary_form=True) or b""
                connection.sendall(_REQUEST)
                return WebReply(_problem(_page(connection, end)), certificate)
    except ssl.SSLError as error:
        return WebReply(f"the TLS handshake fails ({error.reason or error})")
    except TimeoutError:
        return WebReply(f"no reply within {seconds:.0f} s")
    except OSError as error:
        return WebReply(error.strerror or str(error))


def _left(end: float) -> float:
    """Return the seconds until the deadline. TimeoutError: it has passed."""
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _page(connection: socket.socket, end: float) -> bytes:
    """Return the reply to its end: who leaves earlier leaves errors in the journal of the other side."""
    page = b""
    while len(page) < LONGEST and not page.endswith(_LAST_CHUNK):
        connection.settimeout(_left(end))
        more = connection.recv(1 << 16)
        if not more:
            break
        page += more
    return page


def _problem(page: bytes) -> str | None:
    if not page:
        return "it closes the connection"
    status = page.partition(b"\r\n")[0].split()
    if len(status) < 2 or not status[0].startswith(b"HTTP/1.") or status[1] != b"200":
        return f"it replies {page.partition(bytes((13, 10)))[0][:60].decode(errors='backslashreplace')!r}"
    return None if _LOGIN in page else "its page has no form to sign in"
