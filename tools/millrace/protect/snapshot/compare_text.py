# SPDX-License-Identifier: Apache-2.0
"""What a comparison of snapshots says."""

from collections.abc import Iterator

from millrace.protect.snapshot.compare_model import SnapshotComparison, SnapshotDifference
from millrace.system.printing import table
from millrace.system.text import size


def lines(compared: SnapshotComparison) -> Iterator[str]:
    """Yield the entries that differ, then their number."""
    if compared.entries:
        yield from table(("Difference", "Name", "Size", "Before"), [_cells(entry) for entry in compared.entries])
    if compared.more:
        yield f"… and {compared.more} more"
    counts = (
        (compared.added, "added"),
        (compared.changed, "changed"),
        (compared.permissions, "with other permissions"),
        (compared.moved, "moved"),
        (compared.removed, "removed"),
    )
    listed = ", ".join(f"{number} {what}" for number, what in counts if number)
    yield f"{compared.newer} compared with {compared.older}: {listed or 'no difference'}"
    if compared.unread:
        yield (f"{compared.unread} entries could not be compared: changed by clients, unreadable, or too deep")
        yield from (f"  {name}" for name in compared.unread_names)


def _cells(entry: SnapshotDifference) -> tuple[str, str, str, str]:
    return entry.what, entry.path, size(entry.bytes) if entry.kind == "file" else "", entry.former or ""
