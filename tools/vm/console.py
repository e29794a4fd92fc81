# SPDX-License-Identifier: Apache-2.0
"""Signing in to Cockpit as its login page does: HTTP basic authentication, then the conversation of PAM.

Cockpit 372, doc/authentication.md: an answer 401 with `WWW-Authenticate: X-Conversation ID PROMPT` asks for more;
ID is sent back with each answer. Everything is base64.
"""

import http.client
import json
import re
import ssl
from base64 import b64decode, b64encode
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

LOGIN = "/cockpit/login"
TIMEOUT = 120.0
# cockpit-tls hangs up where systemd needs more than 30 s to start the program of a new session (Cockpit 372,
# src/tls/connection.c): an emulated server beside others may. A browser's user would reload.
ATTEMPTS = 3


@dataclass
class SignIn:
    """How a sign-in ended: the HTTP status, the prompts on the way, the cookie of the session if there is one.

    `conversation` names one that waits for an answer; None of one that has ended.
    """

    status: int
    reason: str
    prompts: list[str] = field(default_factory=list)
    cookie: str | None = None
    body: dict[str, Any] = field(default_factory=dict)
    conversation: str | None = None


def sign_in(port: int, user: str, password: str, answers: Sequence[str] = (), tls: bool = True) -> SignIn:
    """Sign in on a port of loopback; `answers` are given to the prompts that come after the password.

    It ends at the first prompt without an answer. Without `tls` it is the server behind the one that does TLS.
    """
    first = f"Basic {_encoded(f'{user}:{password}')}"
    for _ in range(ATTEMPTS - 1):
        with suppress(http.client.RemoteDisconnected):
            return _conversation(port, first, answers, tls)
    return _conversation(port, first, answers, tls)


def go_on(port: int, asked: SignIn, answers: Sequence[str]) -> SignIn:
    """Answer a sign-in that ended at a prompt, on another connection, as a browser may after a pause."""
    left = list(answers)
    return _conversation(port, f"X-Conversation {asked.conversation} {_encoded(left.pop(0))}", left, tls=True)


def _conversation(port: int, authorization: str, answers: Sequence[str], tls: bool) -> SignIn:
    connection = (
        http.client.HTTPSConnection("127.0.0.1", port, timeout=TIMEOUT, context=_context())
        if tls
        else http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    )
    try:
        prompts: list[str] = []
        left = list(answers)
        while True:
            connection.request("GET", LOGIN, headers={"Authorization": authorization, "X-Superuser": "any"})
            answer = connection.getresponse()
            body = answer.read()
            # The answer that ends a conversation still carries its last prompt.
            pending = _prompt(answer.getheader("WWW-Authenticate", "")) if answer.status != http.client.OK else None
            if pending is None:
                return _end(answer, body, prompts)
            conversation, prompt = pending
            prompts.append(prompt)
            if not left:
                return _end(answer, body, prompts, conversation)
            authorization = f"X-Conversation {conversation} {_encoded(left.pop(0))}"
    finally:
        connection.close()


def _end(answer: http.client.HTTPResponse, body: bytes, prompts: list[str], conversation: str | None = None) -> SignIn:
    cookie = answer.getheader("Set-Cookie", "").partition(";")[0]
    parsed = json.loads(body) if answer.status == http.client.OK else {}
    return SignIn(answer.status, answer.reason, prompts, cookie or None, parsed, conversation)


def _prompt(header: str) -> tuple[str, str] | None:
    found = re.fullmatch(r"X-Conversation (\S+) (\S*)", header)
    return (found[1], b64decode(found[2]).decode()) if found else None


def _encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


def _context() -> ssl.SSLContext:
    # The appliance signs its own certificate; the passwords of these tests are worth nothing.
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
