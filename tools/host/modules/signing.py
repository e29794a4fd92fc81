# SPDX-License-Identifier: Apache-2.0
"""Sign the rebuilt modules with the owner's image key.

Under Secure Boot Debian's kernel loads a module whose key is in the firmware's `db` (kernel/module/signing.c of
Debian's source: VERIFY_USE_PLATFORM_KEYRING). A signature is appended to the module, before it is compressed
(scripts/sign-file.c).
"""

import lzma
import os
import shutil
import struct
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.hazmat.primitives.serialization.pkcs7 import PKCS7Options, PKCS7SignatureBuilder

from host import artefacts
from host.keys import Keys
from host.modules.environment import Run, checked, run_quietly
from host.modules.package import pack

KEY = "db"
MARK = b"~Module signature appended~\n"
# include/linux/module_signature.h: a PKCS #7 message says by itself how it was made
PKCS7 = 2
TRAILER = struct.Struct(">BBBBB3xI")
OPTIONS = (
    PKCS7Options.DetachedSignature,
    PKCS7Options.Binary,
    PKCS7Options.NoAttributes,
    PKCS7Options.NoCerts,
)
# As package.XZ.
FILTERS: Sequence[dict[str, int]] = ({"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 1 << 20},)


def signed(deb: Path, keys: Keys, directory: Path, epoch: int, run: Run = run_quietly) -> Path:
    """Return the package `deb` with signed modules, in a directory of its own below `directory`.

    It is made where it is not there. `epoch` is the time of all files, in seconds. Failed: a tool fails.
    """
    certificate = (keys.directory / f"{KEY}.crt").read_bytes()
    name = sha256(f"{artefacts.sha256(deb)} {epoch} {Path(__file__).read_text()}".encode() + certificate).hexdigest()
    place = directory / f"signed-{name}"
    if not (place / deb.name).is_file():
        directory.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".signing-", dir=directory) as work:
            tree, new = Path(work) / "tree", Path(work) / "new"
            new.mkdir()
            checked(run, ["dpkg-deb", "--raw-extract", str(deb), str(tree)], f"{deb.name} was not unpacked")
            for module in tree.rglob("*.ko.xz"):
                whole = appended(lzma.decompress(module.read_bytes()), keys)
                module.write_bytes(lzma.compress(whole, check=lzma.CHECK_CRC32, filters=list(FILTERS)))
            pack(tree, new / deb.name, epoch, run)
            shutil.rmtree(place, ignore_errors=True)
            os.rename(new, place)
    return place / deb.name


def appended(module: bytes, keys: Keys) -> bytes:
    """Return a module with the signature of the image key at its end."""
    builder = PKCS7SignatureBuilder().set_data(module).add_signer(keys.certificate(KEY), keys.key(KEY), SHA256())
    signature = builder.sign(Encoding.DER, OPTIONS)
    return module + signature + TRAILER.pack(0, 0, PKCS7, 0, 0, len(signature)) + MARK
