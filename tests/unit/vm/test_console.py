# SPDX-License-Identifier: Apache-2.0
"""Tests sign in like the login page does, prompt by prompt."""

import json
from base64 import b64decode, b64encode
from typing import Any

import pytest

from vm import console
from vm.console import go_on, sign_in

ONE_TIME, OWN = "abcd-efgh", "correct-horse"
PROMPTS = ("Current password: ", "New password: ", "Retype new password: ")


class Answer:
    def __init__(self, status: int, prompt: str | None = None, body: Any = None) -> None:
        self.status, self.reason, self._body = status, "reason", body
        self._headers = {"Set-Cookie": "cockpit=abc; Path=/"} if status == 200 else {}
        if prompt is not None:
            self._headers["WWW-Authenticate"] = f"X-Conversation ID {b64encode(prompt.encode()).decode()}"

    def read(self) -> bytes:
        return json.dumps(self._body or {}).encode()

    def getheader(self, name: str, default: str) -> str:
        return self._headers.get(name, default)


class Cockpit:
    """In the place of an HTTPS connection: a one-time password that must be changed."""

    said: list[str]

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def request(self, method: str, path: str, headers: dict[str, str]) -> None:
        kind, *rest = headers["Authorization"].split()
        if kind == "Basic":
            Cockpit.said = []
        Cockpit.said.append(b64decode(rest[-1]).decode())
        assert (kind, rest[0]) == ("Basic", rest[0]) or (kind, rest[0]) == ("X-Conversation", "ID")

    def getresponse(self) -> Answer:
        if self.said[0] != f"admin:{ONE_TIME}":
            return Answer(403 if self.said[0].startswith("root:") else 401)
        if len(self.said) <= len(PROMPTS):
            return Answer(401, PROMPTS[len(self.said) - 1])
        return Answer(200, PROMPTS[-1], {"csrf-token": "t"})

    def close(self) -> None: ...


@pytest.fixture(autouse=True)
def _cockpit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console.http.client, "HTTPSConnection", Cockpit)


def test_a_conversation_goes_on_to_its_end() -> None:
    done = sign_in(9090, "admin", ONE_TIME, [ONE_TIME, OWN, OWN])
    assert (done.status, done.cookie, done.prompts) == (200, "cockpit=abc", list(PROMPTS))
    assert done.body == {"csrf-token": "t"}
    assert Cockpit.said == [f"admin:{ONE_TIME}", ONE_TIME, OWN, OWN]


def test_it_ends_where_nothing_more_is_to_be_said() -> None:
    asked = sign_in(9090, "admin", ONE_TIME)
    assert (asked.status, asked.cookie, asked.prompts) == (401, None, ["Current password: "])


def test_a_conversation_goes_on_where_it_stood() -> None:
    asked = sign_in(9090, "admin", ONE_TIME)
    later = go_on(9090, asked, [ONE_TIME])
    assert (later.status, later.prompts, later.conversation) == (401, ["New password: "], "ID")
    done = go_on(9090, later, [OWN, OWN])
    assert (done.status, done.cookie, done.conversation) == (200, "cockpit=abc", None)
    assert Cockpit.said == [f"admin:{ONE_TIME}", ONE_TIME, OWN, OWN]


@pytest.mark.parametrize(("user", "status"), [("root", 403), ("admin", 401)])
def test_a_refusal_has_no_prompt(user: str, status: int) -> None:
    refused = sign_in(9090, user, "wrong")
    assert (refused.status, refused.cookie, refused.prompts) == (status, None, [])
