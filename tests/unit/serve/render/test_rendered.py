# SPDX-License-Identifier: Apache-2.0
"""The record of rendered files."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.serve.render import rendered
from millrace.serve.render.reconcile import settle
from millrace.serve.render.registry import FileEntry, RenderedService
from tests.unit.serve.render.readers import ONE, TWO


def test_quotas_are_recorded_beside_the_files(root: Path) -> None:
    settle([RenderedService("a.service", [FileEntry(ONE, lambda: "1")])], force=False)
    rendered.set_quotas({"data": "1g", "home": "2g"})
    rendered.set_quotas({"home": "3g"})
    record = rendered.load()
    assert record.quotas == {"data": "1g", "home": "3g"} and list(record.files) == [ONE]
    assert rendered.is_ours(ONE) and not rendered.is_ours(TWO)
    # and stay when a file changes
    settle([RenderedService("a.service", [FileEntry(ONE, lambda: "2")])], force=False)
    assert rendered.load().quotas == record.quotas


@pytest.mark.parametrize("damage", [b"{", b"\xff\xfe", b""])
def test_a_damaged_record_is_an_empty_one(root: Path, damage: bytes) -> None:
    settle([RenderedService("a.service", [FileEntry(ONE, lambda: "1")])], force=False)
    rendered.record_file().write_bytes(damage)
    assert rendered.load() == rendered.Rendered()


def test_a_copy_of_an_edit_is_for_root_only_and_named_by_its_time(root: Path) -> None:
    rendered.keep_aside("etc/samba/smb.conf", b"mine")
    [copy] = (root / "var/lib/millrace/replaced").iterdir()
    name, stamp = copy.name.rsplit(".", 1)
    assert name == "smb.conf" and copy.stat().st_mode & 0o777 == 0o600
    assert abs(datetime.now(UTC) - datetime.strptime(stamp + "+0000", "%Y%m%dT%H%M%SZ%z")) < timedelta(minutes=5)


def test_copies_of_two_files_of_one_name_are_both_kept(root: Path) -> None:
    for directory in ("a.d", "b.d", "c.d"):
        rendered.keep_aside(f"etc/{directory}/10-millrace.conf", directory.encode())
    copies = (root / "var/lib/millrace/replaced").iterdir()
    assert {copy.read_text() for copy in copies} == {"a.d", "b.d", "c.d"}
