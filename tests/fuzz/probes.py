# SPDX-License-Identifier: Apache-2.0
"""What blkid, wipefs and mdadm print of a drive: labels and names in it are those of another server."""

from pathlib import Path

from millrace.inventory import signatures
from millrace.inventory.probe import judge
from millrace.system.run import Result

DEVICE = Path("/dev/nvme0n1")


def check(data: bytes) -> None:
    """The first byte is the exit status; the rest is the output, or the error where the status is odd."""
    status, text = data[0] if data else 0, data[1:].decode(errors="replace")
    said = Result(status, "", text) if status & 1 else Result(status, text, "")
    for probe in (signatures.blkid, signatures.wipefs, signatures.mdadm):
        judge(probe(DEVICE, lambda argv, stdin=None: said))
