# SPDX-License-Identifier: Apache-2.0
"""Generations on a full pool: into blocks that are allocated already, and never half of one."""

import errno
import os
from pathlib import Path

import pytest

from millrace.lifecycle.keep import generation_store, spares
from tests.unit.lifecycle.keep.conftest import Server


@pytest.fixture
def where(tmp_path: Path) -> Path:
    return tmp_path


def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool has no block and no inode left for a new file."""

    def no_room(path: Path, *_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(generation_store, "write_bytes", no_room)
    monkeypatch.setattr(spares, "_allocate", no_room)


def inodes(where: Path) -> set[int]:
    return {path.stat().st_ino for path in where.iterdir()}


def test_spare_files_have_their_blocks(where: Path) -> None:
    spares.make(where, 700_000)
    assert [path.stat().st_blocks * 512 for path in sorted(where.iterdir())] == [2 << 20] * spares.COUNT
    before = inodes(where)
    spares.make(where, 700_000)
    assert inodes(where) == before


def test_full_pool_takes_a_generation_into_a_spare_file(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.keep()
    before = inodes(server.where)
    full(monkeypatch)
    server.rename("second")
    assert server.keep().problem is None
    assert server.kept() == ["state-000001.tar.gz", "state-000002.tar.gz"]
    assert inodes(server.where) == before
    assert generation_store.read(server.where / "state-000002.tar.gz").manifest.generation == 2


def test_full_pool_without_spare_files_writes_over_the_oldest(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.keep()
    full(monkeypatch)
    for number in range(spares.COUNT + 1):
        server.rename(f"name-{number}")
        assert server.keep().problem is None
    assert server.kept() == [f"state-{number:06}.tar.gz" for number in range(2, spares.COUNT + 3)]


def test_newest_generations_are_never_written_over(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.keep()
    for path in server.where.glob(".spare-*"):
        path.unlink()
    full(monkeypatch)
    server.rename("second")
    assert "No space left on device" in (server.keep().problem or "")
    assert server.kept() == ["state-000001.tar.gz"]


def test_file_that_is_too_small_is_left_alone(where: Path) -> None:
    old = where / "old"
    old.write_bytes(b"x" * 4096)
    assert not spares.write_over(where, [old], where / "new", b"y" * 100_000)
    assert old.read_bytes() == b"x" * 4096


def test_cut_halfway_leaves_no_half_generation(where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = where / "state-000001.tar.gz"
    old.write_bytes(b"x" * 8192)

    def cut(*_: object) -> int:
        raise OSError(errno.EIO, "the power is gone")

    with monkeypatch.context() as gone:
        gone.setattr(os, "pwrite", cut)
        with pytest.raises(OSError, match="the power"):
            spares.write_over(where, [old], where / "state-000005.tar.gz", b"y" * 5000)
    assert [path.name for path in where.iterdir()] == [".spare-0"]
