# SPDX-License-Identifier: Apache-2.0
"""What a person types on the command line, as models."""

import re

from millrace.errors import BadInput
from millrace.state.model import NfsClient
from millrace.system.documents import checked
from millrace.system.names import shown

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50}
_LISTS = ("sec", "xprtsec")
_WORDS = ("access", "squash")


def size(text: str) -> int | None:
    """Bytes from `500G` or `10T` (powers of 1024); None for `none`."""
    if text == "none":
        return None
    match = re.fullmatch(r"(\d{1,15})([KMGTP]?)(?:i?B)?", text, re.IGNORECASE | re.ASCII)
    if not match:
        raise BadInput(f"{shown(text)} is not a size: write it like 500G or 10T, or none")
    return int(match[1]) * _UNITS[match[2].upper()]


def nfs_client(text: str) -> NfsClient:
    """A client from `10.0.0.0/24 access=ro squash=all sec=krb5:krb5p xprtsec=tls`."""
    client, *words = text.split(" ") if text else [""]
    values: dict[str, object] = {"client": client}
    for word in filter(None, words):
        key, _, value = word.partition("=")
        if key in values or key not in (*_LISTS, *_WORDS) or not value:
            raise BadInput(
                f"{shown(word)} is not an option of an NFS client: use access=ro|rw, squash=root|all|none, "
                "sec=sys:krb5:krb5i:krb5p or xprtsec=none:tls:mtls, each once"
            )
        values[key] = value.split(":") if key in _LISTS else value
    return checked(lambda: NfsClient.model_validate(values))
