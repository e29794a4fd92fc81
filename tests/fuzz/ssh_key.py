# SPDX-License-Identifier: Apache-2.0
"""A public key of SSH that somebody sends."""

from contextlib import suppress

from millrace.system import ssh_keys


def check(data: bytes) -> None:
    """Read the input as a line with a key, and again as it is written; a ValueError is the sentence why it is none."""
    with suppress(ValueError):
        key = ssh_keys.parsed(data.decode(errors="replace"))
        assert ssh_keys.parsed(key.line) == key and key.fingerprint
