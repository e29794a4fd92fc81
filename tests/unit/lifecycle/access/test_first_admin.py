# SPDX-License-Identifier: Apache-2.0
"""First boot creates one administrator; the one-time password is on the console and in no log or command line."""

import re
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner

from millrace.lifecycle.access import one_time
from millrace.lifecycle.access.admin_verbs import admin
from millrace.lifecycle.access.first_admin import create
from millrace.system import paths
from millrace.system.errors import BadInput, Failed
from millrace.system.run import Result
from tests.fakes import read_only, samples
from tests.fakes.tools import stand_in

ISSUE = "run/issue.d/60-millrace-admin.issue"
MARKER = "var/lib/millrace/admin-created"


class Tools(samples.Tools):
    TAKEN = (
        "getent passwd admin",
        "useradd --create-home --uid 1000 --groups sudo --shell /bin/bash admin",
        "usermod --append --groups sudo --shell /bin/bash admin",
        "mkhomedir_helper admin 0077",
        "pwscore admin",
        "chpasswd",
        "chage -d 0 admin",
        "smbpasswd -c /dev/null -s -a admin",
        "pdbedit -s /dev/null -r -u admin -K 0",
    )


NO_USER = {"getent passwd admin": Result(2, "", "")}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    (tmp_path / "etc").mkdir()
    last_change(tmp_path, "0")
    return tmp_path


def last_change(root: Path, day: str, hashed: str = "$y$hash") -> None:
    (root / "etc/shadow").write_text(f"root:!:20000::::::\nadmin:{hashed}:{day}:0:99999:7:::\n")


def give_password(root: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (root / "credentials").mkdir()
    (root / "credentials/millrace.admin-password").write_text(text)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(root / "credentials"))


def shown(root: Path) -> str:
    found = re.search(r"^One-time password: (\S+)$", (root / ISSUE).read_text(), re.MULTILINE)
    assert found
    return found.group(1)


def test_first_boot_makes_an_administrator_who_must_choose_a_password(server: Path) -> None:
    tools = Tools(NO_USER)
    report = create(tools)
    assert report.outcome == "created" and report.one_time
    assert [call[0] for call in tools.calls] == ["getent", "useradd", "chpasswd", "smbpasswd", "pdbedit", "chage"]
    assert tools.calls[-1] == ["chage", "-d", "0", "admin"]
    assert (server / MARKER).exists()


def test_the_console_names_the_user_and_then_the_password_and_only_root_reads_the_file(server: Path) -> None:
    create(Tools(NO_USER))
    lines = (server / ISSUE).read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("One-time password: "))
    assert "admin" in lines[at - 1]
    assert stat.S_IMODE((server / ISSUE).stat().st_mode) == 0o600


def test_the_administrators_smb_account_does_not_expire_in_2036(server: Path) -> None:
    tools = Tools(NO_USER)
    create(tools)
    assert tools.called("pdbedit -s /dev/null -r -u admin -K 0")


def test_login_and_smb_get_the_same_password_and_no_command_line_has_it(server: Path) -> None:
    tools = Tools(NO_USER)
    report = create(tools)
    password = shown(server)
    given = dict(zip((call[0] for call in tools.calls), tools.stdin, strict=True))
    assert given["chpasswd"] == f"admin:{password}\n"
    assert given["smbpasswd"] == f"{password}\n{password}\n"
    assert not any(password in word for call in tools.calls for word in call)
    assert password not in report.model_dump_json()


def test_what_the_verb_prints_goes_to_the_journal_and_has_no_password(
    server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, Tools(NO_USER))
    result = CliRunner().invoke(admin, ["create"])
    assert result.exit_code == 0 and shown(server) not in result.output


def test_one_time_passwords_are_strong_readable_and_never_the_same() -> None:
    passwords = {one_time.generate() for _ in range(200)}
    assert len(passwords) == 200
    assert all(re.fullmatch(r"[a-z2-9]{4}(-[a-z2-9]{4}){4}", one) for one in passwords)
    assert not set("0O1lIo") & set("".join(passwords))
    assert len(one_time.ALPHABET) ** (one_time.GROUPS * one_time.GROUP) >= 2**80


def test_a_password_that_the_owner_gave_is_taken_and_not_shown(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give_password(server, monkeypatch, "correct horse: battery\n")
    tools = Tools(NO_USER)
    report = create(tools)
    assert not report.one_time and not (server / ISSUE).exists()
    assert "admin:correct horse: battery\n" in tools.stdin
    assert not tools.called("chage")


@pytest.mark.parametrize("text", ["", "\n", "two\nlines of a password\n", "secret\n"])
def test_password_that_cannot_be_typed_is_refused(server: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    give_password(server, monkeypatch, text)
    with pytest.raises(BadInput, match=r"^the credential millrace\.admin-password: a password is one line"):
        create(Tools(NO_USER))
    assert not (server / MARKER).exists()


def test_password_that_is_easy_to_guess_is_refused(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give_password(server, monkeypatch, "millrace-admin-1\n")
    weak = Result(1, "", "Password quality check failed:\n The password contains forbidden words in some form\n")
    with pytest.raises(BadInput, match="easy to guess, choose another: the password contains forbidden words"):
        create(Tools({**NO_USER, "pwscore admin": weak}))
    assert not (server / MARKER).exists()


def test_power_cut_between_the_user_and_the_marker(server: Path) -> None:
    with pytest.raises(Failed, match="chpasswd failed"):
        create(Tools({**NO_USER, "chpasswd": Result(1, "", "power is gone")}))
    assert not (server / MARKER).exists() and not (server / ISSUE).exists()
    tools = Tools()
    report = create(tools)
    assert report.outcome == "new-password"
    assert not tools.called("useradd")
    assert tools.called("usermod --append --groups sudo") and tools.called("mkhomedir_helper admin 0077")
    assert shown(server) in tools.stdin[[call[0] for call in tools.calls].index("chpasswd")]
    assert (server / MARKER).exists()


def test_the_second_run_does_nothing(server: Path) -> None:
    create(Tools(NO_USER))
    before = shown(server)
    tools = Tools()
    assert create(tools).outcome == "exists"
    assert tools.calls == [] and shown(server) == before


def test_boot_drive_that_is_read_only_has_the_administrator(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create(Tools(NO_USER))
    last_change(server, "20000")
    read_only.boot_drive(server, monkeypatch)
    assert create(Tools()).outcome == "exists"


def test_restart_before_the_first_login_shows_a_new_password(server: Path) -> None:
    create(Tools(NO_USER))
    before = shown(server)
    (server / ISSUE).unlink()
    assert create(Tools()).outcome == "new-password"
    assert shown(server) != before


def test_a_restart_after_the_first_login_leaves_the_administrators_password_alone(server: Path) -> None:
    create(Tools(NO_USER))
    (server / ISSUE).unlink()
    last_change(server, "20777")
    tools = Tools()
    assert create(tools).outcome == "exists"
    assert tools.calls == []


def test_own_password_that_root_has_aged_stays(server: Path) -> None:
    """`chage -d 0 admin` asks for a new one at the next sign-in, not at the next boot."""
    create(Tools(NO_USER))
    (server / ISSUE).unlink()
    last_change(server, "0", "$y$own")
    tools = Tools()
    assert create(tools).outcome == "exists"
    assert tools.calls == [] and not (server / ISSUE).exists()


def test_the_password_leaves_the_console_once_it_was_changed(server: Path) -> None:
    create(Tools(NO_USER))
    assert not one_time.forget_if_used() and (server / ISSUE).exists()
    last_change(server, "20777")
    assert one_time.forget_if_used() and not (server / ISSUE).exists()
    assert not one_time.forget_if_used()
