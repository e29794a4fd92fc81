# SPDX-License-Identifier: Apache-2.0
"""Lines that two who know a token exchange: part of the program that runs on clients, Python 3.8 and nothing else.

Each side sends a number used once; the key of the connection is made of the token and both. Every line carries a code
over its sender, its number and its text (HMAC-SHA-256, RFC 2104): nobody on the way can speak, change, drop or repeat
one. The token itself is never sent.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets

SERVER, CLIENT = b"server", b"client"
GROUPS = 5
"""A token is so many groups of four characters: 100 bits, out of reach of an attacker who recorded a connection."""
_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
_TOKEN = re.compile(f"[{_ALPHABET}]{{{4 * GROUPS}}}")
_NONCE = re.compile("[0-9a-f]{32}")


class Unsealed(Exception):
    """A line from a sender that does not know the token."""


def new_token() -> str:
    """Five groups of four, without characters that look alike."""
    return "-".join("".join(secrets.choice(_ALPHABET) for _ in range(4)) for _ in range(GROUPS))


def plain_token(typed: str) -> str:
    """Return a token without its hyphens and blanks. ValueError: it cannot be one."""
    found = re.sub(r"[-\s]", "", typed).lower()
    if not _TOKEN.fullmatch(found):
        raise ValueError("a token has 5 groups of 4 letters and digits; `--listen` shows it on the client")
    return found


def new_nonce() -> str:
    """Return a number used once: 32 hexadecimal digits."""
    return secrets.token_hex(16)


class Seal:
    """One direction of one connection: `sender` is SERVER or CLIENT."""

    def __init__(self, token: str, server: str, client: str, sender: bytes) -> None:
        """The numbers used once of both sides; ValueError where one is none."""
        if not (_NONCE.fullmatch(server) and _NONCE.fullmatch(client)):
            raise ValueError("a number used once is 32 hexadecimal digits")
        nonces = f"millrace-bench {server} {client}".encode()
        self._key = hmac.new(plain_token(token).encode(), nonces, hashlib.sha256).digest()
        self._sender, self._number = sender, 0

    def close(self, text: bytes) -> bytes:
        """Return the next line, sealed, with its end."""
        return self._code(text) + b" " + text + b"\n"

    def open(self, line: bytes) -> bytes:
        """Return the text of the next line. Unsealed: its code is wrong."""
        code, _, text = line.rstrip(b"\n").partition(b" ")
        if not hmac.compare_digest(code, self._code(text)):
            raise Unsealed
        return text

    def _code(self, text: bytes) -> bytes:
        self._number += 1
        said = b"%s %d %s" % (self._sender, self._number, text)
        return hmac.new(self._key, said, hashlib.sha256).hexdigest().encode()
