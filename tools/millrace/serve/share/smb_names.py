# SPDX-License-Identifier: Apache-2.0
"""Names of files on both protocols: how SMB clients see what Windows does not allow, and what they cannot see or open.

The mapping is that of Services for Macintosh, which macOS and the cifs client of Linux (`mapposix`, its default) use:
they show `:` where Windows shows one character of the private area.
"""

import re
from collections.abc import Mapping
from typing import Final, Literal

# '"', '*', ':', '<', '>', '?', '\\', '|', in the order of the private area from U+F020 on
_FORBIDDEN: Final = '"*:<>?\\|'
# Without NUL, which no name has.
_CONTROL: Final = range(0x01, 0x20)
_PRIVATE: Final = 0xF000

MAPPED: Final = {
    **{chr(code): chr(_PRIVATE + code) for code in _CONTROL},
    **{char: chr(_PRIVATE + 0x20 + number) for number, char in enumerate(_FORBIDDEN)},
}
"""What SMB clients see in place of a character of a name."""

MAPPINGS: Final = ",".join(f"0x{ord(ours):02x}:0x{ord(theirs):04x}" for ours, theirs in MAPPED.items())
"""The same for vfs_catia(8)."""

# Names of devices of MS-DOS, which Windows keeps with any suffix.
_DEVICE: Final = re.compile(r"(?:con|prn|aux|nul|com[1-9¹²³]|lpt[1-9¹²³])(?:\.|$)", re.IGNORECASE)
_STANDS_FOR: Final = frozenset(MAPPED.values())

Trouble = Literal["encoding", "private", "windows", "case"]
"""Why a name is not the same for SMB clients: its bytes are no UTF-8; it has characters that stand for others; Windows
cannot have it; another one in the directory differs only in the case of its letters."""

WORDS: Final[Mapping[Trouble, tuple[str, str]]] = {
    "encoding": ("names that are not UTF-8 are not visible over SMB", "rename them on the server or over NFS"),
    "private": (
        "names with a character from U+F001 to U+F027, which stands for another one over SMB, are not visible there",
        "rename them on the server or over NFS",
    ),
    "windows": (
        "names that end with a dot or a blank, or are those of a device, cannot be opened by Windows as they are",
        "rename them for Windows clients",
    ),
    "case": (
        "names differ only in the case of letters from another one beside them, and Windows opens one of the two",
        "rename them for Windows clients",
    ),
}
"""The fact and the remedy."""


def trouble(name: bytes) -> Trouble | None:
    """Return why SMB clients cannot use a name as it is; None where they can."""
    try:
        text = name.decode()
    except UnicodeDecodeError:
        return "encoding"
    if not _STANDS_FOR.isdisjoint(text):
        return "private"
    if text.endswith((".", " ")) or _DEVICE.match(text):
        return "windows"
    return None
