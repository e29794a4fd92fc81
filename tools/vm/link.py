# SPDX-License-Identifier: Apache-2.0
"""Network cables between two VMs. Connectionless, so that either side may be killed and started again."""

import shutil
import tempfile
from pathlib import Path


def outside(count: int) -> list[str]:
    """Return netdev backends for NICs without a client: user-mode networks, each with a range of its own."""
    return [f"user,net=10.0.{3 + number}.0/24" for number in range(count)]


class Cables:
    """`count` cables, each with a server's and a client's end; a context manager that removes its sockets."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._directory = Path(tempfile.mkdtemp(prefix="millrace-link-"))

    def __enter__(self) -> "Cables":
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)

    def _end(self, number: int, local: str, remote: str) -> str:
        local_path = self._directory / f"{local}{number}"
        remote_path = self._directory / f"{remote}{number}"
        return f"dgram,local.type=unix,local.path={local_path},remote.type=unix,remote.path={remote_path}"

    @property
    def server_ends(self) -> list[str]:
        """Netdev backends for the server's data NICs, in order."""
        return [self._end(number, "server", "client") for number in range(self.count)]

    @property
    def client_ends(self) -> list[str]:
        """Netdev backends for the client's NICs, in order."""
        return [self._end(number, "client", "server") for number in range(self.count)]
