# SPDX-License-Identifier: Apache-2.0
"""Each verb has a least role, and no role becomes a higher one by a verb."""

import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from millrace.cli import program, roles
from millrace.lifecycle.access import change_log
from millrace.system import paths
from millrace.system import roles as system_roles
from millrace.system.errors import Refused
from millrace.system.roles import RANK, Caller, Role
from millrace.system.run import attempt

ROLES: tuple[Role, ...] = ("viewer", "operator", "administrator")
# Verbs that hand out rights, replace what the server trusts, or are root in another form.
ONLY_ADMINISTRATORS = (
    "access create",
    "access disconnect",
    "access key add",
    "access lock",
    "access remove",
    "access set",
    "access ssh",
    "access unlock",
    "apply",
    "approve",
    "certificate install",
    "certificate trust add",
    "config export",
    "config import",
    "config rollback",
    "domain join",
    "encryption recovery-key",
    "install write",
    "keep passphrase",
    "keep use-local",
    "pool adopt",
    "provision",
    "reset start",
    "support",
    "update source",
    "update upload",
    "user create",
    "user passwd",
    "user set",
    "user sync-smb",
)


def walked(command: click.Command, words: str) -> Iterator[tuple[str, click.Command]]:
    yield words, command
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from walked(below, f"{words} {name}")


ALL = dict(entry for verb in program.VERBS for entry in walked(program.command(verb), verb))
VERBS = {
    words: command
    for words, command in ALL.items()
    if not isinstance(command, click.Group) or command.invoke_without_command
}


@pytest.fixture
def sudo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[pytest.MonkeyPatch]:
    """Root's rights by sudo; no file of this server is touched."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(system_roles, "is_root", lambda: True)
    monkeypatch.setattr(roles, "without_inherited", lambda: None)
    yield monkeypatch


def become(patch: pytest.MonkeyPatch, role: Role | None) -> None:
    patch.setattr(system_roles, "caller", lambda: Caller(2001, "pat", role))


def refused(verb: str) -> str | None:
    """What the program says where it refuses a verb by its role; the verb never runs: it is asked for its help."""
    try:
        program.millrace.main([*verb.split(), "--help"], prog_name="millrace", standalone_mode=False)
    except Refused as error:
        return str(error)
    return None


@pytest.mark.parametrize("role", ROLES)
def test_each_verb_runs_for_its_least_role_and_above(
    sudo: pytest.MonkeyPatch, role: Role, capsys: pytest.CaptureFixture[str]
) -> None:
    become(sudo, role)
    allowed = {verb for verb in VERBS if refused(verb) is None}
    assert allowed == {verb for verb in VERBS if RANK[roles.least_role(verb)] <= RANK[role]}
    assert "Usage" in capsys.readouterr().out


def test_account_without_a_role_runs_nothing(sudo: pytest.MonkeyPatch) -> None:
    become(sudo, None)
    assert {refused(verb) is None for verb in VERBS} == {False}
    assert refused("status") == (
        "pat has no role on this server, and 'millrace status' is for a viewer: ask an administrator"
    )


def test_refusal_names_account_role_and_verb(sudo: pytest.MonkeyPatch) -> None:
    become(sudo, "operator")
    assert refused("share create") == (
        "pat is an operator, and 'millrace share create' is for an administrator: ask an administrator"
    )


def test_tables_name_verbs_that_exist() -> None:
    assert VERBS.keys() >= roles.VIEWER | roles.OPERATOR
    assert not roles.VIEWER & roles.OPERATOR
    for verb, names in roles.RESERVED.items():
        assert set(names) <= {param.opts[0] for param in VERBS[verb].params}, verb


@pytest.mark.parametrize("verb", ONLY_ADMINISTRATORS)
def test_verb_that_gives_rights_is_for_administrators(verb: str) -> None:
    assert verb in VERBS and roles.least_role(verb) == "administrator"


def test_verb_that_units_run_is_for_nobody_else() -> None:
    # `answer` runs other verbs for the pages, each with the rights of its own role
    hidden = {verb for verb, command in VERBS.items() if command.hidden and verb != "answer"}
    assert {roles.least_role(verb) for verb in hidden} == {"administrator"}


def test_no_path_reaches_root_by_a_lower_role() -> None:
    opened = {
        f"{verb} {param.opts[0]}"
        for verb in roles.VIEWER | roles.OPERATOR
        for param in VERBS[verb].params
        if isinstance(param.type, click.Path | click.File) and param.opts[0] not in roles.RESERVED.get(verb, ())
    }
    assert opened == set()


def test_path_is_not_even_looked_at_by_a_lower_role() -> None:
    kinds = {param.type for verb in roles.VIEWER | roles.OPERATOR for param in VERBS[verb].params}
    assert not [kind for kind in kinds if isinstance(kind, click.File)]
    assert not [kind for kind in kinds if isinstance(kind, click.Path) and (kind.exists or kind.resolve_path)]


def test_group_that_is_a_verb_by_itself_changes_nothing() -> None:
    groups = {words: command for words, command in ALL.items() if isinstance(command, click.Group)}
    acting = {words for words, group in groups.items() if group.invoke_without_command}
    assert acting == {"metrics"} and acting <= roles.VIEWER


@pytest.mark.parametrize(
    "words",
    [
        ["update", "apply", "--older", "--yes"],
        ["update", "apply", "/tmp/release", "--yes"],
        ["update", "apply", "--uploaded", "--yes"],
        ["update", "check", "/tmp/release"],
        ["update", "reboot", "now", "--lose-locks"],
        ["inventory", "--capture", "/etc/shadow"],
        ["plan", "--inventory", "/etc/shadow"],
        ["health", "--write"],
        ["answer", "--socket", "/etc/passwd", "status"],
        ["pool", "unclean", "--find"],
        ["history", "--store"],
        ["drive", "erase", "SERIAL", "--foreign"],
        ["snapshot", "create", "data", "--large"],
        ["snapshot", "get", "data@20261129T120000Z-manual/one", "other/one"],
        ["tune"],
        ["tune", "--revert"],
        ["tune", "--revert", "--diff"],
    ],
    ids=" ".join,
)
def test_reserved_option_is_refused_before_the_verb_runs(
    sudo: pytest.MonkeyPatch, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    become(sudo, "operator")
    assert program.run(words) == 1
    assert "is for an administrator: ask an administrator" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--diff", "--settings"])
def test_viewer_reads_what_a_verb_would_change(
    sudo: pytest.MonkeyPatch, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    become(sudo, "viewer")
    program.run(["tune", option])
    assert "ask an administrator" not in capsys.readouterr().err


def test_without_roots_rights_the_table_does_not_speak(sudo: pytest.MonkeyPatch) -> None:
    sudo.setattr(system_roles, "is_root", lambda: False)
    become(sudo, None)
    assert refused("share create") is None


@pytest.mark.parametrize("value", ["", "-1", "0x0", "root", "\u0660", " 0"])
def test_number_of_the_caller_that_is_none_has_no_role(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("SUDO_UID", value)
    assert system_roles.caller().role is None


def test_number_of_sudo_counts_before_that_of_polkit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_UID", "4000000000")
    monkeypatch.setenv("PKEXEC_UID", "0")
    assert system_roles.caller() == Caller(4000000000, "4000000000", None)


def test_highest_group_is_the_role(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = {"sudo": 27, system_roles.OPERATORS: 1998, system_roles.CONSOLE: 1999}
    monkeypatch.setattr(system_roles, "_number", numbers.get)
    monkeypatch.setattr("pwd.getpwuid", lambda uid: type("Entry", (), {"pw_name": "pat", "pw_gid": 2001})())
    for groups, role in (([1999], "viewer"), ([1998, 1999], "operator"), ([27, 1999], "administrator"), ([5], None)):
        monkeypatch.setattr(os, "getgrouplist", lambda name, gid, groups=groups: groups)
        assert system_roles.of_user(2001).role == role


def test_tool_that_fails_does_so_for_each_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: dict[int, tuple[int, int]] = {}
    monkeypatch.setattr("resource.setrlimit", limits.__setitem__)
    monkeypatch.setenv("KRB5CCNAME", "FILE:/etc/passwd")
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert attempt(["false"]).status == 0
        roles.without_inherited()
        assert attempt(["false"]).status == 1
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert "KRB5CCNAME" not in os.environ
    assert limits[resource.RLIMIT_NOFILE] == (roles.OPEN_FILES, roles.OPEN_FILES)


def test_only_changes_are_written_down(sudo: pytest.MonkeyPatch) -> None:
    become(sudo, "administrator")
    sudo.setattr(system_roles, "is_person", lambda: True)
    assert program.run(["schema"]) == 0
    assert change_log.entries(10) == []
    assert program.run(["user", "remove", "nobody-like-this"]) == 1
    entries = change_log.entries(10)
    assert [(entry.name, entry.words, entry.status) for entry in entries] == [
        ("pat", "user remove nobody-like-this", 1)
    ]
