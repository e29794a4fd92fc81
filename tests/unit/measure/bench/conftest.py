# SPDX-License-Identifier: Apache-2.0
"""Servers of files for the benchmark."""

import os
import pwd
from pathlib import Path

import pytest

from millrace.measure.bench.run import space
from millrace.system import paths, reflink
from millrace.system.documents import write_model
from tests.fakes.mounts import mount
from tests.unit.measure.bench.sites import site


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state of a server, for root; its tools are looked for in `bin/` first."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return tmp_path


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The mounted pool of this server, with a share of somebody in it."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(os.path, "ismount", lambda path: str(path).endswith("srv/pool"))
    monkeypatch.setattr(os, "chown", lambda *arguments, follow_symlinks: None)
    me = pwd.getpwuid(os.getuid())
    monkeypatch.setattr(pwd, "getpwnam", lambda name: me)
    (tmp_path / "srv/pool/data").mkdir(parents=True)
    (tmp_path / "srv/pool/data/file").write_text("somebody's")
    (tmp_path / "proc/1").mkdir(parents=True)

    def set_project(descriptor: int, number: int) -> None:
        assert os.readlink(f"/proc/self/fd/{descriptor}") == str(tmp_path / "srv/pool" / space.NAME)
        assert number == space.PROJECT

    monkeypatch.setattr(reflink, "set_project", set_project)
    mount(tmp_path, "/dev/md127", "/srv/pool", "xfs", "rw,prjquota")
    write_model(paths.pool_file(), site().pool)
    return tmp_path / "srv/pool"
