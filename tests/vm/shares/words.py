# SPDX-License-Identifier: Apache-2.0
"""Words that the stories of shares have in common."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from tests.vm.box import SERVER_ADDRESSES
from vm.machine import Machine

HOST = SERVER_ADDRESSES[0]
# Of the first port, beside HOST.
MORE_ADDRESSES = ("10.77.0.11", "10.77.0.12", "10.77.0.13")
PASSWORD = "anna-has-a-long-one-7"
MOUNTPOINT = "/mnt/share"

# A story that was written and has not been seen to pass as a whole.
unproven = pytest.mark.skipif(
    "MILLRACE_UNPROVEN" not in os.environ,
    reason="not seen to pass yet: run it with MILLRACE_UNPROVEN=1 on an idle host, mend what fails, take the mark away",
)


@contextmanager
def mounted(client: Machine, source: str, options: str) -> Iterator[str]:
    client.run(f"mkdir -p {MOUNTPOINT}; mount {options} {source} {MOUNTPOINT}", seconds=300)
    try:
        yield MOUNTPOINT
    finally:
        client.run(f"umount {MOUNTPOINT}", seconds=300)


def nfs(client: Machine, share: str) -> AbstractContextManager[str]:
    return mounted(client, f"{HOST}:/srv/pool/{share}", "-t nfs4 -o vers=4.2")


def smb(client: Machine, share: str) -> AbstractContextManager[str]:
    return mounted(client, f"//{HOST}/{share}", "-t cifs -o vers=3.1.1,seal,credentials=/run/anna")
