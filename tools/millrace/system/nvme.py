# SPDX-License-Identifier: Apache-2.0
"""What identifies hosts and subsystems of NVMe over Fabrics, and the secrets that they prove it with."""

import base64
import binascii
import zlib
from typing import Annotated, Literal

from millrace.system.rule import Check, Rule

Transport = Literal["tcp", "rdma"]

FIRST_PORT = 4420
"""The port of NVMe over Fabrics (IANA)."""

# NVM Express Base 2.0, 4.7: at most 223 bytes. It becomes the name of a directory: no slash.
_NQN = r"nqn\.[0-9]{4}-(?:0[1-9]|1[0-2])\.[A-Za-z0-9.-]+(?::[!-.0-~]+)?"
_LENGTH = Check(".{1,223}", "an NQN has at most 223 characters, this one has $1")

host_nqn = Rule(
    Check(
        _NQN,
        "$0 is not an NQN: write the NQN of the host as its /etc/nvme/hostnqn has it, "
        "nqn.2014-08.org.nvmexpress:uuid:…",
    ),
    _LENGTH,
)
subsystem_nqn = Rule(
    Check(
        # the kernel reads the options of a connection at commas
        rf"(?!.*,){_NQN}",
        "$0 is not an NQN: write the NQN of the subsystem as its target shows it, nqn.2014-08.org.nvmexpress:uuid:…",
    ),
    _LENGTH,
)


def _secret(text: str) -> str:
    """A secret as `nvme gen-dhchap-key` prints it; the sentence never has a part of it."""
    prefix, _, rest = text.partition(":")
    kind, _, key = rest.partition(":")
    try:
        key_bytes = base64.b64decode(key.removesuffix(":"), validate=True)
    except (binascii.Error, ValueError):
        key_bytes = b""
    sizes = {"00": (36, 52, 68), "01": (36,), "02": (52,), "03": (68,)}.get(kind, ())
    whole = prefix == "DHHC-1" and text.endswith(":") and len(key_bytes) in sizes
    # TP 8006: the last four bytes are the CRC-32 of those before
    if not whole or zlib.crc32(key_bytes[:-4]).to_bytes(4, "little") != key_bytes[-4:]:
        raise ValueError("a DH-HMAC-CHAP secret is one line like DHHC-1:00:…:, as `nvme gen-dhchap-key` prints it")
    return text


dhchap_secret = Rule(Check(".{1,120}", "a DH-HMAC-CHAP secret has 1 to 120 characters, this one has $1"), then=_secret)

Nqn = Annotated[str, host_nqn]
SubsystemNqn = Annotated[str, subsystem_nqn]
Secret = Annotated[str, dhchap_secret]
