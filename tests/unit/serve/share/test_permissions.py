# SPDX-License-Identifier: Apache-2.0
"""Who may write in a share: its top directory, its masks, and what a change of it does."""

import os
import struct
from collections.abc import Callable
from typing import Any

import pytest

from millrace.serve.account.edit import remove_group
from millrace.serve.config import store
from millrace.serve.config.model import Config, DesiredShare, Group, User
from millrace.serve.share import permissions
from millrace.serve.share.details import details, lines
from millrace.serve.share.edit import create_shares, set_share
from millrace.serve.share.model import ChangeReport
from millrace.serve.share.smb_parameters import parameters
from millrace.system import posix_acl
from millrace.system.errors import BadInput, Refused
from millrace.system.run import Result
from millrace.system.trees import nofollow
from tests.fakes.appliance import Appliance
from tests.fakes.samples import resolved

LAB = 2010


@pytest.fixture(autouse=True)
def owners(appliance: Appliance, monkeypatch: pytest.MonkeyPatch) -> dict[int, tuple[int, int]]:
    """User and group by inode, as root would have set them."""
    given: dict[int, tuple[int, int]] = {}
    fstat = os.fstat

    def owned(descriptor: int) -> os.stat_result:
        values = list(fstat(descriptor))
        values[4:6] = given.get(values[1], (0, 0))
        return os.stat_result(values)

    monkeypatch.setattr(os, "getuid", lambda: 0)
    monkeypatch.setattr(os, "getgid", lambda: 0)
    monkeypatch.setattr(os, "fchown", lambda fd, uid, gid: given.update({fstat(fd).st_ino: (uid, gid)}))
    monkeypatch.setattr(os, "fstat", owned)
    return given


@pytest.fixture(autouse=True)
def people(appliance: Appliance) -> None:
    appliance.joined()

    def add(config: Config) -> Config:
        lab = Group(name="lab", gid=LAB)
        users = [User(name="lena", uid=2000, groups=["lab"]), User(name="omar", uid=2001)]
        return config.model_copy(update={"groups": [lab], "users": users})

    store.change("root", "people", add)


def create(appliance: Appliance, **settings: Any) -> ChangeReport:
    return create_shares(["team"], settings, appliance.server)


def change(appliance: Appliance, **settings: Any) -> ChangeReport:
    return set_share("team", settings, appliance.server)


def top(appliance: Appliance, name: str = "team") -> tuple[int, int, int, bytes | None]:
    path = appliance.root / "srv/pool" / name
    with nofollow.directory(path) as at:
        status = os.fstat(at)
    return status.st_uid, status.st_gid, status.st_mode & 0o7777, posix_acl.read(str(path), posix_acl.DEFAULT)


ALL = (0, 0, 0o777, posix_acl.encode(0o777))
OWN = (0, 0, 0o1777, None)
MEMBERS = (0, LAB, 0o2770, posix_acl.encode(0o770))
SOME = (0, LAB, 0o2775, posix_acl.encode(0o775))


@pytest.mark.parametrize(
    ("settings", "expected", "file", "directory"),
    [
        ({}, ALL, "0766", "0777"),
        ({"type": "training"}, ALL, "0766", "0777"),
        ({"group": "lab"}, MEMBERS, "0760", "2770"),
        ({"writing": "some", "group": "lab"}, SOME, "0764", "2775"),
        ({"writing": "own"}, OWN, None, None),
        ({"time_machine": True, "nfs": False}, OWN, None, None),
        ({"writing": "own", "type": "training"}, OWN, "0764", "2775"),
        ({"writing": "own", "type": "checkpoint"}, OWN, "0760", "2770"),
    ],
)
def test_new_share_has_the_directory_and_the_masks_of_its_rule(
    appliance: Appliance, settings: dict[str, Any], expected: object, file: str | None, directory: str | None
) -> None:
    report = create(appliance, **settings)
    assert top(appliance) == expected
    assert report.share is not None
    found = parameters(report.share)
    assert (found.get("create mask"), found.get("directory mask")) == (file, directory)


def test_directory_that_exists_gets_the_rule_and_its_content_does_not(appliance: Appliance) -> None:
    path = appliance.root / "srv/pool/team"
    path.mkdir()
    (path / "file").touch(0o600)
    path.chmod(0o700)
    report = create(appliance)
    assert report.warnings == [
        "/srv/pool/team existed with content: its mode was 0700 and is now 0777, as team says who may write; "
        "to close it: chmod 0700 /srv/pool/team"
    ]
    assert top(appliance) == ALL
    assert (path / "file").stat().st_mode & 0o777 == 0o600


def test_directory_that_exists_keeps_its_mode_where_each_writes_their_own(appliance: Appliance) -> None:
    (appliance.root / "srv/pool/team").mkdir(0o750)
    create(appliance, writing="own")
    assert top(appliance)[2] == 0o750


def test_directory_that_a_power_cut_left_unfinished_is_finished(appliance: Appliance) -> None:
    create(appliance)
    path = appliance.root / "srv/pool/team"
    posix_acl.write(str(path), posix_acl.DEFAULT, None)
    path.chmod(0o700)
    appliance.server().prepare(appliance.server().shares(store.load()))
    assert top(appliance) == ALL


def test_directory_with_content_that_root_closed_stays_closed(appliance: Appliance) -> None:
    create(appliance)
    path = appliance.root / "srv/pool/team"
    (path / "file").touch()
    path.chmod(0o700)
    appliance.server().prepare(appliance.server().shares(store.load()))
    change(appliance, comment="x")
    assert top(appliance)[2] == 0o700


def test_each_change_of_the_rule_sets_the_directory(appliance: Appliance) -> None:
    create(appliance)
    for settings, expected in (
        ({"group": "lab"}, MEMBERS),
        ({"writing": "some"}, SOME),
        ({"writing": "own"}, OWN),
        ({"writing": "together"}, ALL),
        ({"group": "lab"}, MEMBERS),
        ({"group": "none"}, ALL),
    ):
        change(appliance, **settings)
        assert top(appliance) == expected, settings
    # what an administrator did by hand is no business of other changes
    (appliance.root / "srv/pool/team").chmod(0o755)
    change(appliance, comment="x")
    assert top(appliance)[2] == 0o755


def test_share_that_changes_its_type_has_the_rule_again_when_it_can_be_written(appliance: Appliance) -> None:
    create(appliance, type="dataset-ro")
    assert top(appliance) == (0, 0, 0o755, None)
    change(appliance, type="training")
    assert top(appliance) == ALL


def test_share_that_becomes_one_of_homes_hands_nothing_down(appliance: Appliance) -> None:
    create(appliance, nfs=False)
    change(appliance, type="home", smb_users=("lena",))
    assert top(appliance) == (0, 0, 0o755, None)
    assert (appliance.root / "srv/pool/team/lena").stat().st_mode & 0o777 == 0o700


def test_change_that_fails_puts_the_directory_back(appliance: Appliance) -> None:
    create(appliance, group="lab")
    appliance.broken["testparm -s"] = Result(1, "", "no")
    with pytest.raises(Refused, match="nothing was changed"):
        change(appliance, writing="own")
    assert top(appliance) == MEMBERS


@pytest.mark.parametrize("back", [False, True])
def test_directory_with_a_list_is_never_wider_than_before_or_after(
    appliance: Appliance, monkeypatch: pytest.MonkeyPatch, back: bool
) -> None:
    path = appliance.root / "srv/pool/listed"
    path.mkdir(0o700)
    entries = ((0x01, 7, -1), (0x02, 5, 1002), (0x04, 0, -1), (0x10, 5, -1), (0x20, 0, -1))
    packed = b"".join(struct.pack("<HHI", tag, bits, number & 0xFFFFFFFF) for tag, bits, number in entries)
    posix_acl.write(str(path), posix_acl.ACCESS, struct.pack("<I", 2) + packed)
    with nofollow.directory(path) as at:
        listed = permissions.state(at)
        closed = permissions.TopState((0, 0), 0o700, None, None)
        if back:
            permissions.restore(at, closed)
        seen: list[int] = []

        def looked(work: Callable[..., None]) -> Callable[..., None]:
            def done(*given: Any) -> None:
                work(*given)
                if posix_acl.read(at, posix_acl.ACCESS) is None:
                    seen.append(os.fstat(at).st_mode & 0o077)

            return done

        for module, name in ((posix_acl, "write"), (os, "fchmod"), (os, "fchown")):
            monkeypatch.setattr(module, name, looked(getattr(module, name)))
        permissions.restore(at, listed if back else closed)
        assert seen and set(seen) == {0}
        assert permissions.state(at) == (listed if back else closed)


def test_state_from_before_is_each_users_own() -> None:
    old = DesiredShare(name="old", type="mixed", project=1001)
    assert (old.writing, old.group) == ("own", None)
    assert "create mask" not in parameters(resolved(Config(shares=[old]))["old"])


@pytest.mark.parametrize("share_type", ["home", "dataset-ro"])
@pytest.mark.parametrize("option", [{"writing": "own"}, {"group": "lab"}])
def test_type_with_a_rule_of_its_own_takes_none(appliance: Appliance, share_type: str, option: dict[str, str]) -> None:
    with pytest.raises(BadInput, match=f"team has the type {share_type}, which determines who may write"):
        create(appliance, type=share_type, **option)
    assert store.load().share("team") is None


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"writing": "some"}, "team needs the group that writes"),
        ({"writing": "own", "group": "lab"}, "team needs no group"),
        ({"group": "nobody"}, "share team names the unknown group nobody: millrace group create nobody"),
    ],
)
def test_rule_that_contradicts_itself_is_refused(appliance: Appliance, settings: dict[str, str], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        create(appliance, **settings)
    assert not (appliance.root / "srv/pool/team").exists()


def test_members_of_the_group_open_a_new_share(appliance: Appliance) -> None:
    create(appliance, group="lab")
    kept = store.load().share("team")
    assert kept is not None and (kept.smb.users, kept.smb.groups) == ([], ["lab"])


def test_user_who_opens_a_share_of_a_group_without_being_in_it_is_named(appliance: Appliance) -> None:
    report = create(appliance, group="lab", smb_users=("lena", "omar"))
    assert report.warnings == ["omar is not in group lab, which team is for, and cannot read it"]


def test_verification_enters_as_a_member(appliance: Appliance) -> None:
    seen: list[str] = []
    appliance.before["exportfs -ra"] = lambda: seen.extend(
        path.read_text() for path in (appliance.root / "etc/exports.d").glob("millrace-verify.exports")
    )
    create(appliance, group="lab")
    assert any(f"all_squash,secure,anongid={LAB},fsid=" in text for text in seen)


def test_group_that_writes_is_not_removed(appliance: Appliance) -> None:
    create(appliance, group="lab", smb_users=("lena",))
    with pytest.raises(Refused, match="the share team names the group lab"):
        remove_group("lab", appliance)


def test_share_is_shown_with_its_directory(appliance: Appliance) -> None:
    create(appliance, writing="own")
    pool = appliance.server().pool
    seen = details("team", pool, [], appliance)
    assert (seen.mode, seen.follows) == ("1777", True)
    os.chmod(appliance.root / "srv/pool/team", 0o755)
    appliance.broken["smbstatus --json"] = Result(0, "{}", "")
    seen = details("team", pool, [], appliance)
    assert (seen.caching, seen.problem) == ("none", None) and seen.connections is not None
    shown = lines(seen)
    assert "Connected: " in "\n".join(shown) and "100 requests instead of 1" in "\n".join(shown)
    (line,) = [line for line in shown if line.startswith("Directory:")]
    assert line.endswith(" 0755, not as the rule says: millrace share permissions team --apply")
    with pytest.raises(Refused, match="share nowhere does not exist"):
        details("nowhere", pool, [], appliance)


def test_rule_in_words() -> None:
    share = resolved(Config(shares=[DesiredShare(name="a", type="mixed", project=1001)]))["a"]
    say = [
        permissions.words(share.model_copy(update={"writing": writing, "group": group}))
        for writing, group in (("own", None), ("together", None), ("together", "lab"), ("some", "lab"))
    ]
    assert say == [
        "all users of the share create files; each user changes only their own",
        "all users of the share write everything",
        "members of lab write everything",
        "members of lab write; all users of the share read",
    ]
