# SPDX-License-Identifier: Apache-2.0
"""A share is a project of XFS with its limits; what XFS refuses is reported share by share."""

import os
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from millrace.serve.config import store
from millrace.serve.config.model import first_config
from millrace.serve.render import rendered
from millrace.serve.share import quota
from millrace.serve.share.edit import create_shares, remove_share, set_share
from millrace.serve.share.model import ChangeReport
from millrace.system.documents import write_model
from millrace.system.errors import Failed, Refused
from millrace.system.run import Result
from tests.fakes.appliance import Appliance
from tests.fakes.mounts import mount


def create(appliance: Appliance, name: str, **settings: Any) -> ChangeReport:
    return create_shares([name], settings, appliance.server)


def set_up(appliance: Appliance, name: str) -> list[str]:
    """Count a directory to the share 1002; what the server says of it."""
    server = appliance.server()
    [first] = server.shares(first_config())
    return server.count([first.model_copy(update={"name": name, "path": f"/srv/pool/{name}", "project": 1002})])


def limits_of(appliance: Appliance, project: int) -> list[str]:
    """The commands that set limits of this project; the first change sets those of the share that is there, too."""
    return [line for line in appliance.called("xfs_quota -x -c limit") if line.endswith(f" {project} /srv/pool")]


def names() -> list[str]:
    return [one.name for one in store.load().shares]


def test_share_is_a_project_with_its_limits(appliance: Appliance) -> None:
    create(appliance, "train", size="1T", soft_size="900G")
    [line] = limits_of(appliance, 1002)
    limits = "limit -p bsoft=943718400k bhard=1073741824k ihard=67108864 1002"
    assert line == f"xfs_quota -x -c {limits} /srv/pool"
    assert appliance.projects.of("train") == 1002
    assert "1002:/srv/pool/train\n" in (appliance.root / "etc/projects").read_text()
    assert "train:1002\n" in (appliance.root / "etc/projid").read_text()


def test_tree_is_walked_once(appliance: Appliance) -> None:
    create(appliance, "train", size="1T")
    (appliance.root / "srv/pool/train/file").touch()
    appliance.calls.clear()
    set_share("train", {"size": "2T"}, appliance.server)
    create(appliance, "other")
    assert sorted(appliance.projects.calls) == [("data", 1001), ("other", 1003), ("train", 1002)]
    assert len(limits_of(appliance, 1002)) == 1


def test_limit_is_removed(appliance: Appliance) -> None:
    create(appliance, "train", size="1T")
    set_share("train", {"size": "none"}, appliance.server)
    assert appliance.called("xfs_quota -x -c limit -p bsoft=0k bhard=0k ihard=0 1002")


@pytest.mark.parametrize(
    ("limits", "inodes"),
    [
        ({"size": "10T"}, 10 << 26),  # one for each 16 KiB
        ({"size": "1M"}, 1 << 20),  # and a million for the smallest
        ({"size": "1T", "soft_size": "500G"}, 1 << 26),
        ({"soft_size": "1T"}, 1 << 26),
        ({}, 0),
    ],
)
def test_number_of_files_is_limited_too(appliance: Appliance, limits: dict[str, str], inodes: int) -> None:
    create(appliance, "train", **limits)
    [line] = limits_of(appliance, 1002)
    assert f" ihard={inodes} 1002 " in line


def test_limits_of_an_earlier_release_get_inodes_without_another_walk(appliance: Appliance) -> None:
    create(appliance, "train", size="1T")
    record = rendered.load()
    before = {tree: state.partition(" ihard=")[0] for tree, state in record.quotas.items()}
    write_model(rendered.record_file(), record.model_copy(update={"quotas": before}))
    (appliance.root / "srv/pool/train/file").touch()
    appliance.calls.clear()
    appliance.server().apply(store.load())
    [line] = appliance.called("xfs_quota")
    assert "ihard=67108864 1002" in line and appliance.projects.of("train/file") == 0


def test_share_that_was_removed_has_its_limits_again_with_an_earlier_state(appliance: Appliance) -> None:
    create(appliance, "train", size="1T")
    earlier = store.load()
    remove_share("train", None, appliance.server)
    appliance.calls.clear()
    appliance.server().apply(earlier)
    assert len(limits_of(appliance, 1002)) == 1


def test_walk_that_exceeds_its_time_is_not_repeated_for_each_share(
    appliance: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 1 << 20, quota.WALK_SECONDS // 2))
    monkeypatch.setattr(quota, "time", SimpleNamespace(monotonic=lambda: next(clock), sleep=None))
    with pytest.raises(Refused, match=r"did not end in 30 minutes.*; nothing was changed") as error:
        create_shares(["a", "b", "c"], {"size": "1T"}, appliance.server)
    assert "\n" not in str(error.value)
    # one limit for all of them
    assert [name for name, _ in appliance.projects.calls] == ["a"]
    assert names() == ["data"]


def test_everything_in_a_directory_that_was_there_counts_to_the_share(appliance: Appliance) -> None:
    top = appliance.root / "srv/pool/train"
    (top / "a/deep").mkdir(parents=True)
    for name in ("file", "a/file", "a/deep/file"):
        (top / name).touch()
    set_up(appliance, "train")
    every = ("", "/file", "/a", "/a/file", "/a/deep", "/a/deep/file")
    assert {name: appliance.projects.of(f"train{name}") for name in every} == dict.fromkeys(every, 1002)


def test_files_that_clients_hold_are_counted_when_they_return_them(
    appliance: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    (appliance.root / "srv/pool/train").mkdir()
    (appliance.root / "srv/pool/train/file").touch()
    opened, turns = os.open, iter([True, True, False])

    def held(path: Any, flags: int, *arguments: Any, **named: Any) -> int:
        if path == "file" and next(turns):
            raise BlockingIOError
        return opened(path, flags, *arguments, **named)

    monkeypatch.setattr(os, "open", held)
    set_up(appliance, "train")
    assert appliance.projects.of("train/file") == 1002 and next(turns, None) is None


def test_files_that_clients_never_return_are_a_sentence_and_counted_later(
    appliance: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    (appliance.root / "srv/pool/train").mkdir()
    (appliance.root / "srv/pool/train/file").touch()
    opened = os.open

    def held(path: Any, flags: int, *arguments: Any, **named: Any) -> int:
        if path == "file":
            raise BlockingIOError
        return opened(path, flags, *arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", held)
        [warning] = set_up(appliance, "train")
    assert warning == (
        "the quota of train is not set: clients hold 1 of its files: `millrace share render` tries again"
    )
    assert set_up(appliance, "train") == [] and appliance.projects.of("train/file") == 1002


def test_limit_on_a_pool_without_quotas_is_refused(appliance: Appliance) -> None:
    mount(appliance.root, "/dev/md127", "/srv/pool", "xfs", "rw,noquota")
    with pytest.raises(Refused, match="prjquota"):
        create(appliance, "train", size="1T")
    assert names() == ["data"] and not (appliance.root / "srv/pool/train").exists()
    report = create(appliance, "train")
    assert any("without project quotas" in warning for warning in report.warnings)


def test_tree_that_xfs_refuses_leaves_the_limits_of_others(
    appliance: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_shares(["good", "bad"], {"size": "1T"}, appliance.server)
    (appliance.root / "var/lib/millrace/rendered.json").unlink()
    (appliance.root / "srv/pool/bad/file").touch()
    assign = appliance.projects.assign

    def refuses(descriptor: int, project: int) -> None:
        if os.readlink(f"/proc/self/fd/{descriptor}").endswith("bad/file"):
            raise OSError(117, "Structure needs cleaning")
        assign(descriptor, project)

    monkeypatch.setattr(appliance.projects, "assign", refuses)
    report = appliance.server().apply(store.load())
    [warning] = report.warnings
    assert warning.startswith("the quota of bad is not set: ") and "millrace health" in warning
    appliance.calls.clear()
    appliance.server().apply(store.load())
    [limit] = appliance.called("xfs_quota -x -c limit")
    assert " 1003 " in limit and " 1002 " not in limit


def test_limit_that_xfs_refuses_leaves_the_limits_of_others(appliance: Appliance) -> None:
    create_shares(["good", "bad"], {"size": "1T"}, appliance.server)
    (appliance.root / "var/lib/millrace/rendered.json").unlink()

    def refuses(words: Sequence[str], stdin: str) -> Result:
        bad = any(word.endswith(" 1003") for word in words)
        return Result(0, "", "xfs_quota: cannot set limits: Input/output error\n" if bad else "")

    appliance.broken["xfs_quota"] = refuses
    assert appliance.server().apply(store.load()).warnings == [
        "the quota of bad is not set: xfs_quota limit: xfs_quota: cannot set limits: Input/output error"
    ]


def test_unknown_usage_is_an_error(appliance: Appliance) -> None:
    appliance.broken["xfs_quota"] = Result(0, "", "xfs_quota: cannot setup path for mount /srv/pool\n")
    with pytest.raises(Failed, match="cannot setup path"):
        quota.usage("/srv/pool", appliance)


def test_usage_is_read_from_xfs(appliance: Appliance) -> None:
    appliance.usage = "#0  12 0 0 00 [--------]\n#1001  2048 0 0 00 [--------]\n#1002  7 900 1000 00 [6 days]\n\n"
    assert quota.usage("/srv/pool", appliance) == {0: 12288, 1001: 2 << 20, 1002: 7168}


def test_directories_with_a_quota_of_their_own_are_usage_of_their_share(appliance: Appliance) -> None:
    first = 1001 << 16
    appliance.usage = f"#1001 1 0 0 00 [------]\n#{first + 1} 2 0 9 00 [------]\n#{first + 2} 4 0 9 00 [------]\n"
    assert quota.usage("/srv/pool", appliance)[1001] == 7 << 10
