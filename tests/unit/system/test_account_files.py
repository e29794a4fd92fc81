# SPDX-License-Identifier: Apache-2.0
"""Many accounts are one change of the four files: all of them or none, and nothing else in them is touched."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from millrace.system import account_files
from millrace.system.account_files import LOCK, PASSWD, SHADOW, AccountFiles, editing, running
from millrace.system.errors import Failed
from millrace.system.locks import Busy
from tests.fakes.accounts import MODES, Accounts

STRANGE = "+@netgroup::::::\n# a remark\n\nbroken:x\n"
SHELL = "/usr/sbin/nologin"


@pytest.fixture
def accounts(root_user: Path) -> Accounts:
    made = Accounts(root_user, {"passwd": {"root": 0, "ann": 2000}, "group": {"ann": 2000, "lab": 2500, "wheel": 10}})
    for name in ("passwd", "shadow"):
        with (root_user / "etc" / name).open("a") as file:
            file.write(STRANGE)
    return made


def texts(root: Path) -> dict[str, str]:
    return {name: (root / "etc" / name).read_text() for name in MODES}


def add(files: AccountFiles, name: str = "bob", number: int = 2001) -> None:
    files.add_group(name, number)
    files.add_user(name, number, SHELL)
    files.set_groups(name, ["lab"])


def test_user_is_in_all_four_files_and_the_rest_stays(accounts: Accounts, root_user: Path) -> None:
    (root_user / "etc/login.defs").write_text("#PASS_MIN_DAYS 3\nPASS_MAX_DAYS\t90\nPASS_WARN_AGE 7\n")
    before = texts(root_user)
    with editing() as files:
        add(files)
    after = texts(root_user)
    assert after["passwd"] == before["passwd"] + f"bob:x:2001:2001::/nonexistent:{SHELL}\n"
    assert after["shadow"].startswith(before["shadow"])
    name, password, changed, *rest = accounts.row("shadow", "bob")
    assert (name, password, rest) == ("bob", "!", ["", "90", "7", "", "", ""]) and int(changed) > 20000
    assert after["group"] == before["group"].replace("lab:x:2500:\n", "lab:x:2500:bob\n") + "bob:x:2001:\n"
    assert after["gshadow"] == before["gshadow"].replace("lab:*::\n", "lab:*::bob\n") + "bob:!::\n"


def test_modes_stay_and_what_was_there_is_kept_beside_it(accounts: Accounts, root_user: Path) -> None:
    before = texts(root_user)
    with editing() as files:
        add(files)
    for name, mode in MODES.items():
        for path in (root_user / "etc" / name, root_user / "etc" / f"{name}-"):
            assert stat.S_IMODE(path.stat().st_mode) == mode
        assert (root_user / "etc" / f"{name}-").read_text() == before[name]
    assert not list((root_user / "etc").glob("*+"))


def test_owners_stay(accounts: Accounts, root_user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[int, ...]] = []
    monkeypatch.setattr(os, "fchown", lambda descriptor, *owner: given.append(owner))
    with editing() as files:
        files.set_shell("ann", SHELL)
    status = (root_user / PASSWD).stat()
    assert given == [(status.st_uid, status.st_gid)] * 2


def test_files_that_do_not_differ_are_not_written(accounts: Accounts, root_user: Path) -> None:
    before = {name: (root_user / "etc" / name).stat().st_ino for name in MODES}
    with editing() as files:
        files.set_groups("ann", ["lab"])
        files.set_groups("ann", [])
    assert {name: (root_user / "etc" / name).stat().st_ino for name in MODES} == before
    with editing() as files:
        files.set_shell("ann", SHELL)
    changed = [name for name in MODES if (root_user / "etc" / name).stat().st_ino != before[name]]
    assert changed == ["passwd"]


def test_removed_user_is_in_no_file(accounts: Accounts, root_user: Path) -> None:
    for name in ("subuid", "subgid"):
        (root_user / "etc" / name).write_text("ann:100000:65536\nroot:200000:65536\n")
    before = texts(root_user)
    with editing() as files:
        add(files)
    with editing() as files:
        files.remove_users(["bob", "nobody-there"])
    assert texts(root_user) == before
    with editing() as files:
        files.set_groups("ann", ["lab", "wheel"])
        files.remove_users(["ann"])
        files.remove_groups(["lab"])
    assert all("ann" not in text and "lab" not in text for text in texts(root_user).values())
    assert (root_user / "etc/subuid").read_text() == "root:200000:65536\n"


def test_group_that_is_removed_is_left_by_its_members(accounts: Accounts) -> None:
    with editing() as files:
        files.set_groups("ann", ["lab", "wheel"])
        files.remove_groups(["lab"])
        assert files.groups("ann") == {"wheel"}
        files.set_groups("ann", ["wheel"])
    assert accounts.members("wheel") == ["ann"] and accounts.row("group", "lab") == []


def test_unknown_group_changes_nothing(accounts: Accounts, root_user: Path) -> None:
    before = texts(root_user)
    with pytest.raises(Failed, match=r"^group nowhere does not exist$"), editing() as files:
        add(files)
        files.set_groups("bob", ["lab", "nowhere"])
    assert texts(root_user) == before


@pytest.mark.parametrize("name", ["a:b", "a\nroot::0:0::/:/bin/sh", "a,b"])
def test_name_that_would_be_another_line_is_refused(accounts: Accounts, root_user: Path, name: str) -> None:
    before = texts(root_user)
    with pytest.raises(ValueError, match="a field of an account"), editing() as files:
        files.add_user(name, 2001, SHELL)
    assert texts(root_user) == before


def test_locked_user_has_no_password_and_has_expired(accounts: Accounts) -> None:
    accounts.set_passwords({"ann": "$y$hash"})
    with editing() as files:
        files.lock("ann")
        files.lock("ann")
    row = accounts.row("shadow", "ann")
    assert (row[1], row[7]) == ("!$y$hash", "1")


def test_full_drive_changes_no_file(accounts: Accounts, root_user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, real, synced = texts(root_user), os.fsync, []

    def full(descriptor: int) -> None:
        synced.append(descriptor)
        if len(synced) == 9:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"), editing() as files:
        add(files)
    assert texts(root_user) == before and not list((root_user / "etc").glob("*+"))


@pytest.mark.parametrize("after", range(5))
def test_power_cut_leaves_each_file_old_or_new_and_the_user_last(
    accounts: Accounts, root_user: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    before, real, done = texts(root_user), os.replace, []

    class Cut(BaseException):
        pass

    def replace(made: str | Path, path: str | Path) -> None:
        if str(made).endswith("+"):
            if len(done) == after:
                raise Cut
            done.append(Path(path).name)
        real(made, path)

    monkeypatch.setattr(os, "replace", replace)
    try:
        with editing() as files:
            add(files)
    except Cut:
        assert after < 4
    now = texts(root_user)
    assert done == ["shadow", "gshadow", "group", "passwd"][:after]
    assert [name for name in now if now[name] != before[name]] == [name for name in MODES if name in done]
    monkeypatch.setattr(os, "replace", real)
    # the next change does the rest
    with editing() as files:
        if files.gid("bob") is None:
            files.add_group("bob", 2001)
        if files.uid("bob") is None:
            files.add_user("bob", 2001, SHELL)
        files.set_groups("bob", ["lab"])
    assert accounts["passwd"]["bob"] == accounts["group"]["bob"] == 2001 and accounts.members("lab") == ["bob"]
    assert len([line for line in texts(root_user)["shadow"].splitlines() if line.startswith("bob:")]) == 1
    assert len([line for line in texts(root_user)["gshadow"].splitlines() if line.startswith("bob:")]) == 1


def test_lock_of_the_other_tools_is_waited_for(
    accounts: Accounts, root_user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account_files, "PAUSES", (0.01,) * 3)
    hold = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX); print(flush=True); input()"
    command = [sys.executable, "-c", hold, str(root_user / LOCK)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(Busy, match="another program is changing users and groups"), editing():
            pytest.fail("the lock was not waited for")
        other.communicate("\n")
    with editing() as files:
        add(files)
    assert accounts["passwd"]["bob"] == 2001


def test_text_of_another_encoding_stays(accounts: Accounts, root_user: Path) -> None:
    path = root_user / SHADOW
    path.write_bytes(path.read_bytes() + b"latin:\xe4\x0c!:1::::::\n")
    with editing() as files:
        add(files)
    assert b"latin:\xe4\x0c!:1::::::\n" in path.read_bytes()


def test_programs_of_a_user_are_found_and_those_that_serve_him_are_not(root_user: Path) -> None:
    for process, numbers in (("12", "2000\t2000\t2000\t2000"), ("13", "0\t2001\t0\t2001"), ("self", "2002\t0\t0\t0")):
        (root_user / "proc" / process).mkdir(parents=True)
        (root_user / "proc" / process / "status").write_text(f"Name:\tbash\nUid:\t{numbers}\n")
    assert running([2000, 2001, 2002]) == {2000}
