# SPDX-License-Identifier: Apache-2.0
"""NT ACLs that name the owner by a former SID are counted and repaired; accounts of a domain are left."""

import errno
import os
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from millrace.observe.health.checks import smb as smb_check
from millrace.observe.health.host import Host
from millrace.observe.health.model import Level
from millrace.serve.config.model import Config, DesiredShare, User, first_config
from millrace.serve.config.store import Loaded
from millrace.serve.share import file_sids, machine_sid, sid_record
from millrace.serve.share.file_sids import Home, SidCount
from millrace.serve.share.repair_sid import repair
from millrace.serve.share.verbs import share
from millrace.serve.share.verify import SID_SECONDS, _former_sids, verify
from millrace.system import paths
from millrace.system.trees import nofollow
from millrace.system.trees.opener import Opener, Place
from tests.fakes.appliance import Appliance
from tests.fakes.samba import FIRST
from tests.fakes.samples import pool

# As Samba 4.25.1 writes it for a new file of the user with the RID 1000.
ACL = bytes.fromhex(
    "04000400000002000400020001009716e08bcc5601a91098035f095e6f4dbe111ad47563cf5291d1bc2a20bc5c4300000000"
    "00000000000000000000000000000000000000000000000000000000706f7369785f61636c000000000000000000714195fd"
    "c5c55444cdd02510b02cff24ca3d95c96539ef62ce5066719722982d00000000000000000000000000000000000000000000"
    "0000000000000000000001000480b4000000d000000000000000ec000000010500000000000515000000a23b9e6fc1f118a5"
    "90cf506ee8030000010500000000000515000000a23b9e6fc1f118a590cf506e01020000020064000300000000002400ff01"
    "1f00010500000000000515000000a23b9e6fc1f118a590cf506ee80300000000240000000000010500000000000515000000"
    "a23b9e6fc1f118a590cf506e010200000000140000000000010100000000000100000000"
)
OLD = "S-1-5-21-1872640930-2769875393-1850789776"
UID = os.getuid()


class Attributes:
    """Extended attributes of files by inode: security.* is for root alone, and tmpfs may have none."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.acls: dict[int, bytes] = {}
        monkeypatch.setattr(os, "getxattr", self.get)
        monkeypatch.setattr(os, "setxattr", self.set)

    def get(self, file: int | str, name: str, *, follow_symlinks: bool = True) -> bytes:
        assert name == "security.NTACL" and (isinstance(file, int) or not follow_symlinks)
        try:
            return self.acls[os.stat(file, follow_symlinks=isinstance(file, int)).st_ino]
        except KeyError:
            raise OSError(errno.ENODATA, "No data available") from None

    def set(self, file: int, name: str, value: bytes, flags: int) -> None:
        assert (name, flags) == ("security.NTACL", os.XATTR_REPLACE)
        self.acls[os.fstat(file).st_ino] = value

    def give(self, path: Path, acl: bytes = ACL) -> Path:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("mine")
        self.acls[path.stat().st_ino] = acl
        return path

    def of(self, path: Path) -> bytes:
        return self.acls[path.stat().st_ino]


@pytest.fixture
def attributes(monkeypatch: pytest.MonkeyPatch) -> Attributes:
    return Attributes(monkeypatch)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / "anna").mkdir()
    return Home(tmp_path / "anna", "anna", UID)


def test_owner_in_an_acl_of_samba() -> None:
    named = file_sids.owner(ACL)
    assert named is not None and (named.sid, named.rid) == (OLD, 1000)


@pytest.mark.parametrize(
    "acl", [b"", b"\4\0\4\0", ACL[:150], b"\xff" * 400, ACL.replace(bytes((21, 0, 0, 0)), b"\0" * 4)]
)
def test_what_names_no_account_has_no_owner_and_is_left(acl: bytes) -> None:
    assert file_sids.owner(acl) is None
    assert file_sids.replaced(acl, OLD, FIRST) == acl or len(acl) > 150


def test_every_account_of_the_former_sid_is_replaced_and_nothing_else() -> None:
    new = file_sids.replaced(ACL, OLD, FIRST)
    named = file_sids.owner(new)
    assert named is not None and (named.sid, named.rid) == (FIRST, 1000)
    assert len(new) == len(ACL) and new[:160] == ACL[:160]
    assert file_sids.replaced(new, FIRST, OLD) == ACL and file_sids.replaced(ACL, FIRST, OLD) == ACL


def test_files_of_a_home_say_which_sid_they_have(attributes: Attributes, home: Home, appliance: Appliance) -> None:
    assert file_sids.of_files([home], appliance) is None
    attributes.give(home.path / "a")
    attributes.give(home.path / "b")
    attributes.give(home.path / "c", file_sids.replaced(ACL, OLD, FIRST))
    assert file_sids.of_files([home], appliance) == OLD


def test_account_with_another_rid_than_the_user_is_one_of_a_domain(
    attributes: Attributes, appliance: Appliance, home: Home
) -> None:
    path = attributes.give(home.path / "a")
    berts = Home(home.path, "bert", UID)
    assert file_sids.of_files([berts], appliance) is None
    counted = SidCount()
    file_sids.count([berts], FIRST, file_sids.rids([berts], appliance), counted, replace=True, tick=lambda: None)
    assert counted == SidCount() and attributes.of(path) == ACL


def test_repair_walks_all_of_a_home_and_follows_no_link(
    attributes: Attributes, appliance: Appliance, home: Home, tmp_path: Path
) -> None:
    deep = attributes.give(home.path / "dir/in/file")
    attributes.give(home.path / "dir")
    outside = attributes.give(tmp_path / "outside")
    (home.path / "link").symlink_to(outside)
    os.mkfifo(home.path / "pipe")
    known, counted = file_sids.rids([home], appliance), SidCount()
    file_sids.count([home], FIRST, known, counted, replace=False, tick=lambda: None)
    assert counted.others == Counter({OLD: 2}) and attributes.of(deep) == ACL
    file_sids.count([home], FIRST, known, SidCount(), replace=True, tick=lambda: None)
    assert attributes.of(outside) == ACL
    after = SidCount()
    file_sids.count([home], FIRST, known, after, replace=True, tick=lambda: None)
    assert (after.right, after.others) == (2, Counter())


def homes_of_anna(uid: int = UID) -> Config:
    wanted = DesiredShare.model_validate(
        {"name": "home", "type": "home", "project": 1002, "nfs": {"enabled": False}, "smb": {"users": ["anna"]}}
    )
    user = User.model_construct(name="anna", uid=uid, groups=[], comment="")
    return first_config().model_copy(update={"shares": [wanted], "users": [user]})


def test_health_names_the_command_and_the_command_repairs(
    attributes: Attributes, appliance: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = homes_of_anna()
    monkeypatch.setattr("millrace.serve.config.store.load", lambda: config)
    monkeypatch.setattr("millrace.serve.config.store.read", lambda: Loaded(config))
    appliance.server().apply(config)
    path = attributes.give(appliance.root / "srv/pool/home/anna/mine.txt")

    def level() -> list[Level]:
        return [one.level for one in smb_check._sid(Host(appliance), pool()) if one.todo == "millrace share repair-sid"]

    assert level() == []
    verify(["home"], appliance.server)
    assert level() == [Level.FAIL]
    report = repair(appliance.server)
    assert report.replaced == {OLD: 1} and not report.set_back
    assert level() == [] and file_sids.owner(attributes.of(path)).sid == FIRST
    appliance.samba.sids[machine_sid.server_name(pool())] = OLD
    assert level() == [Level.FAIL]
    report = repair(appliance.server)
    assert report.set_back and report.restarted and report.sid == FIRST and report.right == 1
    assert level() == []


def test_rendering_samples_for_health_and_health_reads_no_file_of_the_pool(
    attributes: Attributes, appliance: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = homes_of_anna()
    monkeypatch.setattr("millrace.serve.config.store.read", lambda: Loaded(config))
    appliance.server().apply(config)
    attributes.give(appliance.root / "srv/pool/home/anna/mine.txt")
    assert appliance.server().apply(config).warnings == []

    def hangs(*_: object, **__: object) -> None:
        raise AssertionError("health reads the pool")

    monkeypatch.setattr(os, "getxattr", hangs)
    monkeypatch.setattr(nofollow, "directory", hangs)
    assert [finding.kind for finding in smb_check._sid(Host(appliance), pool())] == ["sid"]
    other = pool().model_copy(update={"filesystem_uuid": "99999999-2222-3333-4444-555555555555"})
    assert sid_record.recorded(pool()) == {"home": [OLD]} and sid_record.recorded(other) == {}


@pytest.mark.parametrize(
    ("user", "rid"), [("gone", 1000), ("anna", 1005)], ids=["home of a removed user", "account that the user is not"]
)
def test_health_does_not_count_what_the_repair_leaves(
    user: str, rid: int, attributes: Attributes, appliance: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = homes_of_anna()
    monkeypatch.setattr("millrace.serve.config.store.load", lambda: config)
    monkeypatch.setattr("millrace.serve.config.store.read", lambda: Loaded(config))
    appliance.server().apply(config)
    acl = ACL.replace((1000).to_bytes(4, "little"), rid.to_bytes(4, "little"))
    path = attributes.give(appliance.root / "srv/pool/home" / user / "mine.txt", acl)
    verify(["home"], appliance.server)
    assert smb_check._sid(Host(appliance), pool()) == [] and paths.file_sids_file().exists()
    repair(appliance.server)
    assert attributes.of(path) == acl and smb_check._sid(Host(appliance), pool()) == []


def test_sid_of_files_whose_users_samba_does_not_know_is_better_than_a_new_one(
    attributes: Attributes, appliance: Appliance, home: Home
) -> None:
    attributes.give(home.path / "a")
    homes = [Home(home.path.parent / f"none{number}", "bert", 5) for number in range(file_sids.HOMES)]
    assert file_sids.of_files([*homes, Home(home.path, "carl", UID)], appliance) == OLD


def test_file_that_a_client_holds_is_counted_and_the_repair_goes_on(
    attributes: Attributes, appliance: Appliance, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "held", "z"):
        attributes.give(home.path / name)
    (tmp_path / "later").mkdir()
    last = attributes.give(tmp_path / "later/b")
    opened = os.open

    def held(name: str | Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if name == "held":
            raise BlockingIOError(errno.EWOULDBLOCK, "Resource temporarily unavailable")
        return opened(name, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", held)
    counted, some = SidCount(), [home, Home(tmp_path / "later", "anna", UID)]
    file_sids.count(some, FIRST, file_sids.rids(some, appliance), counted, replace=True, tick=lambda: None)
    assert (counted.held, counted.others) == (1, Counter({OLD: 3}))
    assert attributes.of(last) != ACL and attributes.of(home.path / "held") == ACL


def test_file_that_is_removed_meanwhile_does_not_end_the_count_of_its_directory(
    attributes: Attributes, appliance: Appliance, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        attributes.give(home.path / name)

    def removed(file: int | str, name: str, *, follow_symlinks: bool = True) -> bytes:
        acl = attributes.get(file, name, follow_symlinks=follow_symlinks)
        if isinstance(file, str):
            os.unlink(file)
        return acl

    monkeypatch.setattr(os, "getxattr", removed)
    counted = SidCount()
    file_sids.count([home], FIRST, file_sids.rids([home], appliance), counted, replace=False, tick=lambda: None)
    assert counted.others == Counter({OLD: 3})


def test_verification_counts_sids_for_a_time(attributes: Attributes, appliance: Appliance, home: Home) -> None:
    attributes.give(home.path / "a")
    times = iter((0.0, SID_SECONDS + 1))
    *_, last = _former_sids([home], FIRST, appliance.server(), lambda: next(times))
    assert last == "SIDs of files were not all examined, only for 60 s"


def test_walk_that_is_ended_leaves_the_directory_that_it_reads(
    attributes: Attributes, appliance: Appliance, home: Home
) -> None:
    for name in ("a", "b", "c"):
        attributes.give(home.path / name)
    counted = SidCount()
    with nofollow.directory(home.path) as at, Opener(at) as opener:
        visit = file_sids._Visit(opener, FIRST, file_sids.rids([home], appliance), counted, False)
        visit.stop.set()
        assert visit(Place()) == [] and not counted.others


def test_verb_prints_what_was_repaired_and_verification_names_the_verb(
    attributes: Attributes, appliance: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = homes_of_anna()
    monkeypatch.setattr("millrace.serve.config.store.load", lambda: config)
    appliance.server().apply(config)
    attributes.give(appliance.root / "srv/pool/home/anna/mine.txt")
    appliance.answers_for(monkeypatch, "verify.verify", "repair_sid.repair")
    warning = f"files that name their owners by {OLD}, a former SID of this server, are closed to them (1)"
    assert (
        f"home: warning: {warning}: millrace share repair-sid" in CliRunner().invoke(share, ["verify", "home"]).output
    )
    lines = CliRunner().invoke(share, ["repair-sid"]).output.splitlines()
    assert lines == [
        f"SID of this server: {FIRST}",
        f"files that named their owners by {OLD}: 1, repaired",
        "files that already name their owners by it: 0",
    ]
    assert "warning" not in CliRunner().invoke(share, ["verify", "home"]).output
