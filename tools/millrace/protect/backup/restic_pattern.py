# SPDX-License-Identifier: Apache-2.0
"""Names of files as patterns in a file for restic's --include-file and --exclude-file."""

import os
from collections.abc import Iterable, Sequence

# Go's path.Match has * ? [ ] \ , restic expands $ , trims lines, and has # and ! at their begin
_SPECIAL = frozenset("*?[]\\$#!")


def pattern(names: Sequence[str], top: str = "") -> str:
    """Return a pattern of one file by its names below `top`. It may match others with names that differ in a few signs.

    What has a meaning in a pattern, or ends a line, becomes `?`, which is any sign but a slash.
    """
    return top + "/" + "/".join(_part(name) for name in names)


def lines(paths: Iterable[Sequence[str]], top: str = "") -> bytes:
    """Return the content of a file of patterns."""
    return "".join(f"{pattern(names, top)}\n" for names in paths).encode()


def _part(name: str) -> str:
    # bytes that are no UTF-8 are one sign each, as for Go
    text = os.fsencode(name).decode(errors="surrogateescape")
    return "".join(
        "?" if sign in _SPECIAL or sign.isspace() or not sign.isprintable() or "\udc80" <= sign <= "\udcff" else sign
        for sign in text
    )
