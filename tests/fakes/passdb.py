# SPDX-License-Identifier: Apache-2.0
"""passdb.tdb of Samba 4.25 as the program sees it through python3-tdb: records of users, and their names by number."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from millrace.system.smb_passwords import PASSDB

if TYPE_CHECKING:
    from tests.fakes.appliance import Appliance

FORM = {b"INFO/version\0": b"\4\0\0\0", b"INFO/minor_version\0": b"\0\0\0\0"}
_IN_2036, _NEVER = bytes.fromhex("7fa9547c"), b"\0\0\0\0"


class FakeDatabase:
    """A database in a transaction; as with tdb(3), a record that is to be replaced or deleted must be there."""

    def __init__(self, records: dict[bytes, bytes]) -> None:
        self.records = records

    def get(self, key: bytes) -> bytes | None:
        return self.records.get(key)

    def put(self, key: bytes, record: bytes) -> None:
        assert key in self.records and len(record) == len(self.records[key])
        self.records[key] = record

    def delete(self, key: bytes) -> None:
        del self.records[key]


def record(name: str, rid: int, expires: bool) -> bytes:
    """The record of a user, as tdbdump(8) shows it, up to its number and with a rest that is the same for all."""
    texts = (name, "FILER", "", "", "", *[""] * 7)
    packed = b"".join(_text(text) for text in texts)
    kickoff = _IN_2036 if expires else _NEVER
    return bytes(4) + _IN_2036 + kickoff + bytes(16) + packed + rid.to_bytes(4, "little") + b"\1\2" + bytes(40)


def _text(text: str) -> bytes:
    return (len(text) + 1).to_bytes(4, "little") + text.encode() + b"\0"


@contextmanager
def transaction(appliance: "Appliance", path: Path) -> Iterator[FakeDatabase]:
    """Change the accounts of an appliance, all or none."""
    assert path == appliance.root / PASSDB
    appliance.transactions += 1
    rids = {name: number for number, name in enumerate(sorted(appliance.smb_accounts), 1000)}
    records = dict(appliance.passdb_form)
    for name, rid in rids.items():
        records[f"USER_{name}\0".encode()] = record(name, rid, name not in appliance.everlasting)
        records[f"RID_{rid:08x}\0".encode()] = f"{name}\0".encode()
    yield FakeDatabase(records)
    appliance.smb_accounts = {name for name in rids if f"USER_{name}\0".encode() in records}
    left = {name for name, rid in rids.items() if f"RID_{rid:08x}\0".encode() in records}
    assert left == appliance.smb_accounts
    appliance.everlasting = {
        name for name in left if records[f"USER_{name}\0".encode()] == record(name, rids[name], expires=False)
    }
