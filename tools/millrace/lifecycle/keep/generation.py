# SPDX-License-Identifier: Apache-2.0
"""One generation of the kept state as bytes: a compressed tar with a manifest; what cannot be verified is not read.

It is read from drives that may have been in any other server: only files that its manifest names, within limits, into
memory; nothing is unpacked.
"""

import gzip
import hashlib
import hmac
import io
import stat
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from millrace.lifecycle.keep import seal
from millrace.lifecycle.keep.gather import LARGEST, Content
from millrace.lifecycle.keep.model import KeyFile, Manifest, ManifestMember
from millrace.system.documents import parse_model
from millrace.system.errors import BadInput, LaterRelease, Refused

MANIFEST, DIGEST, AUTHENTICATION, BELOW = "manifest.json", "manifest.sha256", "manifest.hmac", "files/"
NOT_AUTHENTIC = (
    "the kept state was not written with this passphrase: it was changed, or an earlier release wrote "
    "it; adopt the pool with --without-secrets"
)
# All of it, and how many files: far above 50 changes of 1000 shares.
LARGEST_ALL, MOST = 4 * LARGEST, 10_000


@dataclass(frozen=True)
class Generation:
    """A generation that was read and verified; `stored` are its members by path, sealed ones as they are.

    `text` is the manifest as it was read, and `authentication` what its writer made of it with the key; None without a
    key, and in a state of an earlier release.
    """

    manifest: Manifest
    stored: dict[str, bytes]
    text: bytes = b""
    authentication: str | None = None

    def opened(self, key: KeyFile) -> dict[str, bytes]:
        """Return all members in the clear. Refused: the key is another, or the state is not of who has it."""
        opened = {
            file.path: seal.opened(bytes.fromhex(key.key), self.stored[file.path], file.path)
            if file.sealed
            else self.stored[file.path]
            for file in self.manifest.members
        }
        if not hmac.compare_digest(seal.authentication(key, self.text), self.authentication or ""):
            raise Refused(NOT_AUTHENTIC)
        return opened

    def readable(self) -> dict[str, bytes]:
        """Return the members that need no passphrase."""
        return {one.path: self.stored[one.path] for one in self.manifest.members if not one.sealed}


def member(content: Content, key: KeyFile | None) -> tuple[ManifestMember, bytes]:
    """Return a file as it is stored: sealed if it is a secret and there is a key."""
    is_secret = content.link is None and (content.kept.secret or not content.mode & stat.S_IROTH)
    sealed = is_secret and key is not None
    stored = seal.sealed(key, content.data, content.path) if sealed and key else content.data
    about = ManifestMember(
        path=content.path,
        mode=content.mode,
        secret=is_secret,
        sealed=sealed,
        size=len(stored),
        sha256=hashlib.sha256(stored).hexdigest(),
        link=content.link,
    )
    return about, stored


def pack(manifest: Manifest, stored: dict[str, bytes], key: KeyFile | None = None) -> bytes:
    """Return the bytes of a generation; with a key nobody else can change it, or make another."""
    text = manifest.model_dump_json(indent=2).encode()
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w", format=tarfile.PAX_FORMAT) as archive:
        _add(archive, MANIFEST, text)
        _add(archive, DIGEST, f"{hashlib.sha256(text).hexdigest()}\n".encode())
        if key is not None:
            _add(archive, AUTHENTICATION, f"{seal.authentication(key, text)}\n".encode())
        for path, data in sorted(stored.items()):
            _add(archive, f"{BELOW}{path}", data)
    return gzip.compress(whole.getvalue(), compresslevel=4, mtime=0)


def unpack(data: bytes) -> Generation:
    """Return the generation in these bytes. BadInput: it is torn, damaged or not one of ours.

    LaterRelease: it is as a later release wrote it, and this one cannot read it.
    """
    try:
        contents = _entries(data)
    except (tarfile.TarError, OSError, EOFError, zlib.error, ValueError) as error:
        raise BadInput("it is torn or damaged") from error
    text = contents.pop(MANIFEST, b"")
    if contents.pop(DIGEST, b"").decode(errors="replace").strip() != hashlib.sha256(text).hexdigest():
        raise BadInput("its manifest is damaged")
    authentication = contents.pop(AUTHENTICATION, b"").decode(errors="replace").strip() or None
    manifest = _manifest(text)
    stored = {name.removeprefix(BELOW): content for name, content in contents.items()}
    for file in manifest.members:
        content = stored.get(file.path)
        if content is None or len(content) != file.size or hashlib.sha256(content).hexdigest() != file.sha256:
            raise BadInput(f"{file.path} in it is damaged")
    if len(stored) != len(manifest.members):
        raise BadInput("it has files that its manifest does not name")
    return Generation(manifest, stored, text, authentication)


def _manifest(text: bytes) -> Manifest:
    try:
        return parse_model(text, Path(MANIFEST), Manifest)
    except LaterRelease:
        raise
    except BadInput as error:
        raise BadInput("its manifest is not one of Millrace") from error


def _entries(data: bytes) -> dict[str, bytes]:
    # A few bytes may stand for any number of zeroes.
    unzip = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    whole = unzip.decompress(data, LARGEST_ALL + 1)
    if len(whole) > LARGEST_ALL or not unzip.eof:
        raise ValueError("too large, or torn")
    contents: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(whole), mode="r:") as archive:
        for entry in archive:
            if (
                len(contents) >= MOST
                or entry.type != tarfile.REGTYPE
                or entry.size > len(whole)
                or entry.name in contents
            ):
                raise ValueError(entry.name)
            file = archive.extractfile(entry)
            assert file is not None
            contents[entry.name] = file.read()
            if len(contents[entry.name]) != entry.size:
                raise EOFError(entry.name)
    return contents


def _add(archive: tarfile.TarFile, path: str, data: bytes) -> None:
    entry = tarfile.TarInfo(path)
    entry.mode, entry.size = 0o600, len(data)
    archive.addfile(entry, io.BytesIO(data))
