# SPDX-License-Identifier: Apache-2.0
"""Words that the stories of shares have in common."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from millrace.serve.share.verify_smb import listing
from tests.vm.box import SERVER_ADDRESSES
from vm.machine import Machine

HOST = SERVER_ADDRESSES[0]
# Of the first port, beside HOST.
MORE_ADDRESSES = ("10.77.0.11", "10.77.0.12", "10.77.0.13")
PASSWORD = "she-has-a-long-one-7"
MOUNTPOINT = "/mnt/share"


def listed_over_smb(client: Machine) -> list[str]:
    """Return the names of the shares that the server lists for anna.

    The first list after a start of smbd starts programs of Samba, which takes an emulated server 9 s and more. By
    itself smbclient gives up after 20 s, prints no list and succeeds.
    """
    return listing(client.run(f"smbclient -A /run/anna -t 300 -g -L {HOST}", seconds=600).out)


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
