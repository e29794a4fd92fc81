# SPDX-License-Identifier: Apache-2.0
"""Options of the command line as models."""

import re
from typing import get_args

from millrace.serve.config.choices import Access, Security, Squash, Transport
from millrace.serve.config.protocols import NfsClient
from millrace.system.documents import checked
from millrace.system.errors import BadInput
from millrace.system.rule import Check, Rule
from millrace.system.text import shown

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50}
_LISTS = {"sec": Security, "xprtsec": Transport}
_WORDS = {"access": Access, "squash": Squash}
_NUMBERS = ("anonuid", "anongid")
_NUMBER = re.compile("[0-9]{1,10}")

SIZE = Rule(
    Check(r"none|[0-9]{1,15}[KMGTPkmgtp]?(?:[iI]?[bB])?", "$0 is not a size: write it like 500G or 10T, or none")
)


def size(text: str) -> int | None:
    """Parse bytes from `500G` or `10T` (powers of 1024); None for `none`. BadInput: it is no size."""
    if text == "none":
        return None
    problem = SIZE.problem(text)
    if problem is not None:
        raise BadInput(problem)
    match = re.match("([0-9]+)([KMGTP]?)", text, re.IGNORECASE)
    assert match
    return int(match[1]) * _UNITS[match[2].upper()]


def size_text(size: int) -> str:
    """Return bytes as `size` parses them, exactly: `500G`, or without a unit where they are no whole KiB."""
    units = list(_UNITS)
    power = 0
    while size and size % 1024 == 0 and power < len(units) - 1:
        size, power = size // 1024, power + 1
    return f"{size}{units[power]}"


def nfs_client(text: str) -> NfsClient:
    """Parse a client from `10.0.0.0/24 access=ro squash=all sec=krb5:krb5p xprtsec=tls`.

    BadInput: an option is unknown.
    """
    client, *words = text.split(" ") if text else [""]
    values: dict[str, object] = {"client": client}
    for word in filter(None, words):
        key, _, value = word.partition("=")
        if key in values or key not in (*_LISTS, *_WORDS, *_NUMBERS) or not value:
            raise BadInput(
                f"{shown(word)} is not an option of an NFS client: use {', '.join(_option_help())}, each once"
            )
        if key in _NUMBERS and not _NUMBER.fullmatch(value):
            raise BadInput(f"{shown(word)} is not the number of a user or group: write it like {key}=2000")
        values[key] = value.split(":") if key in _LISTS else int(value) if key in _NUMBERS else value
    return checked(lambda: NfsClient.model_validate(values))


def _option_help() -> list[str]:
    one = [f"{key}={'|'.join(get_args(kind))}" for key, kind in _WORDS.items()]
    one += [f"{key}=NUMBER" for key in _NUMBERS]
    return one + [f"{key}={':'.join(get_args(kind))}" for key, kind in _LISTS.items()]
