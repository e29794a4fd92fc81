# SPDX-License-Identifier: Apache-2.0
"""What clients and hostile drives put in the way of a snapshot: attributes, names, links and pipes."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from millrace.protect.snapshot import rollback_run, snapshot_remove, snapshot_verbs
from millrace.serve.config import store
from millrace.serve.share import kept_snapshots
from millrace.system.errors import BadInput, Failed, MillraceError
from tests.unit.protect.snapshot.conftest import Nas

NAME = "20261129T120000Z-manual"
EVIL = "all is well\x1b[2J"


@pytest.mark.parametrize(("of", "named"), [("set/one", "set/one"), ("set", "set")])
def test_more_attributes_than_the_kernel_lists_are_named_and_the_rest_is_taken(
    nas: Nas, monkeypatch: pytest.MonkeyPatch, of: str, named: str
) -> None:
    listed, number = os.listxattr, (nas.share / of).stat().st_ino

    def limited(file: int, **more: bool) -> list[str]:
        if isinstance(file, int) and os.fstat(file).st_ino == number:
            raise OSError(errno.E2BIG, "Argument list too long")
        return listed(file, **more)

    os.setxattr(nas.share / of, "user.DOSATTRIB", b"0x20")
    monkeypatch.setattr(os, "listxattr", limited)
    manifest = nas.made()
    assert (manifest.bare_count, manifest.bare, manifest.entries) == (1, [named], 5)
    tree = nas.snapshots.place("data", NAME) / "tree"
    assert (tree / "set/one").read_text() == "first"
    assert os.getxattr(tree / of, "user.DOSATTRIB") == b"0x20"
    assert f"  {named}" in [*snapshot_verbs._made(manifest)]
    # viewers see how many there are
    [row] = nas.snapshots.rows(store.load(), None)
    assert row.manifest is not None and (row.manifest.bare_count, row.manifest.bare) == (1, [])


@pytest.mark.parametrize("of", ["file", "directory"])
def test_name_that_a_client_chose_is_in_the_journal_alone(
    nas: Nas, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], of: str
) -> None:
    (nas.share / EVIL).mkdir()
    (nas.share / EVIL / EVIL).write_text("")
    opened, failures = os.open, list[str]()

    def failing(path: str, flags: int, *rest: object, **more: object) -> int:
        # what the clone opens, and not what is made or removed
        is_read = flags & os.O_NOFOLLOW and not flags & os.O_CREAT
        if path == EVIL and is_read and bool(flags & os.O_DIRECTORY) is (of == "directory"):
            failures.append(path)
            raise OSError(errno.EIO, "Input/output error", path)
        return opened(path, flags, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", failing)
    with pytest.raises(Failed) as failed:
        nas.made()
    assert failures and "all is well" not in str(failed.value) and "(Input/output error)" in str(failed.value)
    printed = capsys.readouterr().err
    assert "all is well" in printed and "\x1b" not in printed


def to_pipe(manifest: Path) -> None:
    manifest.unlink()
    os.mkfifo(manifest)


def to_link(manifest: Path) -> None:
    target = manifest.rename(manifest.with_name("moved"))
    manifest.symlink_to(target)


def to_directory(manifest: Path) -> None:
    manifest.unlink()
    manifest.mkdir()


@pytest.mark.parametrize("become", [to_pipe, to_link, to_directory])
def test_manifest_of_a_hostile_drive_is_neither_followed_nor_waited_for(
    nas: Nas, become: Callable[[Path], object]
) -> None:
    nas.made()
    become(nas.snapshots.place("data", NAME) / "manifest.json")
    [row] = nas.snapshots.rows(store.load(), None)
    assert row.manifest is None and row.problem is not None
    with pytest.raises(BadInput):
        nas.snapshots.manifest("data", NAME)
    assert kept_snapshots.type_of("data", NAME, "/srv/pool") is None


@pytest.mark.parametrize("kind", ["pipe", "link", "dangling"])
def test_journal_of_a_rollback_on_a_hostile_drive_is_neither_followed_nor_waited_for(
    nas: Nas, tmp_path: Path, kind: str
) -> None:
    nas.made()
    nas.snapshots.rollback.mkdir(mode=0o700)
    journal = nas.snapshots.rollback / rollback_run.JOURNAL
    if kind == "pipe":
        os.mkfifo(journal)
    else:
        journal.symlink_to(tmp_path if kind == "link" else tmp_path / "none")
    with pytest.raises(Failed, match="the journal of a rollback cannot be read"):
        rollback_run.exchanged(nas.snapshots)


@pytest.mark.parametrize("link", ["data", f"data/{NAME}"])
def test_link_in_the_place_of_a_snapshot_is_none(nas: Nas, tmp_path: Path, link: str) -> None:
    nas.made()
    outside = tmp_path / "outside"
    place = nas.snapshots.top / link
    place.rename(outside)
    place.symlink_to(outside)
    assert not kept_snapshots.exists("data", NAME, "/srv/pool")
    with pytest.raises(MillraceError):
        snapshot_remove.remove(f"data@{NAME}", nas.server)
    assert outside.exists() and all(row.manifest is None for row in nas.snapshots.rows(store.load(), None))
