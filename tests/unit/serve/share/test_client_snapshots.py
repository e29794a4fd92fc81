# SPDX-License-Identifier: Apache-2.0
"""Clients see the snapshots of their share and no others, and change none of them."""

import json
import os
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from millrace.serve.config import store
from millrace.serve.config.model import Config, DesiredShare, Group
from millrace.serve.share import client_snapshots, nfs
from millrace.serve.share.edit import remove_share, set_share
from millrace.serve.share.model import Share
from millrace.serve.share.smb_parameters import parameters
from millrace.system import paths
from millrace.system.errors import Failed
from tests.fakes.appliance import Appliance
from tests.fakes.samples import resolved

POOL = "/srv/pool"
NAME = "20261129T120000Z-hourly"
FORMER = "20261128T120000Z-manual"
GROUPS = [Group(name="ml", gid=2002)]


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of all snapshots, made by an earlier version."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    top = tmp_path / "srv/pool" / paths.SNAPSHOTS
    top.mkdir(parents=True)
    top.chmod(0o700)
    return top


def share(**values: Any) -> Share:
    wanted = DesiredShare.model_validate({"name": "data", "project": 1001, "type": "mixed"} | values)
    return resolved(Config(shares=[wanted], groups=GROUPS))["data"]


def made(top: Path, name: str = NAME, project: int = 1001) -> Path:
    """Make a snapshot as one is there, which users do not reach yet."""
    path = top / "data" / name
    (path / "tree").mkdir(parents=True)
    (path / "manifest.json").write_text(json.dumps({"schema_version": 1, "type": "mixed", "project": project}))
    for directory in (path, path.parent):
        directory.chmod(0o700)
    return path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def settled(*shares: Share) -> Sequence[str]:
    return client_snapshots.settle(shares, POOL)


def test_users_pass_the_way_to_the_snapshots_of_a_share_and_list_their_names(top: Path) -> None:
    snapshot = made(top)
    assert settled(share()) == []
    assert [mode(path) for path in (top, snapshot.parent, snapshot)] == [0o711, 0o755, 0o711]


def test_snapshots_of_a_share_that_shows_none_are_closed(top: Path) -> None:
    snapshot = made(top)
    settled(share())
    assert settled(share(smb={"users": ["admin"], "previous_versions": False})) == []
    assert mode(snapshot.parent) == 0o700


def test_snapshots_of_a_share_that_was_removed_are_closed(top: Path) -> None:
    snapshot = made(top)
    settled(share())
    assert settled() == [] and mode(snapshot.parent) == 0o700


def test_directory_of_a_removed_share_without_snapshots_is_removed(top: Path) -> None:
    settled(share())
    assert settled() == [] and not (top / "data").exists()


def test_snapshot_of_a_former_share_of_the_name_stays_closed(top: Path) -> None:
    own, former = made(top), made(top, FORMER, project=1000)
    former.chmod(0o711)
    settled(share())
    assert (mode(own), mode(former)) == (0o711, 0o700)


def test_snapshot_whose_manifest_cannot_be_read_stays_closed(top: Path) -> None:
    snapshot = made(top)
    (snapshot / "manifest.json").write_text("{")
    settled(share())
    assert mode(snapshot) == 0o700


def test_what_is_made_or_removed_stays_closed(top: Path) -> None:
    (top / ".stage").mkdir(mode=0o700)
    settled(share())
    assert mode(top / ".stage") == 0o700


def test_only_the_group_of_a_share_reaches_its_snapshots(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owners: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "fchown", lambda _, uid, gid: owners.append((uid, gid)))
    snapshot = made(top)
    settled(share(writing="together", group="ml"))
    assert mode(snapshot.parent) == 0o750 and owners == [(-1, 2002)]


def test_users_who_only_read_a_share_reach_its_snapshots(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fchown", lambda *_: None)
    snapshot = made(top)
    settled(share(writing="some", group="ml"))
    assert mode(snapshot.parent) == 0o755


def test_snapshot_that_is_removed_meanwhile_keeps_nobody_in(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owners: list[int] = []
    monkeypatch.setattr(os, "fchown", lambda _, uid, gid: owners.append(gid))
    own, gone = made(top), made(top, FORMER)
    listed = os.listdir

    def also_gone(at: int | Path) -> list[str]:
        names = listed(at)
        if isinstance(at, int) and FORMER in names:
            shutil.rmtree(gone)
        return names

    monkeypatch.setattr(os, "listdir", also_gone)
    assert settled(share(writing="together", group="ml")) == []
    assert (owners, mode(own), mode(own.parent)) == ([2002], 0o711, 0o750)


def test_snapshot_that_cannot_be_settled_leaves_no_former_users_in(
    top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = made(top)
    settled(share())
    (snapshot.parent / FORMER).symlink_to(tmp_path)
    monkeypatch.setattr(os, "fchown", lambda *_: None)
    [problem] = settled(share(writing="together", group="ml"))
    assert problem.startswith("clients of data do not see its snapshots: ") and mode(snapshot.parent) == 0o700


def test_directory_is_there_before_the_first_snapshot(top: Path) -> None:
    top.rmdir()
    settled(share())
    assert mode(top / "data") == 0o755


def test_link_in_place_of_a_directory_is_reported_and_not_followed(top: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (top / "data").symlink_to(elsewhere)
    [problem] = settled(share())
    assert problem.startswith("clients of data do not see its snapshots: ") and mode(elsewhere) == 0o700


def test_directory_that_adopted_drives_link_elsewhere_is_not_exported(top: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (top / "data").symlink_to(tmp_path / "elsewhere")
    shares = [share(nfs={"snapshots": True})]
    assert [each.exported_snapshots for each in client_snapshots.exportable(shares, POOL)] == [None]
    top.rename(tmp_path / "moved")
    top.symlink_to(tmp_path / "moved")
    (tmp_path / "moved/data").unlink()
    (tmp_path / "moved/data").mkdir()
    assert [each.exported_snapshots for each in client_snapshots.exportable(shares, POOL)] == [None]


@pytest.mark.parametrize(("name", "target"), [("tree", "/srv/pool/other"), ("data", "/"), ("data", "../../other")])
def test_snapshot_with_a_link_that_leads_out_of_it_stays_closed(top: Path, name: str, target: str) -> None:
    snapshot = made(top)
    if name == "tree":
        (snapshot / "tree").rmdir()
    (snapshot / name).symlink_to(target)
    assert settled(share()) == [] and mode(snapshot) == 0o700
    (snapshot / name).unlink()
    (snapshot / "tree").mkdir(exist_ok=True)
    # that of a home
    (snapshot / "data").symlink_to("tree")
    assert settled(share()) == [] and mode(snapshot) == 0o711


def test_link_in_place_of_all_snapshots_fails(top: Path, tmp_path: Path) -> None:
    top.rmdir()
    top.symlink_to(tmp_path)
    with pytest.raises(Failed, match="is not a directory"):
        settled(share())


def test_samba_looks_for_snapshots_where_they_are_by_their_time(top: Path) -> None:
    shown = parameters(share())
    assert {name: text for name, text in shown.items() if name.startswith("shadow:")} == {
        "shadow:mountpoint": "/srv/pool",
        "shadow:snapdir": "/srv/pool/.millrace-snapshots/data",
        "shadow:snapsharepath": "tree",
        "shadow:snapprefix": "^$",
        "shadow:delimiter": "20",
        "shadow:format": "%Y%m%dT%H%M%SZ",
    }
    assert NAME.startswith(shown["shadow:delimiter"])


def test_samba_adds_the_home_of_a_user_to_a_snapshot(top: Path) -> None:
    found = parameters(share(type="home", nfs={"enabled": False}))
    assert found["vfs objects"].endswith("acl_xattr shadow_copy2") and "shadow:snapsharepath" not in found


@pytest.mark.parametrize("smb", [{"users": ["admin"], "previous_versions": False}, {"enabled": False}])
def test_share_without_previous_versions_has_no_module_for_them(top: Path, smb: dict[str, Any]) -> None:
    assert "shadow_copy2" not in parameters(share(smb=smb)).get("vfs objects", "")


def test_smb_direct_has_no_previous_versions(top: Path) -> None:
    direct = share(smb={"users": ["admin"], "direct": True}, nfs={"enabled": False})
    made(top)
    settled(direct)
    assert parameters(direct) == {} and mode(top / "data") == 0o700


def test_snapshots_are_exported_read_only_to_the_clients_of_the_share_as_they_mount_it(top: Path) -> None:
    client = {"client": "10.0.0.0/24", "squash": "none", "sec": ["krb5p"], "xprtsec": ["tls"]}
    lines = nfs.exports([share(nfs={"clients": [client], "snapshots": True})]).splitlines()
    [own, snapshots] = [line for line in lines if line.startswith("/")]
    assert snapshots.startswith("/srv/pool/.millrace-snapshots/data 10.0.0.0/24(ro,sync,")
    assert "no_root_squash" in snapshots and snapshots.endswith("sec=krb5p,xprtsec=tls)")
    fsids = {line.partition("fsid=")[2].partition(",")[0] for line in (own, snapshots)}
    assert len(fsids) == 2


def test_snapshots_are_exported_only_where_that_is_switched_on(top: Path) -> None:
    assert share().exported_snapshots is None
    assert paths.SNAPSHOTS not in nfs.exports([share()])
    assert share(nfs={"enabled": False, "snapshots": True}).exported_snapshots is None


ROOT_CLIENT = {"client": "10.0.0.0/24", "squash": "none"}


def test_snapshots_are_not_exported_to_root_beside_one_of_a_former_share(top: Path) -> None:
    wanted = share(nfs={"clients": [ROOT_CLIENT], "snapshots": True})
    made(top)
    assert client_snapshots.exportable([wanted], POOL) == [wanted] and client_snapshots.obstacles([wanted], POOL) == []
    made(top, FORMER, project=1000)
    [exported] = client_snapshots.exportable([wanted], POOL)
    assert exported.exported_snapshots is None
    [problem] = client_snapshots.obstacles([wanted], POOL)
    assert problem.startswith("the snapshots of data are not exported: some of them are of a former share")


def test_snapshot_that_cannot_be_read_takes_no_others_from_clients_whose_root_is_squashed(top: Path) -> None:
    wanted = share(nfs={"snapshots": True})
    own, unreadable = made(top), made(top, FORMER)
    (unreadable / "manifest.json").write_text("{")
    settled(wanted)
    assert client_snapshots.exportable([wanted], POOL) == [wanted] and client_snapshots.obstacles([wanted], POOL) == []
    assert (mode(own), mode(unreadable)) == (0o711, 0o700)


def test_settings_are_kept_and_served(appliance: Appliance) -> None:
    set_share("data", {"previous_versions": False, "nfs_snapshots": True}, appliance.server)
    after = store.load().share("data")
    assert after is not None and (after.smb.previous_versions, after.nfs.snapshots) == (False, True)
    assert f"{POOL}/{paths.SNAPSHOTS}/data" in appliance.exported()
    assert "shadow_copy2" not in (appliance.root / "etc/samba/smb.conf").read_text()


def test_removed_share_leaves_its_snapshots_to_root(appliance: Appliance) -> None:
    set_share("data", {"comment": "all of it"}, appliance.server)
    snapshots = appliance.root / "srv/pool" / paths.SNAPSHOTS / "data"
    (snapshots / NAME).mkdir()
    assert mode(snapshots) == 0o755
    remove_share("data", None, appliance.server)
    assert mode(snapshots) == 0o700
