# SPDX-License-Identifier: Apache-2.0
"""The files of a release: their names and how large they may be. The build writes them, a server reads them."""

import re
from pathlib import PurePath
from uuid import UUID

from millrace.lifecycle.update.model import Kind

IMAGE = "millrace"
SUMS, SIGNATURE, RELEASE, NEWS = "SHA256SUMS", "SHA256SUMS.gpg", "release.json", "NEWS.md"

SMALL = 1 << 20
"""Bytes of the files that are read before it is known what a release consists of."""

LARGEST: dict[Kind, int] = {"usr": 2 << 30, "usr-verity": 32 << 20, "kernel": 256 << 20, "news": SMALL}
"""Bytes of each kind of file: those of the slots, which no compressed file exceeds, and a quarter of the ESP."""

_SUM = re.compile(r"([0-9a-f]{64}) [ *]([A-Za-z0-9._-]{1,128})")


def file_name(kind: Kind, version: str, roothash: str) -> str:
    """Return the name of a file as `sysupdate.d` matches it.

    A slot takes its UUID from the name: repart(8) makes those of /usr and of its verity tree from the root hash, and
    the initrd finds both by it.
    """
    if kind == "usr":
        return f"{IMAGE}_{version}_{UUID(hex=roothash[:32])}.usr.raw.zst"
    if kind == "usr-verity":
        return f"{IMAGE}_{version}_{UUID(hex=roothash[-32:])}.usr-verity.raw.zst"
    return NEWS if kind == "news" else f"{IMAGE}_{version}.efi"


def is_file_name(kind: Kind, version: str, name: str) -> bool:
    """Whether a file of this kind may have this name."""
    roothash = re.search(r"_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.", name)
    known = roothash[1].replace("-", "") if roothash else "0" * 32
    return name == file_name(kind, version, known * 2) and name == PurePath(name).name


def parsed_sums(text: str) -> dict[str, str] | None:
    """Return the sha256 of each file in a SHA256SUMS; None where a line is not one of sha256sum(1)."""
    found = [_SUM.fullmatch(line) for line in text.splitlines()]
    return None if None in found else {one[2]: one[1] for one in found if one is not None}
