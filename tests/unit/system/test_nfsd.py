# SPDX-License-Identifier: Apache-2.0
"""What nfsd shows of itself; nothing where it is not loaded."""

import os
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


# As kernel 7.2 prints it: a negative entry is a comment, whatever else is in it.
CONTENT = """\
#uid cnt: gids...
# expiry=1764412345 refcnt=2 flags=5
# 4711 0:
# expiry=1764412345 refcnt=1 flags=1
2000 2: 2000 2001
# expiry=1764412301 refcnt=1 flags=1
# 2001 2: 2000 2001
"""


def test_users_without_groups_are_those_of_negative_entries(files: Path) -> None:
    cache = files.parents[1] / "net/rpc/auth.unix.gid"
    assert nfsd.users_without_groups() == set()
    cache.mkdir(parents=True)
    (cache / "content").write_text(CONTENT)
    assert nfsd.users_without_groups() == {4711}


def test_groups_are_forgotten_where_the_kernel_knows_some(files: Path) -> None:
    cache = files.parents[1] / "net/rpc/auth.unix.gid"
    nfsd.forget_groups()
    assert not cache.exists()
    cache.mkdir(parents=True)
    (cache / "flush").write_text("0\n")
    nfsd.forget_groups()
    assert (cache / "flush").read_text() == "1\n"


def test_table_of_exports_is_the_one_that_exportfs_wrote_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    assert nfsd.exported() is None
    now = "/srv/pool/data\t10.0.0.0/24(rw)\n/srv/pool/data\t@lab(ro)\n\n"
    for name, text in (("var/lib/nfs", "/srv/pool/old\t*(rw)\n"), ("run/millrace/nfs", now)):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "etab").write_text(text)
    os.utime(tmp_path / "var/lib/nfs/etab", (1, 1))
    assert nfsd.exported() == {"/srv/pool/data": ["10.0.0.0/24", "@lab"]}
    # nfs.conf was edited by hand
    os.utime(tmp_path / "run/millrace/nfs/etab", (0, 0))
    assert nfsd.exported() == {"/srv/pool/old": ["*"]}
