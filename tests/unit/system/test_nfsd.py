# SPDX-License-Identifier: Apache-2.0
"""What nfsd shows of itself; nothing where it is not loaded."""

from pathlib import Path

import pytest

from millrace.system import nfsd, paths


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    made = tmp_path / "proc/fs/nfsd"
    made.mkdir(parents=True)
    return made


@pytest.mark.parametrize(("threads", "serving"), [("16\n", True), ("0\n", False), ("", False), (None, False)])
def test_nfsd_serves_with_threads(files: Path, threads: str | None, serving: bool) -> None:
    if threads is not None:
        (files / "threads").write_text(threads)
    assert nfsd.is_serving() is serving


def test_listeners_are_read_with_single_blanks(files: Path) -> None:
    (files / "portlist").write_text("tcp   2049\ntcp 2049\n")
    assert nfsd.lines("portlist") == ["tcp 2049", "tcp 2049"]
    assert not nfsd.listens_on_rdma()
    (files / "portlist").write_text("rdma 20049\ntcp 2049\n")
    assert nfsd.listens_on_rdma()
