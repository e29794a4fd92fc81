# SPDX-License-Identifier: Apache-2.0
"""`millrace user …` and `millrace group …` in text and as JSON; passwords come on standard input."""

import json
from typing import Any

import pytest
from click.testing import CliRunner

from millrace.serve.account.verbs import group, user
from millrace.serve.config import store
from tests.fakes.appliance import Appliance
from tests.fakes.tools import stand_in


@pytest.fixture(autouse=True)
def here(appliance: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, appliance)


def say(*words: str, stdin: str | None = None) -> str:
    verb = {"user": user, "group": group}[words[0]]
    return CliRunner().invoke(verb, list(words[1:]), input=stdin, catch_exceptions=False).output


def document(*words: str, stdin: str | None = None) -> dict[str, Any]:
    found = json.loads(say(*words, "--json", stdin=stdin))
    assert isinstance(found, dict) and found["schema_version"] == 1
    return found


def test_a_page_reads_what_was_done() -> None:
    assert document("group", "create", "ml")["group"]["name"] == "ml"
    made = document("user", "create", "ann", "--group", "ml", "--password-stdin", stdin="s3cret-word-2\n")
    assert made["user"]["groups"] == ["ml"] and made["done"] == f"Created user ann with UID {made['user']['uid']}."
    assert document("user", "set", "ann")["user"]["groups"] == []
    assert document("user", "passwd", "ann", "--password-stdin", stdin="another one 7\n")["user"] is None
    assert document("user", "remove", "ann")["done"] == "ann has been removed."
    assert document("group", "remove", "ml")["done"] == "ml has been removed."
    assert store.load().users == [] and store.load().groups == []


def test_verb_prints_a_sentence() -> None:
    assert say("group", "create", "ml") == "Created group ml with GID 2000.\n"
    assert say("user", "create", "ann", "--password-stdin", stdin="s3cret-word-2\n").startswith(
        "Created user ann with UID "
    )
    assert (
        say("user", "passwd", "ann", "--password-stdin", stdin="another one 7\n")
        == "The password of ann has been changed.\n"
    )
    assert say("user", "remove", "ann") == "ann has been removed.\n"


def test_no_password_is_on_a_command_line(appliance: Appliance) -> None:
    document("user", "create", "ann", "--password-stdin", stdin="s3cret-word-2\n")
    assert any("s3cret-word-2" in text for text in appliance.stdin)
    assert not any("s3cret-word-2" in word for call in appliance.calls for word in call)
