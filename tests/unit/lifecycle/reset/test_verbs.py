# SPDX-License-Identifier: Apache-2.0
"""The verbs say exactly what goes and what stays, and take nothing but what was typed."""

import json
from collections.abc import Sequence

import pytest
from click.testing import CliRunner, Result

from millrace.lifecycle.reset import verbs
from millrace.serve.share.session import SessionList
from tests.fakes.sessions import nfs_session
from tests.unit.lifecycle.reset.conftest import Reset

HOST = "millrace-1a2b3c"
CLIENT = nfs_session("gpu1", open_files=1)


@pytest.fixture(autouse=True)
def wired(server: Reset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verbs, "attempt", server.run)
    monkeypatch.setattr(verbs, "only_root", lambda: None)
    monkeypatch.setattr(
        "millrace.lifecycle.reset.status.sessions", lambda run: SessionList(sessions=[CLIENT], warnings=[])
    )
    monkeypatch.setattr("millrace.lifecycle.keep.keeping.time.sleep", lambda seconds: None)


def say(*words: str) -> Result:
    return CliRunner().invoke(verbs.reset, words)


def test_what_goes_and_what_stays_is_shown(server: Reset) -> None:
    server.file("boot/loader/credentials/millrace.admin-password.cred", "")
    said = say("show").output
    for words in (
        "stays on the pool, and comes back with millrace pool adopt: data, shares, users",
        "goes on the pool, too: users (anna)",
        "stays on the pool: all data, and the shares as directories: data",
        "applies again: millrace.admin-password.cred",
        "disconnected: 1 clients (10.0.0.7)",
    ):
        assert words in said
    document = json.loads(say("show", "--json").output)
    assert (document["host"], document["users"], document["obstacle"]) == (HOST, ["anna"], None)


def test_confirmed_reset_restarts_the_server(server: Reset) -> None:
    done = say("start", "--host", HOST)
    assert done.exit_code == 0, done.output
    assert server.run.rebooted


@pytest.mark.parametrize(
    "words",
    [
        ("--host", "other"),
        ("--forget-people", "--host", HOST, "--word", "forget"),
        ("--forget-people", "--host", HOST),
        (),
        ("--host", HOST, "--word", "FORGET"),
    ],
)
def test_anything_else_that_was_typed_resets_nothing(server: Reset, words: Sequence[str]) -> None:
    before = server.kept() if server.where.exists() else []
    assert say("start", *words).exit_code != 0
    assert not server.run.requested and (server.kept() if server.where.exists() else []) == before


def test_failure_of_the_reset_is_the_end_of_the_verb(server: Reset) -> None:
    server.run.forgetful = True
    done = say("start", "--forget-people", "--host", HOST, "--word", "FORGET")
    assert "did not keep the request" in str(done.exception)
    assert json.loads(say("show", "--json").output)["failed"]["problem"].startswith("the firmware")
