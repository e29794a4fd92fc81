# SPDX-License-Identifier: Apache-2.0
"""Public keys of SSH: one line, without options in front of the key (sshd(8), AUTHORIZED_KEYS FILE FORMAT)."""

import base64
import binascii
import hashlib
from dataclasses import dataclass

from millrace.system.text import shown

SECURITY_KEYS = ("sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com")
"""Types whose private half is in a FIDO2 key, which has to be touched."""

TYPES = (
    "ssh-ed25519",
    *SECURITY_KEYS,
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "ssh-rsa",
)

# ssh-keygen makes 3072 by default; sshd takes 1024, which is broken in reach of a state
SMALLEST_RSA = 2048
# characters: the longest RSA key that sshd takes has 16384 bits, 2.8 kB in base64
LONGEST = 4000

_NONE = "this is no public SSH key: give one line of a file such as id_ed25519.pub"


@dataclass(frozen=True)
class SshKey:
    """A public key: its type, the key in base64, and a comment, which may be empty."""

    type: str
    blob: str
    comment: str

    @property
    def line(self) -> str:
        """The line for a file of authorized keys."""
        return " ".join(filter(None, (self.type, self.blob, self.comment)))

    @property
    def fingerprint(self) -> str:
        """The fingerprint as `ssh-keygen -l` prints it."""
        digest = hashlib.sha256(base64.b64decode(self.blob)).digest()
        return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")

    @property
    def security_key(self) -> bool:
        """Whether the private half is in a FIDO2 key."""
        return self.type in SECURITY_KEYS


def parsed(text: str) -> SshKey:
    """Return the key of a line. ValueError: one sentence why it is none, or one that is too weak."""
    line = text.strip()
    if line.startswith(("-----BEGIN", "PuTTY-User-Key-File")) or "PRIVATE KEY" in line:
        raise ValueError("this is a private key, which stays with its owner: give the public one, id_ed25519.pub")
    if not line.isprintable() or len(line) > LONGEST:
        raise ValueError(_NONE)
    type_, _, rest = line.partition(" ")
    blob, _, comment = rest.strip().partition(" ")
    if type_ == "ssh-dss":
        raise ValueError("DSA keys are not accepted by sshd any more: make another one with ssh-keygen -t ed25519")
    if type_ not in TYPES:
        if any(known in line for known in TYPES):
            raise ValueError(f"options in front of a key are not supported: begin with its type, not {shown(type_)}")
        raise ValueError(_NONE)
    fields = _fields(blob)
    if not fields or fields[0] != type_.encode():
        raise ValueError("this SSH key is damaged or cut off: copy the whole line of the .pub file")
    if type_ == "ssh-rsa" and (len(fields) < 3 or len(fields[2].lstrip(b"\0")) * 8 < SMALLEST_RSA):
        raise ValueError(f"this RSA key has less than {SMALLEST_RSA} bits: make another one with ssh-keygen -t ed25519")
    return SshKey(type_, blob, comment.strip())


def normal(text: str) -> str:
    """Return a key as a line without needless blanks. ValueError: as for `parsed`."""
    return parsed(text).line


def _fields(blob: str) -> list[bytes]:
    """The fields of a key (RFC 4253, 6.6); none where it is damaged."""
    try:
        data = base64.b64decode(blob, validate=True)
    except (binascii.Error, ValueError):
        return []
    fields = []
    while data:
        size = int.from_bytes(data[:4])
        if len(data) < 4 + size:
            return []
        fields.append(data[4 : 4 + size])
        data = data[4 + size :]
    return fields if len(fields) > 1 else []
