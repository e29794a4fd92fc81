# SPDX-License-Identifier: Apache-2.0
"""Findings of groups that nfsd does not know. Others of NFS are in test_collect.py, with those of SMB."""

from pathlib import Path

import pytest

from millrace.observe.health.checks import nfs
from millrace.serve.config import files
from millrace.serve.config.model import Config, User, first_config
from millrace.system import nfsd, paths
from millrace.system.documents import write_model
from millrace.system.run import Result
from tests.unit.observe.health.servers import host, sentences, well


@pytest.fixture
def serving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    well(tmp_path)
    users = [User(name=name, uid=uid) for name, uid in (("ann", 2000), ("bob", 2001))]
    write_model(files.config_file(), Config.model_validate(first_config().model_dump() | {"users": users}))
    (tmp_path / nfsd.GROUPS).mkdir(parents=True)
    monkeypatch.setattr(nfs, "ANSWER_SECONDS", 0.0)
    return tmp_path


def test_users_of_the_server_whose_groups_the_kernel_did_not_get_are_named(serving: Path) -> None:
    (serving / nfsd.GROUPS / "content").write_text("# 2001 0:\n# 4711 0:\n2000 1: 2000\n")
    said = sentences(nfs.check(host()))
    assert "FAIL: NFS does not know the groups of bob: access by these groups is denied. [systemctl restart" in said


def test_answer_that_is_on_its_way_is_no_finding(serving: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = iter([{2001}, set[int]()])
    monkeypatch.setattr(nfsd, "users_without_groups", lambda: next(seen))
    assert "groups" not in sentences(nfs.check(host()))


def test_users_whom_the_server_does_not_know_are_no_finding(serving: Path) -> None:
    (serving / nfsd.GROUPS / "content").write_text("# 4711 0:\n2000 1: 2000\n")
    assert "groups" not in sentences(nfs.check(host()))


def test_mountd_that_does_not_run_is_the_finding_and_not_what_follows_from_it(serving: Path) -> None:
    (serving / nfsd.GROUPS / "content").write_text("# 2001 0:\n")
    (finding,) = nfs.check(host(mountd=Result(0, "failed\n", "")))
    assert (finding.kind, finding.todo) == ("mountd", "systemctl start nfs-mountd.service")
