# SPDX-License-Identifier: Apache-2.0
"""The archive of a release as a browser sends it: nothing of it is signed until its third file has arrived."""

import io
from collections.abc import Sequence

from millrace.lifecycle.update import upload
from millrace.lifecycle.update.signature import OWN_KEYS
from millrace.system.run import Result
from tests.fuzz import scratch

ANSWERS = {"gpgv": Result(0, "[GNUPG:] VALIDSIG 1\n", ""), "bootctl": Result(0, "/boot\n", "")}


class Bounded(io.BytesIO):
    """A connection, which may send without end: to read it to its end is to take all memory."""

    def read(self, size: int | None = -1, /) -> bytes:
        """As a file does; never all that there is."""
        assert size is not None and size >= 0
        return super().read(size)


def run(argv: Sequence[str], stdin: str | None = None) -> Result:
    """Any signature is right, and the ESP is there."""
    return ANSWERS[argv[0]]


def check(data: bytes) -> None:
    """Receive the input."""
    with scratch.empty_root() as root:
        (root / OWN_KEYS).parent.mkdir(parents=True)
        (root / "boot").mkdir()
        (root / OWN_KEYS).write_bytes(b"key")
        upload.receive(Bounded(data), len(data), lambda arrived: None, run)
