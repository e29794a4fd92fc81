# SPDX-License-Identifier: Apache-2.0
"""A cpio archive in the "newc" format, which the kernel unpacks as an initrd (kernel: initramfs-buffer-format)."""

from collections.abc import Mapping

MAGIC = "070701"
DIRECTORY, FILE = 0o040755, 0o100755
TRAILER = "TRAILER!!!"


def archive(files: Mapping[str, bytes]) -> bytes:
    """Return an archive of executable `files` by path; the same files give the same bytes."""
    entries: dict[str, bytes | None] = {}
    for path, content in sorted(files.items()):
        parts = path.split("/")
        for depth in range(1, len(parts)):
            entries["/".join(parts[:depth])] = None
        entries[path] = content
    packed = [_entry(number, path, content) for number, (path, content) in enumerate(entries.items(), 1)]
    return b"".join([*packed, _entry(0, TRAILER, b"")])


def _entry(inode: int, path: str, content: bytes | None) -> bytes:
    mode = DIRECTORY if content is None else FILE if inode else 0
    data = content or b""
    # ino, mode, uid, gid, nlink, mtime, size, device and special device in two halves each, name size, checksum
    fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path) + 1, 0)
    header = MAGIC + "".join(f"{field:08x}" for field in fields)
    return _padded(header.encode() + path.encode() + b"\0") + _padded(data)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
