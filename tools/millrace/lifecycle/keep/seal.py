# SPDX-License-Identifier: Apache-2.0
"""Encryption of the secrets in the kept state with a passphrase.

python3-cryptography, which the certificates use already: scrypt and AES-256-GCM, so a wrong passphrase and a changed
byte are both found. The boot drive has the key that is made of the passphrase; the passphrase is nowhere.
"""

import hashlib
import hmac
import os

from millrace.lifecycle.keep.model import KeyFile, Seal
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import BadInput, Refused

SHORTEST, LONGEST = 12, 1000
KEY, SALT, NONCE = 32, 16, 12


def current() -> KeyFile | None:
    """Return the key of this server; None where secrets are not encrypted. BadInput: its file cannot be read."""
    return read_model(paths.keep_key_file(), KeyFile) if paths.keep_key_file().exists() else None


def choose(passphrase: str) -> KeyFile:
    """Make a key of a passphrase and keep it for root. BadInput: the passphrase is too short or not one line."""
    if not SHORTEST <= len(passphrase) <= LONGEST or not passphrase.isprintable():
        raise BadInput(f"a passphrase is one line of {SHORTEST} to {LONGEST} printable characters")
    seal = Seal(salt=os.urandom(SALT).hex())
    made = KeyFile(seal=seal, key=derived(seal, passphrase).hex())
    write_model(paths.keep_key_file(), made, mode=0o600)
    return made


def forget() -> None:
    """Remove the key: secrets are kept without encryption from now on."""
    paths.keep_key_file().unlink(missing_ok=True)


def derived(seal: Seal, passphrase: str) -> bytes:
    """Return the key that a passphrase makes; it takes 128 MiB of memory and about half a second."""
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    return Scrypt(salt=bytes.fromhex(seal.salt), length=KEY, n=seal.n, r=seal.r, p=seal.p).derive(passphrase.encode())


def sealed(key: KeyFile, content: bytes, name: str) -> bytes:
    """Return `content` encrypted; it can be opened under the same `name` only."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = os.urandom(NONCE)
    return nonce + AESGCM(bytes.fromhex(key.key)).encrypt(nonce, content, name.encode())


def opened(key: bytes, stored: bytes, name: str) -> bytes:
    """Return what was sealed. Refused: the key is another."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        return AESGCM(key).decrypt(stored[:NONCE], stored[NONCE:], name.encode())
    except (InvalidTag, ValueError) as error:
        raise Refused("the passphrase does not open the kept state: it is another one") from error


def authentication(key: KeyFile, text: bytes) -> str:
    """Return what only who has the key can make of a manifest (HMAC-SHA256): the digests in it bind all files."""
    return hmac.new(bytes.fromhex(key.key), b"millrace-state\0" + text, "sha256").hexdigest()


def digest(key: KeyFile | None, content: bytes) -> str:
    """Return a digest of content that has secrets; with a key, nobody else can verify a guess by it."""
    if key is None:
        return hashlib.sha256(content).hexdigest()
    return hmac.new(bytes.fromhex(key.key), content, "sha256").hexdigest()
