# SPDX-License-Identifier: Apache-2.0
"""What libblkid recognises on a block device, failing closed."""

from millrace.storage.array.machine import System
from millrace.system.errors import Failed

NOTHING = 2
AMBIVALENT = 8


def signature(system: System, device: str, offset: int = 0, size: int | None = None) -> dict[str, str]:
    """Probe a device, or `size` bytes of it from byte `offset`; an empty dict means that blkid found nothing.

    Failed: blkid cannot read it, or found something that it cannot name; neither is taken for blank.
    """
    area = ["--offset", str(offset), "--size", str(size)] if size is not None else []
    result = system.attempt(["blkid", "-p", "-o", "export", *area, device])
    # blkid exits with 2 for a device that it cannot open, too: only then it prints an error.
    if result.status == NOTHING and not result.err.strip():
        return {}
    if result.status == AMBIVALENT:
        return {"TYPE": "more than one kind of content"}
    fields = {key: value for key, value in exported(result.out).items() if not _is_about_the_device(key)}
    if result.status != 0 or (fields and "TYPE" not in fields and "PTTYPE" not in fields):
        problem = result.err.strip() or f"status {result.status}"
        raise Failed(f"{device} cannot be probed ({problem}); nothing was written")
    return fields


def _is_about_the_device(key: str) -> bool:
    """An empty partition is reported with its entry in the partition table, and with status 0."""
    return key == "DEVNAME" or key.startswith("PART_ENTRY_")


def exported(text: str) -> dict[str, str]:
    """Parse KEY=value lines, as blkid and mdadm print them with their export options."""
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def describe(found: dict[str, str]) -> str:
    """Return the content of a device in words; `found` is the result of `signature`."""
    kind = found.get("TYPE") or f"{found['PTTYPE']} partition table"
    name = found.get("LABEL") or found.get("UUID")
    return f"{kind} ({name})" if name else kind
