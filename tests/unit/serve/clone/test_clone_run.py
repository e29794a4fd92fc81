# SPDX-License-Identifier: Apache-2.0
"""A clone is there completely or not at all, whatever ends it, and a sealed one stays as it is."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from millrace.serve.clone import clone_job, clone_model, clone_run
from millrace.serve.clone.clone_job import Reflinks
from millrace.serve.clone.clone_model import Clone
from millrace.serve.config import files, store
from millrace.serve.share import quota
from millrace.serve.share.edit import create_shares, remove_share, set_share, unseal_share
from millrace.serve.share.server import ShareServer
from millrace.storage.record.model import Pool
from millrace.system import locks, paths
from millrace.system.documents import write_model
from millrace.system.errors import BadInput, Failed, MillraceError, Refused
from millrace.system.jobs import job_paths, record
from millrace.system.run import Result
from tests.fakes.appliance import Appliance, remove_trees


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def projects() -> list[int]:
    return []


@pytest.fixture
def links(projects: list[int]) -> Reflinks:
    return Reflinks(
        share=lambda source, target: os.sendfile(target, source, 0, 1 << 20) and None,
        project=lambda descriptor: 1001,
        set_project=lambda descriptor, number: projects.append(number),
    )


@pytest.fixture
def data(appliance: Appliance, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A share with a data set in it; removing a tree removes it."""
    for name in ("chown", "fchown"):
        monkeypatch.setattr(os, name, lambda *_, **__: None)
    appliance.TAKEN = (*appliance.TAKEN, "xfs_quota -x -c report?-p?-n?-N?-i /srv/pool")
    create_shares(["models"], {"nfs_clients": ("10.0.0.0/24 squash=none",)}, appliance.server)
    top = appliance.root / "srv/pool/data/imagenet"
    (top / "train").mkdir(parents=True)
    (top / "train/one").write_text("1")
    (top / "link").symlink_to("/etc/shadow")
    remove_trees(appliance)
    return top


def ordered(appliance: Appliance, source: str, target: str, seal: bool = False, limit: str | None = None) -> None:
    write_model(job_paths.clone_order_file(), clone_job.prepare(source, target, seal, limit, appliance.server()))


def cloned(appliance: Appliance, links: Reflinks, source: str, target: str, seal: bool = False) -> Clone:
    ordered(appliance, source, target, seal)
    return clone_run.execute(appliance.server(), links)


def rest(appliance: Appliance) -> list[str]:
    stage = appliance.root / "srv/pool" / paths.CLONES
    return os.listdir(stage) if stage.exists() else []


def test_directory_is_cloned_beside_itself_in_its_project(
    appliance: Appliance, data: Path, links: Reflinks, projects: list[int]
) -> None:
    done = cloned(appliance, links, "data/imagenet", "data/imagenet-2")
    made = data.with_name("imagenet-2")
    assert (made / "train/one").read_text() == "1" and (made / "link").is_symlink()
    assert (done.state, done.entries, done.share, projects) == ("done", 4, False, [1001])
    assert clone_model.load() == done and rest(appliance) == []


def test_share_is_cloned_to_a_share_for_the_same_clients(
    appliance: Appliance, data: Path, links: Reflinks, projects: list[int]
) -> None:
    (appliance.root / "srv/pool/models/weights").write_text("w")
    before = store.load().next_project
    done = cloned(appliance, links, "models", "models-2")
    assert done.state == "done" and done.share and any("models-2" in line for line in done.verified)
    assert "no_root_squash" in appliance.exported()["/srv/pool/models-2"]
    assert (appliance.root / "srv/pool/models-2/weights").read_text() == "w"
    # what is there already is not walked again
    assert projects == [before] and not [name for name, _ in appliance.projects.calls if name.startswith("models-2")]
    assert store.history.last_good().what == "share clone models models-2"  # type: ignore[attr-defined,union-attr]


def test_sealed_clone_is_read_only_for_every_protocol_until_it_is_unsealed(
    appliance: Appliance, data: Path, links: Reflinks
) -> None:
    (appliance.root / "srv/pool/models/weights").write_text("w")
    assert cloned(appliance, links, "models", "golden", seal=True).sealed
    assert appliance.exported()["/srv/pool/golden"].startswith("10.0.0.0/24(ro,")
    assert appliance.on_smb()["golden"]["read only"] == "yes"
    for change in (
        lambda: set_share("golden", {"type": "training"}, appliance.server),
        lambda: set_share("golden", {"nfs_clients": ("10.0.0.0/24 access=rw",)}, appliance.server),
        lambda: remove_share("golden", None, appliance.server),
        lambda: store.change("test", "config import", lambda config: config.model_copy(update={"shares": []})),
    ):
        with pytest.raises(MillraceError, match=r"golden is (sealed|a dataset-ro)"):
            change()
    assert store.load().share("golden").sealed  # type: ignore[union-attr]
    unseal_share("golden", appliance.server)
    with pytest.raises(Refused, match="golden is not sealed"):
        unseal_share("golden", appliance.server)
    set_share("golden", {"type": "training", "nfs_clients": ("10.0.0.0/24",)}, appliance.server)
    assert appliance.exported()["/srv/pool/golden"].startswith("10.0.0.0/24(rw,")


@pytest.mark.parametrize(
    ("source", "target", "seal", "words"),
    [
        ("data/imagenet", "models", False, "share models already exists"),
        ("data/imagenet", "data/imagenet", False, "data/imagenet already exists"),
        ("data/imagenet", "data/no/imagenet", False, "data/no is not a directory, or a link is on its path"),
        ("data/imagenet/link", "data/x", False, "data/imagenet/link is not a directory, or a link is on its path"),
        ("data/nothing", "data/x", False, "data/nothing is not a directory, or a link"),
        ("nothing", "data/x", False, "share nothing does not exist"),
        ("data/../models", "data/x", False, "is not a directory of a share: write it like data/imagenet"),
        ("data/imagenet", "data/x", True, "only a share can be sealed"),
        ("data/imagenet", "Upper", False, "cannot be the name of a share"),
    ],
)
def test_what_cannot_be_cloned_is_refused_before_anything_begins(
    appliance: Appliance, data: Path, source: str, target: str, seal: bool, words: str
) -> None:
    with pytest.raises((Refused, BadInput, Failed), match=words):
        ordered(appliance, source, target, seal)
    assert not job_paths.clone_order_file().exists()


def test_directory_of_the_pool_without_a_share_is_not_replaced(appliance: Appliance, data: Path) -> None:
    (appliance.root / "srv/pool/old").mkdir()
    with pytest.raises(Refused, match="old already exists"):
        ordered(appliance, "data/imagenet", "old")


def test_clone_that_does_not_fit_begins_nothing(appliance: Appliance, data: Path, links: Reflinks) -> None:
    appliance.usage = "#1001  1000  0  1001 00 [--------]\n"
    (data / "large").write_bytes(b"x" * (1 << 20))
    ordered(appliance, "data/imagenet", "data/x")
    with pytest.raises(Failed, match=r"data/x would hold .* count against its quota .* and 1.02 kB are left"):
        clone_run.execute(appliance.server(), links)
    assert clone_model.load().state == "failed" and rest(appliance) == []  # type: ignore[union-attr]
    assert not data.with_name("x").exists()


@pytest.mark.parametrize(
    ("blocks", "inodes", "words"),
    [
        (2, 1000, "writes about 8.19 kB of metadata, and the pool has too little free space"),
        (1000, 3, "has 4 files and directories, and the pool has 3 free inodes"),
    ],
)
def test_clone_without_room_in_the_pool_begins_nothing(
    appliance: Appliance,
    data: Path,
    links: Reflinks,
    monkeypatch: pytest.MonkeyPatch,
    blocks: int,
    inodes: int,
    words: str,
) -> None:
    space = os.statvfs_result((4096, 4096, 9000, blocks, blocks, 9000, inodes, inodes, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: space)
    ordered(appliance, "data/imagenet", "data/x")
    with pytest.raises(Failed, match=f"data/imagenet is not cloned: the clone {words}"):
        clone_run.execute(appliance.server(), links)
    assert clone_model.load().state == "failed" and rest(appliance) == []  # type: ignore[union-attr]
    assert not data.with_name("x").exists()


def test_target_that_a_client_creates_meanwhile_is_kept(appliance: Appliance, data: Path, links: Reflinks) -> None:
    mine = data.with_name("x")

    def share(source: int, target: int) -> None:
        mine.mkdir(exist_ok=True)
        (mine / "mine").write_text("mine")

    ordered(appliance, "data/imagenet", "data/x")
    with pytest.raises(Failed, match="data/x already exists"):
        clone_run.execute(appliance.server(), replace(links, share=share))
    assert os.listdir(mine) == ["mine"] and rest(appliance) == []


@pytest.mark.parametrize("target", ["data/x", "x"])
@pytest.mark.parametrize("moment", ["share", "rename", "after rename"])
def test_killed_clone_leaves_nothing_or_everything(
    appliance: Appliance, data: Path, links: Reflinks, monkeypatch: pytest.MonkeyPatch, target: str, moment: str
) -> None:
    rename = os.rename

    def killed(*arguments: object, **options: object) -> None:
        if moment == "after rename":
            rename(*arguments, **options)  # type: ignore[arg-type]
        raise Killed

    ordered(appliance, "data/imagenet", target)
    with monkeypatch.context() as patched, pytest.raises(Killed):
        if moment == "share":
            links = replace(links, share=killed)
        else:
            patched.setattr(os, "rename", killed)
        clone_run.execute(appliance.server(), links)
    swept = [*appliance.calls]
    clone_run.end(appliance.server, stopped=False)
    # millions of files hold neither the end of the unit nor a shutdown
    assert not any(call[0] == "rm" for call in appliance.calls[len(swept) :])
    assert clone_run.sweep(appliance.server())
    last, job = clone_model.load(), record.load("clone")
    made = appliance.root / "srv/pool" / target
    # a tree that was to become a share and is none is removed
    complete = moment == "after rename" and target == "data/x"
    assert last is not None and job is not None
    assert last.state == job.state == ("done" if complete else "interrupted")
    assert made.exists() == complete and rest(appliance) == []
    assert store.load().share("x") is None and "/srv/pool/x" not in appliance.exported()


def test_cancelled_clone_is_recorded_as_that(appliance: Appliance, data: Path, links: Reflinks) -> None:
    def killed(source: int, target: int) -> None:
        raise Killed

    ordered(appliance, "data/imagenet", "data/x")
    with pytest.raises(Killed):
        clone_run.execute(appliance.server(), replace(links, share=killed))
    clone_run.end(appliance.server, stopped=True)
    last = clone_model.load()
    assert last is not None and last.state == "cancelled" and rest(appliance) == ["tree"]
    assert clone_run.sweep(appliance.server()) and rest(appliance) == []


def killed_while_it_copied(appliance: Appliance, links: Reflinks) -> None:
    def killed(source: int, target: int) -> None:
        raise Killed

    ordered(appliance, "data/imagenet", "data/x")
    with pytest.raises(Killed):
        clone_run.execute(appliance.server(), replace(links, share=killed))


def test_end_of_a_killed_clone_is_recorded_while_the_pool_does_not_reply(
    appliance: Appliance, data: Path, links: Reflinks
) -> None:
    def silent() -> ShareServer:
        raise Failed("mdadm --detail did not finish in 20 s")

    killed_while_it_copied(appliance, links)
    # another `share clone` starts, and the cleanup of one before goes on
    with locks.held(paths.run_dir() / "jobs/start.lock"), clone_job.lock():
        clone_run.end(silent, stopped=False)
    assert clone_model.load().state == "interrupted"  # type: ignore[union-attr]


def test_sweep_leaves_a_clone_alone_that_is_under_way(appliance: Appliance, data: Path, links: Reflinks) -> None:
    killed_while_it_copied(appliance, links)
    with clone_job.lock():
        assert not clone_run.sweep(appliance.server())
    assert rest(appliance) == ["tree"] and clone_model.load().state == "running"  # type: ignore[union-attr]
    assert job_paths.clone_order_file().exists() and record.load("clone").state == "running"  # type: ignore[union-attr]


def test_order_that_waits_for_its_unit_outlives_the_cleanup_of_the_clone_before(
    appliance: Appliance, data: Path, links: Reflinks
) -> None:
    killed_while_it_copied(appliance, links)
    clone_run.end(appliance.server, stopped=False)
    ordered(appliance, "data/imagenet", "data/y")
    record.begin("clone", "data/imagenet to data/y", "root")
    assert clone_run.sweep(appliance.server())
    assert job_paths.clone_order_file().exists() and record.load("clone").state == "running"  # type: ignore[union-attr]


def test_move_back_waits_for_a_change_of_the_shares(
    appliance: Appliance, data: Path, links: Reflinks, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[str] = []
    plain = quota.expect

    def expect(name: str, project: int, pool: Pool) -> None:
        if project == 0:
            with pytest.raises(Refused, match="held"), locks.held(files.lock_file(), "held"):
                pass
            held.append(name)
        plain(name, project, pool)

    rename = os.rename

    def killed(*arguments: object, **options: object) -> None:
        rename(*arguments, **options)  # type: ignore[arg-type]
        raise Killed

    ordered(appliance, "data/imagenet", "x")
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(os, "rename", killed)
        clone_run.execute(appliance.server(), links)
    monkeypatch.setattr(quota, "expect", expect)
    clone_run.end(appliance.server, stopped=False)
    assert held == ["x"] and rest(appliance) == ["tree"]


def test_share_that_is_not_served_is_rolled_back_with_its_tree(
    appliance: Appliance, data: Path, links: Reflinks
) -> None:
    appliance.broken["smbcontrol smbd reload"] = Result(1, "", "no")
    ordered(appliance, "data/imagenet", "x")
    with pytest.raises(Failed, match="reload-config failed"):
        clone_run.execute(appliance.server(), links)
    assert not (appliance.root / "srv/pool/x").exists() and rest(appliance) == []
    assert store.load().share("x") is None


def test_forecast_uses_the_rate_of_the_last_clone(appliance: Appliance, data: Path, links: Reflinks) -> None:
    order = clone_job.prepare("data/imagenet", "data/x", False, None, appliance.server())
    first = clone_job.estimate(order, appliance.server(), lambda _: None, links)
    assert (first.entries, first.measured, first.obstacle) == (4, False, None) and first.metadata == 4 * 2048
    done = cloned(appliance, links, "data/imagenet", "data/y")
    clone_model.save(done.model_copy(update={"entries": 8000, "seconds": 8000.0}))
    again = clone_job.estimate(order, appliance.server(), lambda _: None, links)
    assert again.measured and again.seconds == 4
