# SPDX-License-Identifier: Apache-2.0
"""`millrace session list` shows a line for each client."""

import json

import pytest
from click.testing import CliRunner

from millrace.serve.share import session as found_by
from millrace.serve.share.session import ClientSession, SessionList
from millrace.serve.share.session_verbs import session

NFS = ClientSession(
    protocol="nfs",
    host="10.0.0.9",
    name="Linux NFSv4.2 gpu1",
    version="4.2",
    transport="rdma",
    lanes=None,
    slots=64,
    encryption=None,
    open_files=3,
)
SMB = NFS.model_copy(update={"protocol": "smb", "name": "anna", "version": "3.1.1", "transport": "tcp", "lanes": 4})


def said(monkeypatch: pytest.MonkeyPatch, found: SessionList, *words: str) -> tuple[str, str]:
    monkeypatch.setattr(found_by, "sessions", lambda run: found)
    done = CliRunner().invoke(session, ["list", *words], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout, done.stderr


def test_a_line_has_the_host_the_way_and_the_open_files(monkeypatch: pytest.MonkeyPatch) -> None:
    out, _ = said(monkeypatch, SessionList(sessions=[NFS, SMB], warnings=[]))
    assert out.splitlines() == [
        "Client    Protocol  Version  Transport  Lanes  Open files  Name",
        "10.0.0.9  nfs       4.2      rdma           ?           3  Linux NFSv4.2 gpu1",
        "10.0.0.9  smb       3.1.1    tcp            4           3  anna",
    ]


def test_no_client_is_said_only_where_all_could_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(monkeypatch, SessionList(sessions=[], warnings=[]))[0] == "No clients are connected.\n"
    out, err = said(monkeypatch, SessionList(sessions=[], warnings=["listing NFS clients requires root"]))
    assert out == "" and "listing NFS clients requires root" in err


def test_programs_get_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    document = SessionList(sessions=[NFS], warnings=["x"])
    assert json.loads(said(monkeypatch, document, "--json")[0]) == json.loads(document.model_dump_json())
