# SPDX-License-Identifier: Apache-2.0
"""Questions at the socket of a resident verb: lines of JSON."""

import os
from collections.abc import Sequence
from typing import Any

from millrace.cli.worker.server import VerbServer
from millrace.system.errors import BadInput

MOST = 1 << 15
"""Bytes that a pipe takes at once."""


class Deaf(VerbServer):
    """A server that starts no verb."""

    def prepare(self) -> None:
        """Import nothing and leave signals alone."""

    def _start(self, number: int, words: Sequence[str]) -> Any:
        raise BadInput(f"{number}: {words}")


def check(data: bytes) -> None:
    """Send the input to a server of any verb and to one of a single verb."""
    for only in (None, ["status", "--json"]):
        read, write = os.pipe()
        try:
            os.write(write, data[:MOST])
            os.close(write)
            Deaf(only).serve(read, read)
        finally:
            os.close(read)
